import type { ComputationClass } from "../../model/audience.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import { type Call, type CallHash, callOf, createCallHash, looksLikeCall } from "../superseded.ts";
import type { Sql, Tx } from "./database.ts";
import { createKept } from "./kept.ts";
import { lockComputations, lockOrInsert } from "./syncs.ts";
import { toStored } from "./text.ts";

/** Tells which calls of audiences and traits have a newer call about their user, whatever their state. */
export type Superseding = {
  /** Nothing newer comes about the users of these deliveries until the transaction ends. */
  lock(tx: Tx, deliveries: readonly ListedDelivery[]): Promise<void>;
  isSuperseded(sql: Sql, delivery: ListedDelivery): Promise<boolean>;
  /**
   * The call is sent again. If its user has left, the store no longer knows the user: the call is noted as the last
   * one, so that the next call supersedes it.
   */
  keep(tx: Tx, delivery: ListedDelivery): Promise<void>;
};

export function createSuperseding(callHash: CallHash): Superseding {
  return {
    async lock(tx, deliveries) {
      const calls = deliveries.filter((one) => looksLikeCall(one, callHash));
      if (calls.length > 0) await lockComputations(tx, { sources: calls.map(({ source }) => source) });
    },
    async isSuperseded(sql, one) {
      if (one.state === "failed" && one.reason === SUPERSEDED) return true;
      const call = await callFor(sql, one);
      if (call === null) return false;
      const [last] = await sql.query<{ event: number | null }>(LAST, [one.source, call.key, toStored(call.user)]);
      // A user without a row has left: a newer call has said so, unless it is this one.
      return last ? last.event !== one.id : !call.isGone;
    },
    async keep(tx, one) {
      const call = await callFor(tx, one);
      if (call === null) return;
      const computation = await lockOrInsert(tx, { ...call, source: one.source, class: call.kind as ComputationClass });
      await tx.query("INSERT INTO members VALUES ($1, $2, NULL, $3) ON CONFLICT DO NOTHING", [
        computation,
        toStored(call.user),
        one.id,
      ]);
    },
  };

  async function callFor(sql: Sql, one: ListedDelivery): Promise<Call | null> {
    return looksLikeCall(one, callHash) ? callOf(one, await createKept(sql).body(one)) : null;
  }
}

const LAST = `SELECT m.event FROM computations c JOIN members m ON m.computation = c.number
  WHERE c.source = $1 AND c.key = $2 AND m."user" = $3`;

export async function readCallHash(sql: Sql): Promise<CallHash> {
  const [row] = await sql.query<{ key: string }>("SELECT call_key AS key FROM secrets");
  return createCallHash(row?.key ?? "");
}
