import type { ListedDelivery } from "../../../model/lookup.ts";
import type { At } from "../../../model/units.ts";
import { SUPERSEDED } from "../../../model/withdrawal.ts";
import type { Database } from "../driver.ts";
import type { DeliveryBodies } from "../open-bodies.ts";
import type { CallHash } from "./call-hash.ts";

type Asked = Pick<
  ListedDelivery,
  "id" | "destination" | "source" | "type" | "messageId" | "userId" | "state" | "reason"
>;

/** Knows which calls of audiences and traits are not the newest about their user any more, whatever became of them. */
export type Superseding = {
  isSuperseded(delivery: Asked): boolean;
  /**
   * Inside a transaction: it is sent again. Of a user who has left nothing is known any more: the call is noted as the last
   * one about them, so that the next one ends it.
   */
  keep(delivery: Asked, now: At): void;
};

/** What a call says, and where. `isGone`: the user is no member, and has no value. */
type Call = { readonly kind: string; readonly name: string; readonly key: string; readonly id: string } & {
  readonly user: string;
  readonly isGone: boolean;
};

export type SupersedingParts = { readonly bodies: Pick<DeliveryBodies, "read">; readonly callHash: CallHash };

export function createSuperseding(db: Database, { bodies, callHash }: SupersedingParts): Superseding {
  const { findLast, findNumber, insertGone, insertMember } = prepare(db);

  return {
    isSuperseded(one) {
      if (one.state === "failed" && one.reason === SUPERSEDED) return true;
      const call = callOf(one);
      if (call === null) return false;
      const last = findLast.get(one.source, call.key, call.user);
      // Whoever is not there has left: a newer call has said so, unless it is this one that does.
      return last ? last.event !== one.id : !call.isGone;
    },
    keep(one, now) {
      const call = callOf(one);
      if (call === null || findLast.get(one.source, call.key, call.user)) return;
      const { id, kind, name, key, user } = call;
      const number = findNumber.get(one.source, key) ?? insertGone.get(id, one.source, kind, name, key, now, now);
      if (number !== undefined) insertMember.run(number, user, one.id);
    },
  };

  /** Null if it is none of ours. */
  function callOf({ id, destination, type, messageId, userId }: Asked): Call | null {
    if (type !== "identify" || userId === null || !callHash.isOf(messageId, userId)) return null;
    const { traits, context } = parse(bodies.read({ id, destination }));
    const { computation_class: kind, computation_key: key, ...personas } = context?.personas ?? {};
    if (kind === undefined || key === undefined || traits === undefined) return null;
    const isGone = traits[key] === (kind === "audience" ? false : null);
    return { kind, key, user: userId, isGone, id: `${personas.computation_id}`, name: `${personas.computation_name}` };
  }
}

type Body = {
  readonly traits?: Readonly<Record<string, unknown>>;
  readonly context?: { readonly personas?: Readonly<Record<string, string>> };
};

/** What is damaged is told by whoever reads it to send it. */
function parse(body: string): Body {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

function prepare(db: Database) {
  return {
    findLast: db.prepare<[string, string, string], { event: number | null }>(
      `SELECT m.event FROM computations c CROSS JOIN members m ON m.computation = c.number
       WHERE c.source = ? AND c.key = ? AND m.user = ?`,
    ),
    findNumber: db
      .prepare<[string, string], number>("SELECT number FROM computations WHERE source = ? AND key = ?")
      .pluck(),
    insertGone: db
      .prepare<[string, string, string, string, string, At, At], number>(
        `INSERT INTO computations (id, source, class, name, key, size, created_at, removed_at)
         VALUES (?, ?, ?, ?, ?, 0, ?, ?) RETURNING number`,
      )
      .pluck(),
    insertMember: db.prepare<[number, string, number]>("INSERT INTO members VALUES (?, ?, NULL, ?)"),
  };
}
