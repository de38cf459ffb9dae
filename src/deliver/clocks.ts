import type { Destination } from "../model/config.ts";
import type {
  DestinationClock,
  Paused,
  Pauses,
  Resumed,
  StoredClock,
  StoredClocks,
} from "../model/destination-clock.ts";
import type { Fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

/**
 * The clocks of all destinations. A delivery is given up four hours after its first attempt, by the clock of its destination;
 * time in which that clock stands still does not count. There are three reasons to stand still, and several can hold at once:
 *
 * paused:    from `fairlead pause` to `fairlead resume`. A restart or a reload changes nothing.
 * unserved:  disabled, or not in the config, with deliveries waiting. Begins and ends with a start or a reload.
 * offline:   this machine has no network. Noticed when a round of attempts ends of which none left the machine; counts from
 *            the last attempt that did. Ends with the next attempt that does.
 *
 * A destination without waiting deliveries needs no clock: the next start or reload forgets what was counted.
 */

/** How long until a save that the store refused is tried again. */
const SAVE_RETRY: Ms = 10 * SECOND;

export type Clocks = {
  of(destination: string): LoopClock;
  /** These are in the config from now on. `waiting`: the destinations that have waiting deliveries. */
  setDestinations(destinations: readonly Destination[], waiting: Waiting): void;
  readonly pauses: Pauses;
};

type Waiting = Pick<ReadonlyMap<string, unknown>, "has" | "keys">;

/** A destination's clock for its loop, which says whether attempts leave this machine. */
export type LoopClock = DestinationClock & {
  /** An attempt has left the machine. */
  noteOnline(now: At): void;
  /** No attempt of a round has left it. */
  noteOffline(): void;
};

export type ClocksWorld = {
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly clockStore: Pick<StoredClocks, "save">;
  /** The clocks as they were in the store when the daemon started. */
  readonly storedClocks: readonly StoredClock[];
  readonly stopping: AbortSignal;
  /** Called when a destination was paused or resumed. */
  readonly onPauseChange: () => void;
};

export function createClocks(world: ClocksWorld): Clocks {
  const { clock } = world;
  const startedAt = clock.now();
  const known = new Map<string, Entry>();
  const saver = createSaver(world, (destination) => entryOf(destination).live.stored());
  for (const one of world.storedClocks) add(createDestinationClock(one), one.destination);

  return {
    of: (destination) => entryOf(destination).clock,
    setDestinations(destinations, waiting) {
      const enabled = new Set(destinations.filter((one) => one.enabled).map(({ name }) => name));
      for (const name of new Set([...known.keys(), ...waiting.keys()])) {
        const { live } = entryOf(name);
        if (!waiting.has(name)) saveIf(live.forget(), name);
        else if (enabled.has(name)) saveIf(live.start("unservedAt", clock.now()), name);
        else saveIf(live.stop("unservedAt", clock.now()), name);
      }
    },
    pauses: {
      since: (destination) => known.get(destination)?.live.stored().pausedAt ?? null,
      pause: (destination) => saver.inTurn(() => pause(entryOf(destination).live, world)),
      resume: (destination) => saver.inTurn(() => resume(entryOf(destination).live, world)),
    },
  };

  function entryOf(destination: string): Entry {
    return known.get(destination) ?? add(createDestinationClock(neverStopped(destination)), destination);
  }

  function add(live: LiveClock, destination: string): Entry {
    let onlineAt: At = startedAt;
    const loopClock: LoopClock = {
      stoodStill: live.stoodStill,
      standsStill: live.standsStill,
      noteOnline(now) {
        onlineAt = now;
        saveIf(live.start("offlineAt", now), destination);
      },
      noteOffline: () => saveIf(live.stop("offlineAt", onlineAt), destination),
    };
    const entry = { live, clock: loopClock };
    known.set(destination, entry);
    return entry;
  }

  function saveIf(hasChanged: boolean, destination: string): void {
    if (hasChanged) saver.saveSoon(destination);
  }
}

type Entry = { readonly live: LiveClock; readonly clock: LoopClock };

/** A pause counts once it is durable. */
async function pause(live: LiveClock, { clock, clockStore, onPauseChange }: ClocksWorld): Promise<Paused | Fault> {
  const { pausedAt } = live.stored();
  if (pausedAt !== null) return { since: pausedAt, changed: false };
  const since = clock.now();
  const refused = await clockStore.save([stopped(live.stored(), "pausedAt", since)], "command");
  if (refused !== null) return refused;
  // The live clock may have stopped or started for another reason meanwhile; that change is saved by itself.
  live.stop("pausedAt", since);
  onPauseChange();
  return { since, changed: true };
}

/** The end of a pause counts once it is durable. */
async function resume(live: LiveClock, { clock, clockStore, onPauseChange }: ClocksWorld): Promise<Resumed | Fault> {
  const { pausedAt: since } = live.stored();
  if (since === null) return { since };
  const now = clock.now();
  const refused = await clockStore.save([started(live.stored(), "pausedAt", now)], "command");
  if (refused !== null) return refused;
  live.start("pausedAt", now);
  onPauseChange();
  return { since };
}

type Saver = {
  /** Runs works that write to the store one after the other, in the order of the calls. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Saves this clock, whose change already counts, as soon as the store can: usually with the next commit. */
  saveSoon(destination: string): void;
};

function createSaver(
  { clock, clockStore, stopping }: ClocksWorld,
  storedOf: (destination: string) => StoredClock,
): Saver {
  const unsaved = new Set<string>();
  let turn: Promise<unknown> = Promise.resolve();
  let saving = false;

  return {
    inTurn,
    saveSoon(destination) {
      unsaved.add(destination);
      // It never rejects: a save that fails answers a fault, which the store has logged.
      if (!saving) void saveAll();
    },
  };

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = turn.then(work);
    turn = result.catch(() => {});
    return result;
  }

  async function saveAll(): Promise<void> {
    saving = true;
    while (unsaved.size > 0) {
      if ((await inTurn(save)) === null) continue;
      if (stopping.aborted) break;
      await clock.sleep(SAVE_RETRY, stopping);
    }
    saving = false;
  }

  async function save(): Promise<Fault | null> {
    const destinations = [...unsaved];
    unsaved.clear();
    const refused = await clockStore.save(destinations.map(storedOf), "observed");
    if (refused !== null) for (const one of destinations) unsaved.add(one);
    return refused;
  }
}

