import type { Deletion, StoredDeletions, WalkCursor } from "../model/deletion.ts";
import type { Fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { ForgetRejections } from "../model/refusal.ts";

export type EraseWorld = {
  readonly deletions: Pick<StoredDeletions, "people" | "erase" | "forgetPeople">;
  readonly rejections: { readonly forget: ForgetRejections };
  readonly clock: Pick<Clock, "nextTurn">;
  readonly signal: AbortSignal;
};

/**
 * Removes what is kept of the users of a request here: events and attempts, refused calls, and last of all who they were.
 * Their memberships went with the request itself: those that there are now, a later list has made. Answers whether
 * nothing is left but traces; false if something is that has to be waited for, null if the daemon stops.
 */
export async function erase(deletion: Deletion, world: EraseWorld): Promise<boolean | Fault | null> {
  const { deletions, rejections } = world;
  const userIds = deletions.people(deletion.id);
  if (userIds.length === 0) return true;
  rejections.forget(userIds, deletion.scope);
  const erased = await eraseEvents(deletion, userIds, world);
  return erased === true ? deletions.forgetPeople(deletion) : erased;
}

export type TracesWorld = {
  readonly deletions: Pick<StoredDeletions, "rewrite" | "scrub">;
  readonly signal: AbortSignal;
};

/** Removes the traces of what was erased from the store's files. */
export type Traces = {
  /** Answers whether none is left of these requests; false if a reader of the files keeps it from that, null if the daemon stops. */
  remove(requests: readonly string[], world: TracesWorld): Promise<boolean | Fault | null>;
};

export function createTraces(): Traces {
  // For which only a reader is waited for: nothing is written again for them.
  let rewritten: ReadonlySet<string> = new Set();
  return {
    async remove(requests, { deletions, signal }) {
      if (requests.some((id) => !rewritten.has(id))) {
        const done = await deletions.rewrite(signal);
        if (done !== true) return done;
        rewritten = new Set(requests);
      }
      return deletions.scrub();
    },
  };
}

async function eraseEvents(
  deletion: Deletion,
  userIds: readonly string[],
  { deletions, clock, signal }: EraseWorld,
): Promise<boolean | Fault | null> {
  const of = { users: new Set(userIds), sources: deletion.scope, upTo: deletion.upTo };
  let after: WalkCursor | null = null;
  let busy = false;
  do {
    if (signal.aborted) return null;
    const step = await deletions.erase(deletion, of, after);
    if ("code" in step) return step;
    busy ||= step.busy;
    after = step.next;
    await clock.nextTurn();
  } while (after !== null);
  return !busy;
}
