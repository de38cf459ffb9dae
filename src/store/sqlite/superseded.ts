import { createHmac } from "node:crypto";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/withdrawal.ts";
import type { Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { Kept } from "./kept.ts";
import type { Uploads } from "./uploads.ts";

type Asked = Pick<
  ListedDelivery,
  "id" | "destination" | "source" | "type" | "messageId" | "userId" | "state" | "reason"
>;

/** Knows which calls of audiences and traits are not the newest about their user any more, whatever became of them. */
export type Superseding = {
  isSuperseded(delivery: Asked): boolean;
  /**
   * It is sent again. Of a user who has left nothing is known any more: the call is noted as the last one about them, so that
   * the next one ends it.
   */
  keep(tx: Tx, delivery: Asked): void;
};

/** What a call says, and where. `isGone`: the user is no member, and has no value. */
type Call = { readonly kind: string; readonly name: string; readonly key: string; readonly id: string } & {
  readonly user: string;
  readonly isGone: boolean;
};

type SupersedingParts = { readonly kept: Pick<Kept, "body">; readonly callHash: CallHash };

export function createSuperseding(db: Database, { kept, callHash }: SupersedingParts): Superseding {
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
    keep({ now }, one) {
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

/** How users leave the tables for good. */
type Leaving = {
  /** So many users lose their value. Answers how many did. */
  drop(tx: Tx, computation: number, limit: number): number;
  /** Whether anybody has no value. */
  isUntidy(): boolean;
  /** Forgets so many of those who have no value, if no call about them waits. Answers whether there may be more. */
  sweep(tx: Tx, limit: number): boolean;
};

type Gone = { computation: number; user: string; event: number | null };

/** `waits`: whether anything of an event still waits. */
export function createLeaving(db: Database, waits: (event: number) => boolean): Leaving {
  const first = db.prepare<[number, number], Gone>(
    "SELECT computation, user, event FROM members WHERE computation = ? AND value IS NOT NULL LIMIT ?",
  );
  const clear = db.prepare<[number, string]>("UPDATE members SET value = NULL WHERE computation = ? AND user = ?");
  const remove = db.prepare<[number, string]>("DELETE FROM members WHERE computation = ? AND user = ?");
  const gone = db.prepare<[number], Gone>(
    "SELECT computation, user, event FROM members WHERE value IS NULL ORDER BY computation, event LIMIT ?",
  );

  return {
    drop(_tx, computation, limit) {
      const rows = first.all(computation, limit);
      for (const { user, event } of rows) {
        if (event !== null && waits(event)) clear.run(computation, user);
        else remove.run(computation, user);
      }
      return rows.length;
    },
    isUntidy: () => gone.get(1) !== undefined,
    sweep(_tx, limit) {
      const rows = gone.all(limit);
      const over = rows.filter(({ event }) => event === null || !waits(event));
      for (const { computation, user } of over) remove.run(computation, user);
      // Where a whole page still waits, those behind it were called later, and wait too.
      return rows.length === limit && over.length > 0;
    },
  };
}

/** Forgets all about users in these sources; null: in all. Answers how many values they had. */
export type ForgetMembers = (tx: Tx, users: readonly string[], sources: readonly string[] | null) => number;

type Where = { readonly sources: readonly string[] | null; readonly syncs: readonly number[] };
type Forgotten = { computation: number; value: string | null };

export function createForget(db: Database, uploads: Pick<Uploads, "forget">): ForgetMembers {
  // A lookup for each computation, in one statement.
  const removeAll = db.prepare<[string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations) AND user = ?
     RETURNING computation, value`,
  );
  const removeOf = db.prepare<[string, string], Forgotten>(
    `DELETE FROM members WHERE computation IN (SELECT number FROM computations WHERE source = ?) AND user = ?
     RETURNING computation, value`,
  );
  const shrink = db.prepare<[number]>("UPDATE computations SET size = size - 1 WHERE number = ?");
  // Those that are prepared are of a source that nobody knows yet.
  const unfinished = db.prepare<[], number>("SELECT number FROM syncs WHERE state <> 'finished'").pluck();
  const begunOf = db
    .prepare<[string], number>(
      `SELECT s.number FROM syncs s CROSS JOIN computations c ON c.number = s.computation
       WHERE s.state <> 'finished' AND c.source = ?`,
    )
    .pluck();
  const removeChange = db.prepare<[number, string]>("DELETE FROM changes WHERE sync = ? AND user = ?");
  const count = db.prepare<[number]>("UPDATE syncs SET done = done + 1 WHERE number = ? AND state = 'running'");

  return function forget(tx, users, sources) {
    const syncs = sources?.flatMap((source) => begunOf.all(source)) ?? unfinished.all();
    // No list takes other ids, and the store would find another user under them.
    const named = users.filter((user) => user.isWellFormed());
    return named.reduce((had, user) => had + forgetOne(tx, user, { sources, syncs }), 0);
  };

  function forgetOne(tx: Tx, user: string, { sources, syncs }: Where): number {
    if (sources === null) uploads.forget(tx, user);
    const gone = sources?.flatMap((source) => removeOf.all(source, user)) ?? removeAll.all(user);
    const had = gone.filter(({ value }) => value !== null);
    for (const { computation } of had) shrink.run(computation);
    for (const sync of syncs) if (removeChange.run(sync, user).changes > 0) count.run(sync);
    return had.length;
  }
}

/** What tells users of one sync apart, in hexadecimal digits. */
const DIGITS = 24;

export type CallHash = {
  /** The same for a user as long as the outbox lives, and says nothing of the user to readers of logs and messageIds. */
  of(user: string): string;
  /** Whether a messageId is one that was made for a call about this user. */
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
