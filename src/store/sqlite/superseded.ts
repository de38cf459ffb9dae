import { createHmac } from "node:crypto";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import type { Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Tables } from "./tables.ts";

/** Tells which calls of audiences and traits are not the newest about their user any more, in whatever state they are. */
type Superseding = {
  isSuperseded(delivery: ListedDelivery): boolean;
  /**
   * The call is sent again. If its user has left, the store knows nothing of the user any more: the call is noted as the last
   * one, so that the next call supersedes it.
   */
  keep(tx: Tx, delivery: ListedDelivery): void;
};

/** What a call says of a user. `isGone`: the user is no member, or has no value. */
type Call = {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly key: string;
  readonly user: string;
  readonly isGone: boolean;
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
      const call = callOf(one);
      if (call === null) return false;
      const last = findLast.get(one.source, call.key, call.user);
      // A user without a row has left: a newer call has said so, unless it is this one.
      return last ? last.event !== one.id : !call.isGone;
    },
    keep({ now }, one) {
      const call = callOf(one);
      if (call === null || findLast.get(one.source, call.key, call.user)) return;
      const { id, kind, name, key, user } = call;
      const number = findNumber.get(one.source, key) ?? insertRemoved.get(id, one.source, kind, name, key, now, now);
      if (number !== undefined) insertMember.run(number, user, one.id);
    },
  };

  /** Null if it is no call of an audience or trait. */
  function callOf({ id, destination, type, messageId, userId }: ListedDelivery): Call | null {
    if (type !== "identify" || userId === null || !callHash.isOf(messageId, userId)) return null;
    const { traits, context } = parse(kept.body({ id, destination }));
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

/** A damaged body is reported where it is read to be sent. */
function parse(body: string): Body {
  try {
    return JSON.parse(body);
  } catch {
    return {};
  }
}

/** Hexadecimal digits, enough to tell the users of one sync apart. */
const DIGITS = 24;

export type CallHash = {
  /** Always the same for a user of this outbox. Readers of logs and messageIds cannot tell the user from it. */
  of(user: string): string;
  /** Whether a messageId was made for a call about this user. */
  isOf(messageId: string, user: string): boolean;
};

export function createCallHash(db: Database): CallHash {
  const key = db.prepare<[], string>("SELECT value FROM call_key").pluck().get() ?? "";
  const of = (user: string): string => createHmac("sha256", key).update(user).digest("hex").slice(0, DIGITS);
  return {
    of,
    isOf(messageId, user) {
      const [, hash] = /^(?:audience|trait)-[0-9a-f]+-([0-9a-f]+)$/.exec(messageId) ?? [];
      return hash !== undefined && hash === of(user);
    },
  };
}
