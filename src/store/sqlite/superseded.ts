import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import { type Call, type CallHash, callOf, createCallHash, looksLikeCall } from "../superseded.ts";
import type { Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Tables } from "./tables.ts";

/** Tells which calls of audiences and traits have a newer call about their user, whatever their state. */
type Superseding = {
  isSuperseded(delivery: ListedDelivery): boolean;
  /**
   * The call is sent again. If its user has left, the store no longer knows the user: the call is noted as the last
   * one, so that the next call supersedes it.
   */
  keep(tx: Tx, delivery: ListedDelivery): void;
};

export function createSuperseding(db: Database, { kept, callHash }: Tables): Superseding {
  const findLast = db.prepare<[string, string, string], { event: number | null }>(
    `SELECT m.event FROM computations c CROSS JOIN members m ON m.computation = c.number
     WHERE c.source = ? AND c.key = ? AND m.user = ?`,
  );
  const findNumber = db
    .prepare<[string, string], number>("SELECT number FROM computations WHERE source = ? AND key = ?")
    .pluck();
  const insertRemoved = db
    .prepare<[string, string, string, string, string, At, At], number>(
      `INSERT INTO computations (id, source, class, name, key, size, created_at, removed_at)
       VALUES (?, ?, ?, ?, ?, 0, ?, ?) RETURNING number`,
    )
    .pluck();
  const insertMember = db.prepare<[number, string, number]>("INSERT INTO members VALUES (?, ?, NULL, ?)");

  return {
    isSuperseded(one) {
      if (one.state === "failed" && one.reason === SUPERSEDED) return true;
      const call = callFor(one);
      if (call === null) return false;
      const last = findLast.get(one.source, call.key, call.user);
      // A user without a row has left: a newer call has said so, unless it is this one.
      return last ? last.event !== one.id : !call.isGone;
    },
    keep({ now }, one) {
      const call = callFor(one);
      if (call === null || findLast.get(one.source, call.key, call.user)) return;
      const { id, kind, name, key, user } = call;
      const number = findNumber.get(one.source, key) ?? insertRemoved.get(id, one.source, kind, name, key, now, now);
      if (number !== undefined) insertMember.run(number, user, one.id);
    },
  };

  function callFor(one: ListedDelivery): Call | null {
    return looksLikeCall(one, callHash) ? callOf(one, kept.body(one)) : null;
  }
}

export function readCallHash(db: Database): CallHash {
  return createCallHash(db.prepare<[], string>("SELECT value FROM call_key").pluck().get() ?? "");
}
