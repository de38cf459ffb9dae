import type { ComputationClass } from "../../model/audience.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import { type Call, type CallHash, callOf, createCallHash, looksLikeCall } from "../superseded.ts";
import type { Sql, Tx } from "./database.ts";
import { createKept } from "./kept.ts";
import { lockOrInsert } from "./syncs.ts";
import { toStored } from "./text.ts";

/** Tells which calls of audiences and traits are not the newest about their user any more, in whatever state they are. */
export type Superseding = {
  /** In a transaction the answer holds until its end. */
  isSuperseded(sql: Sql, delivery: ListedDelivery): Promise<boolean>;
  /**
   * The call is sent again. If its user has left, the store knows nothing of the user any more: the call is noted as the last
   * one, so that the next call supersedes it.
   */
  keep(tx: Tx, delivery: ListedDelivery): Promise<void>;
};

export function createSuperseding(callHash: CallHash): Superseding {
  return {
    async isSuperseded(sql, one) {
      if (one.state === "failed" && one.reason === SUPERSEDED) return true;
      const call = await callFor(sql, one);
      if (call === null) return false;
      const [found] = await sql.query<{ number: number }>(
        "SELECT number FROM computations WHERE source = $1 AND key = $2 FOR NO KEY UPDATE",
        [one.source, call.key],
      );
      // By itself, as it has to see what the lock has waited for.
      const [last] = await sql.query<{ event: number | null }>(
        'SELECT event FROM members WHERE computation = $1 AND "user" = $2',
        [found?.number ?? 0, toStored(call.user)],
      );
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

export async function readCallHash(sql: Sql): Promise<CallHash> {
  const [row] = await sql.query<{ key: string }>("SELECT call_key AS key FROM secrets");
  return createCallHash(row?.key ?? "");
}
