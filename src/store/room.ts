import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Bound, Bounds, Fullness } from "../model/space.ts";
import { type At, formatSize, MB, type Ms, SECOND } from "../model/units.ts";
import { crampedBy, crowdedBy, fullBy, type Measures } from "./bounds.ts";
import { createLookOut, type LookOutWorld } from "./look-out.ts";

/** How often the machine is asked about the disk. */
const LOOK_EVERY: Ms = 5 * SECOND;
/** How long a client is asked to wait when its calls cannot be stored. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** How long nothing is taken in after the disk has refused something: what became of deliveries goes first. */
const PAUSE: Ms = SECOND;

/** The reason is in the log: it is the operator's, not the client's. */
export const UNWRITTEN = fault("store_failed", "the calls could not be made durable; try again later", RETRY_AFTER);

export type RoomWorld = Omit<LookOutWorld, "seen" | "report"> & {
  /** Read anew each time: a reload may change them. */
  readonly bounds: () => Bounds;
  /** Called whenever a bound is found near. */
  readonly crowded: () => void;
  readonly clock: Clock;
  readonly report: Report;
};

/** Whether there is room for more. Asking is free: nobody waits for the disk but who looks. */
export type Room = {
  /** Why nothing more is taken in at this moment; null: come in. */
  refusal(): Fault | null;
  /** Why what was delivered cannot be sent again at this moment; null if it can. */
  refusalToReplay(): Fault | null;
  /** The bound at which the store is full. */
  full(): Bound | null;
  /** The bound that is near. */
  crowding(): Bound | null;
  /** Free bytes of the disk when it was last looked at; null if nobody can say. */
  free(): number | null;
  /** So many bytes are used, after a commit. */
  measured(used: number): void;
  /** The disk would not take a commit. */
  refused(): void;
  /** Asks the machine. Never rejects. */
  look(): Promise<void>;
};

/**
 * Open: calls are taken. Full: a bound is reached, `maxSize` by what is used or `freeDisk` by the disk; calls are refused,
 * and deliveries go on. `bounds.ts` says when one becomes the other; whoever asks or brings news has it looked at.
 */
export function createRoom({ bounds, crowded, clock, report, ...place }: RoomWorld): Room {
  let measures: Measures = { used: 0, overflow: 0, free: null };
  let state: Fullness | null = null;
  let refusedAt: At | null = null;
  let usedAtLook = 0;
  const ask = createLookOut({ ...place, report, seen });

  return {
    refusal() {
      const why = update();
      if (why) return refusalBecauseOf(why);
      return refusedAt !== null && clock.now() - refusedAt < PAUSE ? UNWRITTEN : null;
    },
    refusalToReplay() {
      const bound = crampedBy(measures, bounds());
      return bound && fault("store_full", `${CRAMPED[bound]}: ${TO_REPLAY}`);
    },
    full: () => update()?.bound ?? null,
    crowding: () => crowdedBy(measures, bounds()),
    free: () => measures.free,
    measured(used) {
      measures = { ...measures, used };
      notice();
      // So much that what should stay free may be gone before the next look.
      if (used - usedAtLook >= Math.max(MB, bounds().freeDisk / 4)) void look();
    },
    refused() {
      refusedAt = clock.now();
      void look();
    },
    look,
  };

  function look(): Promise<void> {
    usedAtLook = measures.used;
    return ask();
  }

  function seen(now: Omit<Measures, "used">): void {
    measures = { ...measures, ...now };
    notice();
  }

  function notice(): void {
    update();
    if (crowdedBy(measures, bounds()) !== null) crowded();
  }

  function update(): Fullness | null {
    const bound = fullBy(measures, bounds(), state?.bound ?? null);
    if (bound === (state?.bound ?? null)) return state;
    if (state) report.storeOpen(state.bound, clock.now() - state.since);
    const { used, overflow: log, free } = measures;
    state = bound && { ...{ bound, since: clock.now(), path: place.path, used, log, free }, bounds: bounds() };
    if (state) report.storeFull(state);
    return state;
  }
}

const CRAMPED: Readonly<Record<Bound, string>> = {
  maxSize: "the outbox has come near outbox.maxSize",
  freeDisk: "the disk of the outbox has come near outbox.freeDisk",
};
const TO_REPLAY =
  "what was delivered takes more space when it is sent again, and others of its kind would be removed for it; raise the bound, or wait until what waits is delivered";

/** Looks again and again until the signal is aborted. */
export async function watchRoom(room: Pick<Room, "look">, clock: Clock, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(LOOK_EVERY, signal);
    if (signal.aborted) return;
    await room.look();
  }
}

function refusalBecauseOf({ bound, used, free, bounds }: Fullness): Fault {
  const message =
    bound === "maxSize"
      ? `the outbox is full (${formatSize(used)} used, the bound of outbox.maxSize); try again later`
      : `the disk of the outbox is full (${formatSize(free ?? 0)} free, outbox.freeDisk keeps ` +
        `${formatSize(bounds.freeDisk)}); try again later`;
  return fault("store_full", message, RETRY_AFTER);
}
