import type { Deletion, StoredDeletions, WalkCursor } from "../model/deletion.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
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
export type Held = { take(source: string, userId: string): Withdrawal | undefined; rest(): readonly Withdrawal[] };

/**
 * Looks for what waits of the users of a request, and was there before it came. Where that is much, most of it is ended at
 * once; the rest is to end in the commit of the user's notification. Null: the daemon stops.
 */
export async function holdWaiting(deletion: Deletion, world: WithdrawWorld): Promise<Held | Fault | null> {
  const { deletions, withdraw, clock, signal } = world;
  const of = { users: new Set(deletions.people(deletion.id)), sources: deletion.scope, upTo: deletion.upTo };
  const held = new Map<string, Set<number>>();
  let after: WalkCursor | null = null;
  do {
    if (signal.aborted) return null;
    const step = deletions.waiting(of, after);
    for (const { event, source, userId } of step.found) {
      // One event may wait in several places, far apart on the way: each counts once.
      const events = held.get(keyOf(source, userId)) ?? new Set();
      held.set(keyOf(source, userId), events.add(event));
      if (events.size < WITH_NOTICE) continue;
      const ended = await withdraw(ending(events));
      if (isRefused(ended)) return ended;
      events.clear();
    }
    after = step.next;
    await clock.nextTurn();
  } while (after !== null);
  return { take: (source, userId) => take(held, keyOf(source, userId)), rest: () => rest(held) };
}

function take(held: Map<string, Set<number>>, key: string): Withdrawal | undefined {
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

function isRefused(answer: number | Fault): answer is Fault {
  return typeof answer === "object" && isFault(answer);
}
