import type { Deletion, StoredDeletions, Unnoticed } from "../model/deletion.ts";
import { type Fault, isFault } from "../model/fault.ts";
import type { Accept, Extra } from "../model/ports.ts";
import { makeNotice } from "./notice.ts";
import { holdersOf, type ReachWorld } from "./reach.ts";
import { type Held, holdWaiting, type WithdrawWorld } from "./withdraw.ts";

export type AnnounceWorld = Omit<WithdrawWorld, "deletions"> &
  ReachWorld & {
    readonly accept: Accept;
    readonly deletions: WithdrawWorld["deletions"] & Pick<StoredDeletions, "unnoticed">;
  };

/** Notifications in one commit. */
const IN_COMMIT = 20;

/**
 * Makes the notifications of a request, one for each user and affected source; with each, what waits of that user and source
 * ends. Those that were made before a crash are not made again. Answers whether all are made; null if the daemon stops.
 */
export async function announce(deletion: Deletion, world: AnnounceWorld): Promise<true | Fault | null> {
  const held = await holdWaiting(deletion, world);
  if (held === null || isFault(held)) return held;
  for (const source of deletion.sources) {
    const refused = await announceFrom(source, { deletion, held }, world);
    if (refused !== true) return refused;
  }
  for (const withdrawal of held.rest()) {
    const ended = await world.withdraw(withdrawal);
    if (typeof ended !== "number") return ended;
  }
  return true;
}

type Announcing = { readonly deletion: Deletion; readonly held: Held };

async function announceFrom(source: string, of: Announcing, world: AnnounceWorld): Promise<true | Fault | null> {
  const { accept, deletions, signal } = world;
  const { deletion, held } = of;
  for (;;) {
    if (signal.aborted) return null;
    const users = deletions.unnoticed({ id: deletion.id, source }, IN_COMMIT);
    if (users.length === 0) return true;
    const events = users.map((user) => makeNotice(user, source, deletion));
    const alsoTo = holdersOf(source, world);
    const extras = users.map((user) => ({ ...extraOf(user, source, { deletion, held }), alsoTo }));
    const receipts = await accept(source, events, extras);
    if (isFault(receipts)) return receipts;
  }
}

function extraOf({ nth, userId }: Unnoticed, source: string, { deletion, held }: Announcing): Extra {
  const notice = { deletion: deletion.id, nth };
  const withdraws = held.take(source, userId);
  return withdraws ? { notice, withdraws } : { notice };
}