/** Why a destination's clock stands still: since when it is so. */
export type Reason = "pausedAt" | "unservedAt" | "offlineAt";

/** The clock of one destination, in memory. */
type LiveClock = DestinationClock & {
  /** As it is to be stored. */
  stored(): StoredClock;
  /** This reason holds since then. Answers whether that is new. */
  stop(reason: Reason, at: At): boolean;
  /** This reason has ended. Answers whether that is new. */
  start(reason: Reason, at: At): boolean;
  /** Begins again from nothing, as no delivery needs it; a pause stays. Answers whether there was something to forget. */
  forget(): boolean;
};

export function createDestinationClock(first: StoredClock): LiveClock {
  let clock = first;
  /**
   * The last time that it stood still and that is over, for attempts that began before its end. An attempt takes seconds:
   * an earlier one almost never matters.
   */
  let last: { readonly from: At; readonly until: At } | null = null;

  return {
    stored: () => clock,
    standsStill: () => clock.stoppedAt !== null,
    stoodStill(at) {
      const { stoppedAt, stoodStill } = clock;
      const sinceStop = stoppedAt === null ? 0 : Math.max(0, at - stoppedAt);
      const notYet = last === null ? 0 : Math.max(0, last.until - Math.max(last.from, at));
      return stoodStill + sinceStop - notYet;
    },
    stop(reason, at) {
      if (clock[reason] !== null) return false;
      // What lies before the end of the last time is counted already.
      clock = { ...stopped(clock, reason, Math.max(at, last?.until ?? at)), [reason]: at };
      return true;
    },
    start(reason, at) {
      if (clock[reason] === null) return false;
      const { stoppedAt } = clock;
      clock = started(clock, reason, at);
      if (stoppedAt !== null && clock.stoppedAt === null) last = { from: stoppedAt, until: Math.max(at, stoppedAt) };
      return true;
    },
    forget() {
      const { destination, pausedAt, unservedAt, offlineAt, stoodStill } = clock;
      if (unservedAt === null && offlineAt === null && stoodStill === 0) return false;
      clock = { ...neverStopped(destination), pausedAt, stoppedAt: pausedAt };
      last = null;
      return true;
    },
  };
}

export function neverStopped(destination: string): StoredClock {
  return { destination, pausedAt: null, unservedAt: null, offlineAt: null, stoppedAt: null, stoodStill: 0 };
}

function stopped(clock: StoredClock, reason: Reason, at: At): StoredClock {
  return { ...clock, [reason]: at, stoppedAt: Math.min(at, clock.stoppedAt ?? at) };
}

/** It runs again once no other reason is left. */
function started(clock: StoredClock, reason: Reason, at: At): StoredClock {
  const { stoppedAt, ...others } = { ...clock, [reason]: null };
  const { pausedAt, unservedAt, offlineAt, stoodStill } = others;
  if (stoppedAt === null || pausedAt !== null || unservedAt !== null || offlineAt !== null) {
    return { ...others, stoppedAt };
  }
  return { ...others, stoppedAt: null, stoodStill: stoodStill + Math.max(0, at - stoppedAt) };
}
