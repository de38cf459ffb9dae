import type { Destination } from "../model/config.ts";
import {
  type DestinationClock,
  neverStopped,
  type Paused,
  type Pauses,
  type Resumed,
  type StoredClock,
  type StoredClocks,
  totalOf,
} from "../model/destination-clock.ts";
import type { Fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { type At, type Ms, SECOND } from "../model/units.ts";

/**
 * The clocks of all destinations. A delivery is given up at its cutoff after its first attempt, by the clock of its destination;
 * time in which that clock stands still does not count. There are three reasons to stand still, and several can hold at once:
 *
 * paused:    from `fairlead pause` to `fairlead resume`. A restart or a reload changes nothing.
 * unserved:  disabled, or not in the config, with deliveries waiting. Begins and ends with a start or a reload.
 * offline:   this machine has no network. Noticed when a round of attempts ends of which none left the machine; counts from
 *            the last attempt that did. Ends with the next attempt that does.
 *
 * A destination without waiting deliveries needs no clock: the next start or reload forgets what was counted.
 *
 * Daemons that share a store share the clocks: a delivery keeps for how long its destination's clock had stood still at
 * its first attempt, and another daemon may be the one that gives it up. So each clock stands still for all of them
 * while any has a reason, and what one has counted is never taken back. A daemon that finds its own reason ended by
 * another one, which is served or online, sets it again. Deliveries may therefore be given up later than their cutoff,
 * but never earlier. The difference is the time that another machine was offline or another config did not serve the
 * destination, and a second or two until a change arrives.
 */

/** How long until a save that the store refused is tried again. */
const SAVE_RETRY: Ms = 10 * SECOND;

export type Clocks = {
  of(destination: string): LoopClock;
  /** These are in the config from now on. `waiting`: the destinations that have waiting deliveries. */
  setDestinations(destinations: readonly Destination[], waiting: Waiting): void;
  /** Another daemon has saved these. */
  hear(heard: readonly StoredClock[]): void;
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
  readonly clockStore: Pick<StoredClocks, "save" | "refresh">;
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
  for (const one of world.storedClocks) add(one);

  return {
    of: (destination) => entryOf(destination).clock,
    setDestinations(destinations, waiting) {
      const enabled = new Set(destinations.filter((one) => one.enabled).map(({ name }) => name));
      for (const name of new Set([...known.keys(), ...waiting.keys()])) {
        const state = !waiting.has(name) ? "needless" : enabled.has(name) ? "served" : "unserved";
        saveIf(setServed(entryOf(name), state, clock.now()), name);
      }
    },
    hear(heard) {
      const before = heard.map(({ destination }) => isPaused(destination));
      for (const one of heard) {
        const { destination } = one;
        const isUnsaved = saver.isUnsaved(destination);
        saveIf(hearClock(entryOf(destination), one, { now: clock.now(), isUnsaved }), destination);
      }
      if (heard.some(({ destination }, nth) => isPaused(destination) !== before[nth])) world.onPauseChange();
    },
    pauses: {
      since: (destination) => known.get(destination)?.live.stored().pausedAt ?? null,
      pause: (destination) => saver.inTurn(() => pause(entryOf(destination).live, world)),
      resume: (destination) => saver.inTurn(() => resume(entryOf(destination).live, world)),
    },
  };

  function entryOf(destination: string): Entry {
    return known.get(destination) ?? add(neverStopped(destination));
  }

  function add(stored: StoredClock): Entry {
    const { destination } = stored;
    const entry = createEntry(stored, startedAt, (hasChanged) => saveIf(hasChanged, destination));
    known.set(destination, entry);
    return entry;
  }

  function isPaused(destination: string): boolean {
    return (known.get(destination)?.live.stored().pausedAt ?? null) !== null;
  }

  function saveIf(hasChanged: boolean, destination: string): void {
    if (hasChanged) saver.saveSoon(destination);
  }
}

/** `own`: since when this daemon itself has a reason. Others may have the same. */
type Entry = {
  readonly live: LiveClock;
  readonly clock: LoopClock;
  readonly own: Record<(typeof OWN_REASONS)[number], At | null>;
};

const OWN_REASONS = ["unservedAt", "offlineAt"] as const;

function createEntry(stored: StoredClock, startedAt: At, saveIf: (hasChanged: boolean) => void): Entry {
  const live = createDestinationClock(stored);
  const own: Entry["own"] = { unservedAt: null, offlineAt: null };
  let onlineAt: At = startedAt;
  const clock: LoopClock = {
    stoodStill: live.stoodStill,
    standsStill: live.standsStill,
    noteOnline(now) {
      onlineAt = now;
      own.offlineAt = null;
      saveIf(live.start("offlineAt", now));
    },
    noteOffline() {
      own.offlineAt ??= onlineAt;
      saveIf(live.stop("offlineAt", onlineAt));
    },
  };
  return { live, clock, own };
}

/** `needless`: nothing waits for it. Answers whether that has changed its clock. */
function setServed({ live, own }: Entry, state: "needless" | "served" | "unserved", now: At): boolean {
  own.unservedAt = state === "unserved" ? (own.unservedAt ?? now) : null;
  if (state === "unserved") return live.stop("unservedAt", now);
  if (state === "served") return live.start("unservedAt", now);
  own.offlineAt = null;
  return live.forget();
}

type Hearing = { readonly now: At; readonly isUnsaved: boolean };

/** Answers whether this daemon knows better than the stored clock, and must save its own. */
function hearClock({ live, own }: Entry, heard: StoredClock, { now, isUnsaved }: Hearing): boolean {
  const before = live.stored();
  let isNew = live.hear(heard, now);
  for (const reason of OWN_REASONS) {
    const since = own[reason];
    if (since !== null) isNew = live.stop(reason, since) || isNew;
    // It has ended here, and that is still to be saved.
    else if (isUnsaved && before[reason] === null) isNew = live.start(reason, now) || isNew;
  }
  return isNew;
}

/** A pause counts once it is durable. */
async function pause(live: LiveClock, world: ClocksWorld): Promise<Paused | Fault> {
  const { clock, clockStore, onPauseChange } = world;
  const { pausedAt } = live.stored();
  if (pausedAt !== null) {
    const refused = await confirm(live, world);
    if (refused !== null) return refused;
    if (live.stored().pausedAt !== null) return { since: pausedAt, changed: false };
  }
  const since = clock.now();
  const refused = await clockStore.save([stopped(live.stored(), "pausedAt", since)], "command");
  if (refused !== null) return refused;
  // The live clock may have stopped or started for another reason meanwhile; that change is saved by itself.
  live.stop("pausedAt", since);
  onPauseChange();
  return { since, changed: true };
}

/** The end of a pause counts once it is durable. */
async function resume(live: LiveClock, world: ClocksWorld): Promise<Resumed | Fault> {
  const { clock, clockStore, onPauseChange } = world;
  if (live.stored().pausedAt === null) {
    const refused = await confirm(live, world);
    if (refused !== null) return refused;
  }
  const { pausedAt: since } = live.stored();
  if (since === null) return { since };
  const now = clock.now();
  const refused = await clockStore.save([started(live.stored(), "pausedAt", now)], "command");
  if (refused !== null) return refused;
  // Another daemon may have paused it again.
  if (live.stored().pausedAt === since) live.start("pausedAt", now);
  onPauseChange();
  return { since };
}

/** Another daemon may have paused or resumed it a moment ago. */
async function confirm(live: LiveClock, { clockStore }: ClocksWorld): Promise<Fault | null> {
  return (await clockStore.refresh?.(live.stored().destination)) ?? null;
}

type Saver = {
  /** Runs works that write to the store one after the other, in the order of the calls. */
  inTurn<T>(work: () => Promise<T>): Promise<T>;
  /** Saves this clock, whose change already counts, as soon as the store can: usually with the next commit. */
  saveSoon(destination: string): void;
  /** Whether a change of this clock is still to be saved. */
  isUnsaved(destination: string): boolean;
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
    isUnsaved: (destination) => unsaved.has(destination),
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
  /** The form in which it is stored. */
  stored(): StoredClock;
  /** This reason holds since then. Answers whether that is new. */
  stop(reason: Reason, at: At): boolean;
  /** This reason has ended. Answers whether that is new. */
  start(reason: Reason, at: At): boolean;
  /** Another daemon has saved this. Answers whether more was counted here, which is kept. */
  hear(heard: StoredClock, now: At): boolean;
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

  function stoodStill(at: At): Ms {
    const notYet = last === null ? 0 : Math.max(0, last.until - Math.max(last.from, at));
    return totalOf(clock, at) - notYet;
  }

  return {
    stored: () => clock,
    standsStill: () => clock.stoppedAt !== null,
    stoodStill,
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
    hear(heard, now) {
      const { stoppedAt } = clock;
      const more = Math.max(0, stoodStill(now) - totalOf(heard, now));
      clock = { ...heard, stoodStill: heard.stoodStill + more };
      if (stoppedAt !== null && clock.stoppedAt === null) last = { from: stoppedAt, until: Math.max(now, stoppedAt) };
      return more > 0;
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
