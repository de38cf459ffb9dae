import type { Deletion, StoredDeletions, WalkCursor } from "../model/deletion.ts";
import type { Fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import type { ForgetRejections } from "../model/refusal.ts";

export type EraseWorld = {
  readonly deletions: Pick<StoredDeletions, "people" | "erase" | "forgetPeople" | "scrub">;
  readonly rejections: { readonly forget: ForgetRejections };
  readonly clock: Pick<Clock, "nextTurn">;
  readonly signal: AbortSignal;
};

/**
 * Removes what is kept of the users of a request here: events and attempts, refused calls, and last of all who they were.
 * Their memberships went with the request itself: those that there are now, a later list has made. Answers whether nothing
 * is left; false if something is that has to be waited for, null if the daemon stops.
 */
export async function erase(deletion: Deletion, world: EraseWorld): Promise<boolean | Fault | null> {
  const { deletions, rejections } = world;
  const userIds = deletions.people(deletion.id);
  if (userIds.length > 0) {
    rejections.forget(userIds, deletion.scope);
    const erased = await eraseEvents(deletion, userIds, world);
    if (erased !== true) return erased;
    const forgotten = await deletions.forgetPeople(deletion);
    if (forgotten !== true) return forgotten;
  }
  return deletions.scrub();
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
