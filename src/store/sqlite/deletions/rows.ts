import type { DeletedUser, Deletion, DeletionStage, DeletionsAsk, NewDeletion } from "../../../model/deletion.ts";
import type { Database } from "../driver.ts";
import { fromStoredId, toStoredId, type UserHash } from "./user-hash.ts";

export type DeletionRow = Pick<Deletion, "id" | "status" | "stage" | "requestedAt" | "endedAt" | "users" | "upTo"> & {
  erase: number;
  suppress: number;
  forced: number;
  scope: string | null;
  sources: string;
  notices: string;
  erased: string | null;
  untold: string;
};

const COLUMNS = `id, status, stage, requested_at AS requestedAt, ended_at AS endedAt, users, scope, sources, up_to AS upTo,
  erase, suppress, forced, notices, erased, untold`;

/** Requests in one answer. */
const PAGE = 100;
/** As many as one request can have. */
const MOST_USERS = 1_000;

export type DeletionRows = ReturnType<typeof createDeletionRows>;

/** The rows of requests and their users. */
export function createDeletionRows(db: Database, hash: UserHash) {
  const sql = prepare(db);
  return {
    /** Inside a transaction. */
    insert({ userIds, sources, affected, untold, ...request }: NewDeletion, upTo: number): void {
      const { id, requestedAt, erase, suppress } = request;
      const flags = [Number(erase), Number(suppress)] as const;
      const scope = sources === null ? null : JSON.stringify(sources);
      sql.insert.run(
        id,
        requestedAt,
        userIds.length,
        scope,
        JSON.stringify(affected),
        upTo,
        ...flags,
        JSON.stringify(untold),
      );
      userIds.forEach((userId, nth) => void sql.insertUser.run(id, nth, toStoredId(userId), hash.of(userId)));
    },
    find: (id: string): Deletion | null => fromRow(sql.find.get(id)),
    unfinished: (stage: DeletionStage, after: string): readonly Deletion[] =>
      sql.unfinished.all(stage, after, PAGE).flatMap((row) => fromRow(row) ?? []),
    page({ limit, cursor, user }: DeletionsAsk): readonly Deletion[] {
      const below = cursor ?? "~";
      const rows = user === null ? sql.page.all(below, limit) : sql.pageOf.all(hash.of(user), below, limit);
      return rows.flatMap((row) => fromRow(row) ?? []);
    },
    users: (id: string): readonly Omit<DeletedUser, "suppressed">[] =>
      sql.users
        .all(id, MOST_USERS)
        .map((one) => ({ ...one, userId: one.userId === null ? null : fromStoredId(one.userId) })),
    /** Inside a transaction. */
    advance({ id, status, stage, endedAt }: Pick<Deletion, "id" | "status" | "stage" | "endedAt">): void {
      sql.advance.run(status, stage, endedAt, id);
    },
    /** Inside a transaction. */
    force: (id: string): void => void sql.force.run(id),
    /** Inside a transaction. */
    countErased(id: string, { events, deliveries }: { readonly events: number; readonly deliveries: number }): void {
      const before = fromRow(sql.find.get(id))?.erased ?? { events: 0, deliveries: 0 };
      const sum = { events: before.events + events, deliveries: before.deliveries + deliveries };
      sql.saveErased.run(JSON.stringify(sum), id);
    },
    /** Inside a transaction: nobody knows any more who they were; others that had them too lose them if they had all sources. */
    forgetPeople({ id, scope }: Pick<Deletion, "id" | "scope">): void {
      if (scope === null) sql.forgetElsewhere.run(id, id);
      sql.forget.run(id);
    },
    /** Whether another request is still making notices for one of its users. */
    isNeeded: (id: string): boolean => sql.needed.get(id, id) !== undefined,
  };
}

function fromRow(row: DeletionRow | undefined): Deletion | null {
  if (!row) return null;
  const { erase, suppress, forced, scope, sources, notices, erased, untold, ...rest } = row;
  return {
    ...rest,
    ...{ erase: erase === 1, suppress: suppress === 1, forced: forced === 1 },
    scope: scope === null ? null : JSON.parse(scope),
    ...{ sources: JSON.parse(sources), notices: JSON.parse(notices), untold: JSON.parse(untold) },
    erased: erased === null ? null : JSON.parse(erased),
  };
}

/** Those of the same user, in other requests. */
const ELSEWHERE = `deletion <> ? AND hash IN (SELECT hash FROM deletion_users WHERE deletion = ?)`;

function prepare(db: Database) {
  return {
    ...prepareReads(db),
    insert: db.prepare<[string, number, number, string | null, string, number, number, number, string]>(
      `INSERT INTO deletions (id, requested_at, status, stage, users, scope, sources, up_to, erase, suppress, untold)
       VALUES (?, ?, 'running', 'notices', ?, ?, ?, ?, ?, ?, ?)`,
    ),
    insertUser: db.prepare<[string, number, string, string]>("INSERT INTO deletion_users VALUES (?, ?, ?, ?)"),
    advance: db.prepare<[string, string, number | null, string]>(
      "UPDATE deletions SET status = ?, stage = ?, ended_at = ? WHERE id = ?",
    ),
    force: db.prepare<[string]>("UPDATE deletions SET forced = 1 WHERE id = ?"),
    saveErased: db.prepare<[string, string]>("UPDATE deletions SET erased = ? WHERE id = ?"),
    forget: db.prepare<[string]>("UPDATE deletion_users SET user_id = NULL WHERE deletion = ?"),
    // One that is to erase them, too, needs to know who they are until it has.
    forgetElsewhere: db.prepare<[string, string]>(
      `UPDATE deletion_users SET user_id = NULL WHERE ${ELSEWHERE} AND deletion IN
         (SELECT id FROM deletions WHERE id = deletion AND (erase = 0 OR stage = 'done'))`,
    ),
  };
}

function prepareReads(db: Database) {
  return {
    find: db.prepare<[string], DeletionRow>(`SELECT ${COLUMNS} FROM deletions WHERE id = ?`),
    unfinished: db.prepare<[string, string, number], DeletionRow>(
      `SELECT ${COLUMNS} FROM deletions WHERE stage = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
    page: db.prepare<[string, number], DeletionRow>(
      `SELECT ${COLUMNS} FROM deletions WHERE id < ? ORDER BY id DESC LIMIT ?`,
    ),
    pageOf: db.prepare<[string, string, number], DeletionRow>(
      `SELECT ${COLUMNS} FROM deletion_users u CROSS JOIN deletions d ON d.id = u.deletion
       WHERE u.hash = ? AND u.deletion < ? ORDER BY u.deletion DESC LIMIT ?`,
    ),
    users: db.prepare<[string, number], Omit<DeletedUser, "suppressed">>(
      "SELECT nth, user_id AS userId, hash FROM deletion_users WHERE deletion = ? ORDER BY nth LIMIT ?",
    ),
    needed: db.prepare<[string, string]>(
      `SELECT 1 FROM deletion_users WHERE ${ELSEWHERE} AND deletion IN
         (SELECT id FROM deletions WHERE id = deletion AND stage = 'notices') LIMIT 1`,
    ),
  };
}
