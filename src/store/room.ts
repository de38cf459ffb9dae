import type { Bound, Bounds, Disk, Fullness } from "../model/disk.ts";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type At, formatSize, MB, type Ms, SECOND } from "../model/units.ts";

/** How often the machine is asked about the disk. */
const LOOK_EVERY: Ms = 5 * SECOND;
/** How long a client is asked to wait when its calls cannot be stored. */
const RETRY_AFTER: Ms = 10 * SECOND;
/** How long calls are refused after the disk has refused a commit, so that settlements go first. */
const PAUSE: Ms = SECOND;

/** The answer to clients. The reason is in the log, for the operator. */
export const UNWRITTEN = fault("store_failed", "the calls could not be made durable; try again later", RETRY_AFTER);

type RoomParts = Omit<DiskCheckParts, "seen" | "report"> & {
  /** Called each time, as a reload may change them. */
  readonly bounds: () => Bounds;
  /** Called whenever a bound is near. */
  readonly crowded: () => void;
  readonly clock: Clock;
  readonly report: Report;
};

/** Whether there is room for more. Only `look` waits for the disk. */
export type Room = {
  /** Why calls are refused at this moment; null if they are not. */
  refusal(): Fault | null;
  /** Why delivered ones cannot be sent again at this moment; null if they can. */
  refusalToReplay(): Fault | null;
  /** The bound at which the store is full. */
  full(): Bound | null;
  /** The bound that is near. */
  crowding(): Bound | null;
  /** Free bytes of the disk when it was last checked; null if unknown. */
  free(): number | null;
  /** Notes the bytes in use after a commit. */
  measured(used: number): void;
  /** Notes that the disk has refused a commit. */
  refused(): void;
  /** Checks the disk. Never rejects. */
  look(): Promise<void>;
};

/**
 * Open: calls are accepted. Full: a bound is reached, `maxSize` by the store or `freeDisk` by the disk. Calls are then refused, and
 * deliveries continue. `fullBy` decides when one becomes the other, with each question and each measurement.
 */
export function createRoom({ bounds, crowded, clock, report, ...place }: RoomParts): Room {
  let measures: Measures = { used: 0, overflow: 0, free: null };
  let state: Fullness | null = null;
  let refusedAt: At | null = null;
  let usedAtLook = 0;
  const ask = createDiskCheck({ ...place, report, seen });

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
      // At this rate `freeDisk` could be used up before the next check.
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
    state = bound && { bound, since: clock.now(), path: place.path, used, log, free, bounds: bounds() };
    if (state) report.storeFull(state);
    return state;
  }
}

const CRAMPED: Readonly<Record<Bound, string>> = {
  maxSize: "the outbox has nearly reached outbox.maxSize",
  freeDisk: "the disk of the outbox has nearly reached outbox.freeDisk",
};
const TO_REPLAY =
  "replayed deliveries take more space, and other delivered ones would be removed for it; raise the bound, or wait until waiting deliveries are sent";

/** Checks the disk at intervals until the signal is aborted. */
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

/** Measurements of a store, in bytes. */
export type Measures = {
  /** In pages that are in use. */
  readonly used: number;
  /** Of the engine's log, beyond its usual size. */
  readonly overflow: number;
  /** Free on its disk; null if unknown. */
  readonly free: number | null;
};

type Shares = Readonly<Record<Bound, number>>;

/** Shares of the bounds: where the store is full, where it opens again, and where settled deliveries begin to make room. */
const FULL: Shares = { maxSize: 1, freeDisk: 1 };
const REOPENED: Shares = { maxSize: 0.97, freeDisk: 1.25 };
const CROWDED: Shares = { maxSize: 0.9, freeDisk: 1.5 };
/** Where delivered ones are not sent again: that takes space, for which other delivered ones would be removed. */
const CRAMPED_SHARES: Shares = { maxSize: 0.8, freeDisk: 2 };

/**
 * The bound at which a store is full, or null; `was`: the answer before. The state ends well below the bound, so that the store
 * does not switch back and forth with each delivery.
 */
export function fullBy(measures: Measures, bounds: Bounds, was: Bound | null): Bound | null {
  if (was !== null && reaches(was, { measures, bounds, shares: REOPENED })) return was;
  return reached({ measures, bounds, shares: FULL });
}

/** The bound that is near; null if none is. The log does not count: pruning cannot shorten it. */
export function crowdedBy(measures: Measures, bounds: Bounds): Bound | null {
  return reached({ measures: { ...measures, overflow: 0 }, bounds, shares: CROWDED });
}

/** The bound at which replays of delivered ones are refused; null if neither is reached. */
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

type DiskCheckParts = {
  /** Of the store's file. */
  readonly path: string;
  /** The engine's log beside it, and its usual size. */
  readonly log: { readonly path: string; readonly most: number };
  readonly disk: Pick<Disk, "space" | "size">;
  readonly report: Pick<Report, "diskUnknown">;
  readonly seen: (measures: Omit<Measures, "used">) => void;
};

/** If the disk cannot be measured, nothing is refused. */
const UNKNOWN: Omit<Measures, "used"> = { free: null, overflow: 0 };

/** Checks the disk, once at a time for all callers. Never rejects. */
function createDiskCheck({ path, log, disk, report, seen }: DiskCheckParts): () => Promise<void> {
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
