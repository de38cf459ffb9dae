import type { Deletion, StoredDeletions, WaitingStep, WalkCursor } from "../model/deletion.ts";
import type { Destination } from "../model/destination.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import { USER_DELETED, type Withdraw, type Withdrawal } from "../model/withdrawal.ts";

export type WithdrawWorld = {
  readonly deletions: Pick<StoredDeletions, "people" | "waiting">;
  readonly withdraw: Withdraw;
  readonly clock: Pick<Clock, "nextTurn">;
  readonly signal: AbortSignal;
};

/** Events of one user and source that end with its notification. With more of them, most end before: each has its body written. */
const WITH_NOTICE = 100;

/** What waits of each user and source when their notification goes out. */
export type Held = {
  /** The withdrawal of one user of a source; it is handed out once. */
  withdrawalOf(source: string, userId: string): Withdrawal | undefined;
  /** Those that were not handed out. */
  rest(): readonly Withdrawal[];
};

/**
 * Looks for what waits of the users of a request, and was there before it came. Where that is much, most of it is ended at
 * once; the rest is to end in the commit of the user's notification. Null: the daemon stops.
 */
export async function holdWaiting(deletion: Deletion, world: WithdrawWorld): Promise<Held | Fault | null> {
  const { deletions, withdraw, clock, signal } = world;
  const of = { users: new Set(await deletions.people(deletion.id)), sources: deletion.scope, upTo: deletion.upTo };
  const held = new Map<string, Set<number>>();
  let after: WalkCursor | null = null;
  do {
    if (signal.aborted) return null;
    const step: WaitingStep = await deletions.waiting(of, after);
    for (const { event, source, userId } of step.found) {
      // One event may wait in several places, far apart on the way: each counts once.
      const events = held.get(keyOf(source, userId)) ?? new Set();
      held.set(keyOf(source, userId), events.add(event));
      if (events.size < WITH_NOTICE) continue;
      const ended = await withdraw(ending(events));
      if (isFault(ended)) return ended;
      events.clear();
    }
    after = step.next;
    await clock.nextTurn();
  } while (after !== null);
  return { withdrawalOf: (source, userId) => handOut(held, keyOf(source, userId)), rest: () => rest(held) };
}

function handOut(held: Map<string, Set<number>>, key: string): Withdrawal | undefined {
  const events = held.get(key);
  held.delete(key);
  return events === undefined || events.size === 0 ? undefined : ending(events);
}

/** Of sources whose notifications nobody takes. */
function rest(held: ReadonlyMap<string, ReadonlySet<number>>): readonly Withdrawal[] {
  return [...held.values()].filter((events) => events.size > 0).map(ending);
}

function ending(events: ReadonlySet<number>): Withdrawal {
  return { events: [...events], reason: USER_DELETED };
}

function keyOf(source: string, userId: string): string {
  return `${source}\n${userId}`;
}

/** Who can hear of a deletion: the config in force, and the destinations of which the store knows. */
export type ReachWorld = {
  readonly destinations: () => readonly Destination[];
  readonly backlog: Pick<Backlog, "counts">;
};

/** Destinations that are disabled and were not always: what they have got of a source may be there still, so they hear later. */
export async function holdersOf(source: string, { destinations, backlog }: ReachWorld): Promise<readonly string[]> {
  const known = await namesIn(backlog);
  const disabled = destinations().filter((one) => !one.enabled && takes(one, source));
  return disabled.map(({ name }) => name).filter((name) => known.has(name));
}

/** Whether anybody hears of a deletion from this source, now or later. */
export async function isHeard(source: string, world: ReachWorld): Promise<boolean> {
  const isTaken = world.destinations().some((one) => one.enabled && takes(one, source));
  return isTaken || (await holdersOf(source, world)).length > 0;
}

/** Destinations that have got something once, and are not in the config any more: nobody can tell them. */
export async function beyondReach({ destinations, backlog }: ReachWorld): Promise<readonly string[]> {
  const configured = new Set(destinations().map(({ name }) => name));
  return [...(await namesIn(backlog))].filter((name) => !configured.has(name)).sort();
}

function takes({ sources }: Destination, source: string): boolean {
  return sources?.includes(source) ?? true;
}

/** What was pruned leaves a count of zero. */
async function namesIn(backlog: Pick<Backlog, "counts">): Promise<ReadonlySet<string>> {
  return new Set((await backlog.counts()).map(({ destination }) => destination));
}
