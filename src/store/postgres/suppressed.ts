import type { DeliveryKey } from "../../model/delivery.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { isErased, previousIn } from "../erasing.ts";
import { createUserHash, type UserHash } from "../user-hash.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept } from "./kept.ts";

/** Users whose calls are refused, by their hash, in the memory of each daemon. */
export type Suppression = {
  /** Whether calls about any of these users from this source are refused. An undefined id is nobody. */
  refuses(userIds: readonly (string | undefined)[], source: string): boolean;
  /**
   * Refuses calls about these users from now on. Other daemons refuse them when they read the news, and this one when
   * `committed` is called with the answer.
   */
  add(tx: Tx, those: Suppressed): Promise<readonly Row[]>;
  committed(added: readonly Row[]): void;
  /** Accepts calls about these users again. Answers how many of them were suppressed. */
  lift(userIds: readonly string[]): Promise<number | Fault>;
  /** Loads all of them, where the news do not go back far enough. */
  load(): Promise<void>;
};

/** `sources` null: from all. */
type Suppressed = {
  readonly userIds: readonly string[];
  readonly sources: readonly string[] | null;
  readonly since: At;
};

type Row = { readonly hash: string; readonly source: string };

/** Stands for all sources: none has an empty name. */
const ALL = "";
/** Rows in one query. */
const PAGE = 10_000;

type SuppressionParts = Pick<Engine, "db" | "news" | "write"> & { readonly hash: UserHash };

/** The news must be open before: what is announced from then on is read later. */
export async function openSuppression({ db, news, write, hash }: SuppressionParts): Promise<Suppression> {
  let kept = new Map<string, Set<string>>();
  /** How often this daemon has changed them. */
  let changes = 0;
  news.on("suppressed", (hashes) => hear(hashes as readonly string[]));
  await load();

  return {
    refuses(userIds, source) {
      if (kept.size === 0) return false;
      return userIds.some((userId) => {
        const sources = userId === undefined ? undefined : kept.get(hash.of(userId));
        return sources !== undefined && (sources.has(ALL) || sources.has(source));
      });
    },
    async add(tx, { userIds, sources, since }) {
      const hashes = [...new Set(userIds.map(hash.of))];
      await tx.query(ADD, [hashes, sources ?? [ALL], since]);
      await news.announce(tx, "suppressed", hashes);
      return hashes.flatMap((one) => (sources ?? [ALL]).map((source) => ({ hash: one, source })));
    },
    committed(added) {
      changes += 1;
      keep(kept, added);
    },
    async lift(userIds) {
      const lifted = await write("accept calls of users again", async (tx) => {
        const rows = await tx.query<Pick<Row, "hash">>(LIFT, [userIds.map(hash.of)]);
        const hashes = [...new Set(rows.map((row) => row.hash))];
        if (hashes.length > 0) await news.announce(tx, "suppressed", hashes);
        return hashes;
      });
      if (isFault(lifted)) return lifted;
      changes += 1;
      for (const one of lifted) kept.delete(one);
      return lifted.length;
    },
    load,
  };

  async function load(): Promise<void> {
    kept = await readUnchanged(() => loadAll(db));
  }

  /** Another daemon has changed what is known of these hashes. */
  async function hear(hashes: readonly string[]): Promise<void> {
    const rows = await readUnchanged(() => db.query<Row>(OF_HASHES, [hashes]));
    for (const one of hashes) kept.delete(one);
    keep(kept, rows);
  }

  /** Reads again if this daemon has changed something meanwhile: what was read may be older. */
  async function readUnchanged<T>(read: () => Promise<T>): Promise<T> {
    for (;;) {
      const before = changes;
      const found = await read();
      if (before === changes) return found;
    }
  }
}

const ADD = `
  INSERT INTO suppressed
  SELECT hash, source, $3::bigint FROM unnest($1::text[]) h (hash) CROSS JOIN unnest($2::text[]) s (source)
  ORDER BY hash COLLATE "C", source COLLATE "C" ON CONFLICT DO NOTHING`;
const LIFT = "DELETE FROM suppressed WHERE hash = ANY ($1) RETURNING hash";
const OF_HASHES = "SELECT hash, source FROM suppressed WHERE hash = ANY ($1)";
const AFTER = "SELECT hash, source FROM suppressed WHERE (hash, source) > ($1, $2) ORDER BY hash, source LIMIT $3";

async function loadAll(sql: Sql): Promise<Map<string, Set<string>>> {
  const all = new Map<string, Set<string>>();
  let last: Row = { hash: "", source: "" };
  for (;;) {
    const rows = await sql.query<Row>(AFTER, [last.hash, last.source, PAGE]);
    keep(all, rows);
    last = rows.at(-1) ?? last;
    if (rows.length < PAGE) return all;
  }
}

function keep(kept: Map<string, Set<string>>, rows: readonly Row[]): void {
  for (const { hash, source } of rows) kept.set(hash, (kept.get(hash) ?? new Set()).add(source));
}

export async function readUserHash(sql: Sql): Promise<UserHash> {
  const [secrets] = await sql.query<{ salt: string }>("SELECT salt FROM secrets");
  return createUserHash(secrets?.salt ?? "");
}

type Whose = DeliveryKey & Pick<ListedDelivery, "source" | "type" | "messageId" | "userId">;

/**
 * Whether a delivery must not be sent again, because its user was deleted after the event came, or the event was erased.
 */
export type IsForgotten = (sql: Sql, delivery: Whose) => Promise<boolean>;

export function createIsForgotten(hash: UserHash): IsForgotten {
  return async function isForgotten(sql, delivery) {
    const { id, source, type, messageId, userId } = delivery;
    if (isErased(messageId)) return true;
    // A notice tells the receivers of the deletion, so it may be sent again.
    if (type === "delete") return false;
    const previous = type === "alias" ? previousIn(await createKept(sql).body(delivery)) : null;
    const people = [userId, previous].filter((one) => one !== null);
    if (people.length === 0) return false;
    const scopes = await sql.query<{ scope: string | null }>(
      `SELECT d.scope FROM deletion_users u JOIN deletions d ON d.id = u.deletion
       WHERE u.hash = ANY ($1) AND d.up_to >= $2`,
      [people.map(hash.of), id],
    );
    return scopes.some(({ scope }) => scope === null || (JSON.parse(scope) as readonly string[]).includes(source));
  };
}
