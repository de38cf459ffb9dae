import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Bound, Bounds, Disk, Fullness } from "../model/space.ts";
import { type At, formatSize, MB, type Ms, SECOND } from "../model/units.ts";

/** How often the machine is asked about the disk. */
const LOOK_EVERY: Ms = 5 * SECOND;
/** How long a client is asked to wait when its calls cannot be stored. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** How long nothing is taken in after the disk has refused something: what became of deliveries goes first. */
const PAUSE: Ms = SECOND;

/** The reason is in the log: it is the operator's, not the client's. */
export const UNWRITTEN = fault("store_failed", "the calls could not be made durable; try again later", RETRY_AFTER);

type RoomWorld = Omit<LookOutWorld, "seen" | "report"> & {
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

/** What is known of a store, in bytes. */
export type Measures = {
  /** Of pages that hold something. */
  readonly used: number;
  /** Of the engine's log, beyond what it may have. */
  readonly overflow: number;
  /** Of its disk; null if nobody can say. */
  readonly free: number | null;
};

type Shares = Readonly<Record<Bound, number>>;

/** Shares of the bounds: where the store is full, where it opens again, and where settled deliveries begin to make room. */
const FULL: Shares = { maxSize: 1, freeDisk: 1 };
const REOPENED: Shares = { maxSize: 0.97, freeDisk: 1.25 };
const CROWDED: Shares = { maxSize: 0.9, freeDisk: 1.5 };
/** And where what was delivered is not sent again any more, which takes space: others of its kind would have to go for it. */
const CRAMPED_SHARES: Shares = { maxSize: 0.8, freeDisk: 2 };

/**
 * The bound at which a store is full, null if it is not; `was`: what it was before. It is left when a good deal less is
 * used, or more is free, than what led there: a store that turned to and fro with each delivery would help nobody.
 */
export function fullBy(measures: Measures, bounds: Bounds, was: Bound | null): Bound | null {
  if (was !== null && reaches(was, { measures, bounds, shares: REOPENED })) return was;
  return reached({ measures, bounds, shares: FULL });
}

/** The bound that is near; null if none is. What only the log takes, no pruning gives back. */
export function crowdedBy(measures: Measures, bounds: Bounds): Bound | null {
  return reached({ measures: { ...measures, overflow: 0 }, bounds, shares: CROWDED });
}

/** The bound to which it is not far; null if neither is. */
function crampedBy(measures: Measures, bounds: Bounds): Bound | null {
  return reached({ measures: { ...measures, overflow: 0 }, bounds, shares: CRAMPED_SHARES });
}

type Look = { readonly measures: Measures; readonly bounds: Bounds; readonly shares: Shares };

function reached(look: Look): Bound | null {
  if (reaches("maxSize", look)) return "maxSize";
  return reaches("freeDisk", look) ? "freeDisk" : null;
}

function reaches(bound: Bound, { measures, bounds, shares }: Look): boolean {
  const { used, overflow, free } = measures;
  if (bound === "maxSize") return used + overflow >= bounds.maxSize * shares.maxSize;
  return free !== null && free < bounds.freeDisk * shares.freeDisk;
}

type LookOutWorld = {
  /** Of the store's file. */
  readonly path: string;
  /** The engine's log beside it, and how many bytes it may have. */
  readonly log: { readonly path: string; readonly most: number };
  readonly disk: Pick<Disk, "space" | "size">;
  readonly report: Pick<Report, "diskUnknown">;
  readonly seen: (measures: Omit<Measures, "used">) => void;
};

/** What nobody can say is no reason to refuse anything. */
const UNKNOWN: Omit<Measures, "used"> = { free: null, overflow: 0 };

/** Asks the machine about the disk, one question at a time, however many want to know. The answer never rejects. */
function createLookOut({ path, log, disk, report, seen }: LookOutWorld): () => Promise<void> {
  let looking: Promise<void> | null = null;
  let isKnown = true;

  return function look() {
    looking ??= ask().finally(() => {
      looking = null;
    });
    return looking;
  };

  async function ask(): Promise<void> {
    try {
      const [{ free }, size] = await Promise.all([disk.space(path), disk.size(log.path)]);
      isKnown = true;
      seen({ free, overflow: Math.max(0, size - log.most) });
    } catch (error) {
      if (isKnown) report.diskUnknown(path, error);
      isKnown = false;
      seen(UNKNOWN);
    }
  }
}
