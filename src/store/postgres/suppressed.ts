import type { DeliveryKey } from "../../model/delivery.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import type { ListedDelivery } from "../../model/lookup.ts";
import type { At } from "../../model/units.ts";
import { isErased, previousIn } from "../erasing.ts";
import { createUserHash, type UserHash } from "../user-hash.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept } from "./kept.ts";
import { createTurns } from "./turns.ts";

/** Users whose calls are refused, by their hash, in the memory of each daemon. */
export type Suppression = {
  /** Whether calls about any of these users from this source are refused. An undefined id is nobody. */
  refuses(userIds: readonly (string | undefined)[], source: string): boolean;
  /**
   * Refuses calls about these users from now on. Other daemons refuse them when they read the news, and this one once
   * `committed` was called with the answer.
   */
  add(tx: Tx, those: Suppressed): Promise<readonly Row[]>;
  committed(added: readonly Row[]): Promise<void>;
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

type SuppressionParts = Pick<Engine, "db" | "news" | "write" | "report"> & { readonly hash: UserHash };

/** The news must be open before: what is announced from then on is read later. */
export async function openSuppression({ db, news, write, report, hash }: SuppressionParts): Promise<Suppression> {
  // Each read finds what the one before has found, or something newer.
  const inTurn = createTurns();
  let known = createKnown();
  news.on("suppressed", (hashes) => readAgain(hashes as readonly string[]), { own: true, missed: load });
  await load();

  return {
    refuses: (userIds, source) =>
      !known.isEmpty() && userIds.some((userId) => userId !== undefined && known.has(hash.of(userId), source)),
    async add(tx, { userIds, sources, since }) {
      const hashes = [...new Set(userIds.map(hash.of))];
      await tx.query(ADD, [hashes, sources ?? [ALL], since]);
      await news.announce(tx, "suppressed", hashes);
      return hashes.flatMap((one) => (sources ?? [ALL]).map((source) => ({ hash: one, source })));
    },
    async committed(added) {
      const hashes = [...new Set(added.map((row) => row.hash))];
      if (hashes.length > 0) await readOr(hashes, () => known.add(added));
    },
    async lift(userIds) {
      const lifted = await write("accept calls of users again", async (tx) => {
        const rows = await tx.query<Pick<Row, "hash">>(LIFT, [userIds.map(hash.of)]);
        const hashes = [...new Set(rows.map((row) => row.hash))];
        if (hashes.length > 0) await news.announce(tx, "suppressed", hashes);
        return hashes;
      });
      if (isFault(lifted)) return lifted;
      await readOr(lifted, () => known.remove(lifted));
      return lifted.length;
    },
    load,
  };

  function load(): Promise<void> {
    return inTurn(async () => {
      known = await loadAll(db);
    });
  }

  /** What is known of these hashes has changed. */
  function readAgain(hashes: readonly string[]): Promise<void> {
    return inTurn(async () => {
      const rows = await db.query<Row>(OF_HASHES, [hashes]);
      known.remove(hashes);
      known.add(rows);
    });
  }

  /** What is committed counts, also if it cannot be read. */
  async function readOr(hashes: readonly string[], assume: () => void): Promise<void> {
    await readAgain(hashes).catch((error: unknown) => {
      report.storeFailed("read the suppressed users", error);
      assume();
    });
  }
}

type Known = ReturnType<typeof createKnown>;

/** The sources by hash. */
function createKnown() {
  const kept = new Map<string, Set<string>>();
  return {
    isEmpty: () => kept.size === 0,
    has(hash: string, source: string): boolean {
      const sources = kept.get(hash);
      return sources !== undefined && (sources.has(ALL) || sources.has(source));
    },
    add(rows: readonly Row[]): void {
      for (const { hash, source } of rows) kept.set(hash, (kept.get(hash) ?? new Set()).add(source));
    },
    remove(hashes: readonly string[]): void {
      for (const one of hashes) kept.delete(one);
    },
  };
}

const ADD = `
  INSERT INTO suppressed
  SELECT hash, source, $3::bigint FROM unnest($1::text[]) h (hash) CROSS JOIN unnest($2::text[]) s (source)
  ORDER BY hash COLLATE "C", source COLLATE "C" ON CONFLICT DO NOTHING`;
const LIFT = "DELETE FROM suppressed WHERE hash = ANY ($1) RETURNING hash";
const OF_HASHES = "SELECT hash, source FROM suppressed WHERE hash = ANY ($1)";
const AFTER = "SELECT hash, source FROM suppressed WHERE (hash, source) > ($1, $2) ORDER BY hash, source LIMIT $3";

async function loadAll(sql: Sql): Promise<Known> {
  const all = createKnown();
  let last: Row = { hash: "", source: "" };
  for (;;) {
    const rows = await sql.query<Row>(AFTER, [last.hash, last.source, PAGE]);
    all.add(rows);
    last = rows.at(-1) ?? last;
    if (rows.length < PAGE) return all;
  }
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
