import { type Destination, isNotifyName } from "../model/config.ts";
import type { Deletion, StoredDeletions, WaitingStep, WalkCursor } from "../model/deletion.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Backlog, Clock } from "../model/ports.ts";
import { USER_DELETED, type Withdraw, type Withdrawal } from "../model/waiting-deliveries.ts";

export type WithdrawWorld = {
  readonly deletions: Pick<StoredDeletions, "people" | "waiting">;
  readonly withdraw: Withdraw;
  readonly clock: Pick<Clock, "nextTurn">;
  readonly signal: AbortSignal;
};

/**
 * Events of one user and source that end in the commit of the notification. Any more end before, because the body of each
 * must be written.
 */
const WITH_NOTICE = 100;

/** The waiting events of each user and source when their notification is sent. */
export type Held = {
  /** The withdrawal of one user of a source; it is handed out once. */
  withdrawalOf(source: string, userId: string): Withdrawal | undefined;
  /** Those that were not handed out. */
  rest(): readonly Withdrawal[];
};

/**
 * Finds the waiting events of a request's users that are older than the request. If there are many, most are ended at once,
 * and the rest in the commit of the user's notification. Null: the daemon is stopping.
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
      // One event may wait for several destinations, far apart in the walk: it counts once.
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

/** The events of sources that have no notification. */
function rest(held: ReadonlyMap<string, ReadonlySet<number>>): readonly Withdrawal[] {
  return [...held.values()].filter((events) => events.size > 0).map(ending);
}

function ending(events: ReadonlySet<number>): Withdrawal {
  return { events: [...events], reason: USER_DELETED };
}

function keyOf(source: string, userId: string): string {
  return `${source}\n${userId}`;
}

/** What tells who receives a deletion: the current config, and the destinations in the store. */
export type ReachWorld = {
  readonly destinations: () => readonly Destination[];
  readonly backlog: Pick<Backlog, "counts">;
};

/** Disabled destinations that once received events from a source: they may still hold data, so they are notified later. */
export async function holdersOf(source: string, { destinations, backlog }: ReachWorld): Promise<readonly string[]> {
  const known = await namesIn(backlog);
  const disabled = destinations().filter((one) => !one.enabled && takes(one, source));
  return disabled.map(({ name }) => name).filter((name) => known.has(name));
}

/** Whether any destination is notified of a deletion from this source, now or later. */
export async function isHeard(source: string, world: ReachWorld): Promise<boolean> {
  const isTaken = world.destinations().some((one) => one.enabled && takes(one, source));
  return isTaken || (await holdersOf(source, world)).length > 0;
}

/**
 * Destinations that once received events and are no longer in the config: they cannot be notified. Webhooks of `notify`
 * are not among them: they get no events.
 */
export async function beyondReach({ destinations, backlog }: ReachWorld): Promise<readonly string[]> {
  const configured = new Set(destinations().map(({ name }) => name));
  return [...(await namesIn(backlog))].filter((name) => !configured.has(name) && !isNotifyName(name)).sort();
}

function takes({ sources }: Destination, source: string): boolean {
  return sources?.includes(source) ?? true;
}

/** Pruned deliveries leave a count of zero. */
async function namesIn(backlog: Pick<Backlog, "counts">): Promise<ReadonlySet<string>> {
  return new Set((await backlog.counts()).map(({ destination }) => destination));
}
