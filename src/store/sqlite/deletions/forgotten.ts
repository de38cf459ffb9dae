import type { IsForgotten } from "../../../model/deletion.ts";
import type { Database } from "../driver.ts";
import type { DeliveryBodies } from "../open-bodies.ts";
import { previousIn } from "./theirs.ts";
import type { UserHash } from "./user-hash.ts";
import { isErased } from "./walk.ts";

type Row = { scope: string | null };

/** Tells deliveries that must not be sent again, as their user was deleted after their event had come, or was erased. */
export function createIsForgotten(
  db: Database,
  { hash, bodies }: { readonly hash: UserHash; readonly bodies: Pick<DeliveryBodies, "read"> },
): IsForgotten {
  const any = db.prepare<[]>("SELECT 1 FROM deletions LIMIT 1");
  const find = db.prepare<[string, number], Row>(
    `SELECT d.scope FROM deletion_users u CROSS JOIN deletions d ON d.id = u.deletion
     WHERE u.hash = ? AND d.up_to >= ?`,
  );

  return function isForgotten({ id, destination, source, type, messageId, userId }) {
    if (isErased(messageId)) return true;
    // A notice is what tells the receivers: it may be sent again for as long as it is there.
    if (type === "delete" || any.get() === undefined) return false;
    const people = [userId, type === "alias" ? previousIn(bodies.read({ id, destination })) : null];
    return people.some((one) => one !== null && wasDeleted(one, { id, source }));
  };

  function wasDeleted(userId: string, { id, source }: { readonly id: number; readonly source: string }): boolean {
    return find.all(hash.of(userId), id).some(({ scope }) => scope === null || JSON.parse(scope).includes(source));
  }
}
