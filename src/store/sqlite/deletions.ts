import type {
  DeletedUser,
  Deletion,
  DeletionStage,
  DeletionsAsk,
  ErasedCount,
  NewDeletion,
  StoredDeletions,
} from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { DELETION, DELETIONS_IN_PAGE, type DeletionRow, fromDeletionRow } from "../deletion-row.ts";
import { noticePrefix } from "../erasing.ts";
import type { Room } from "../room.ts";
import type { UserHash } from "../user-hash.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { createErase, createReadWaitingOf } from "./erase.ts";
import type { Notices } from "./notices.ts";
import type { Size } from "./prune.ts";
import { createRewrite, createScrub } from "./rewrite.ts";
import { fromStoredId, toStoredId } from "./suppressed.ts";
import type { Tables } from "./tables.ts";

export type DeletionsParts = {
  readonly tables: Tables;
  readonly clock: Clock;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly notices: Notices;
  readonly report: Pick<Report, "storeFailed">;
};

/** A step of erasing rewrites a few segments, or removes some hundred rows. */
const ROWS_OF_ERASE_STEP = 1_000;

/** Requests that users be deleted, and what the store does for them. */
export function createStoredDeletions(db: Database, parts: DeletionsParts): StoredDeletions {
  const { tables, commits, notices } = parts;
  const { userHash, suppression } = tables;
  const rows = createDeletionRows(db, userHash);
  const eraseStep = createErase(db, parts);

  return {
    ...createReads(rows, parts),
    record: (request) => record(request, rows, parts),
    waiting: createReadWaitingOf(parts),
    async check(id) {
      const refused = await notices.check(id);
      return refused ?? { ...rows.get(id), closed: !notices.areOpen(id) };
    },
    advance: (id, to) => change(id, (tx) => rows.advance(tx, { id, ...to })),
    force: (id) => change(id, (tx) => rows.force(tx, id)),
    erase({ id }, of, after) {
      const run = (tx: Tx) => {
        const { next, busy, ...counts } = eraseStep(tx, { of, prefix: noticePrefix(id) }, after);
        if (counts.events + counts.deliveries > 0) rows.countErased(tx, id, counts);
        return { next, busy };
      };
      return commits.add({ rows: ROWS_OF_ERASE_STEP, run });
    },
    forgetPeople(deletion) {
      const run = (tx: Tx): boolean => {
        if (rows.isNeeded(deletion.id)) return false;
        notices.close(tx, deletion.id);
        rows.forgetPeople(tx, deletion);
        return true;
      };
      return commits.add({ rows: deletion.users, run });
    },
    rewrite: createRewrite(db, parts),
    scrub: createScrub(db, parts),
    suppressed: {
      among: async (userIds, source) => new Set(userIds.filter((userId) => suppression.refuses([userId], source))),
      lift: (userIds) => commits.add({ rows: userIds.length, run: (tx) => suppression.lift(tx, userIds) }),
    },
  };

  function change(id: string, write: (tx: Tx) => void): Promise<Deletion | Fault> {
    const run = (tx: Tx): Deletion => {
      write(tx);
      return rows.get(id);
    };
    return commits.add({ rows: 1, run });
  }
}

function createReads(rows: DeletionRows, { tables, notices }: DeletionsParts) {
  const { userHash, suppression } = tables;
  return {
    unfinished: async (stage, after) => rows.unfinished(stage, after),
    async page(ask) {
      const deletions = rows.page(ask);
      const last = deletions.length < ask.limit ? undefined : deletions.at(-1);
      return { deletions, cursor: last?.id ?? null };
    },
    async receipt(id) {
      const deletion = rows.find(id);
      if (deletion === null) return null;
      const people = rows.users(id).map((one) => ({ ...one, suppressed: suppression.isKnown(one.hash) }));
      return { ...deletion, people };
    },
    salt: async () => userHash.salt,
    unnoticed: async (of, limit) => notices.unnoticed(of, limit),
    people: async (id) => rows.users(id).flatMap(({ userId }) => userId ?? []),
  } satisfies Partial<StoredDeletions>;
}

/**
 * One commit stores the request, suppresses its users and ends their memberships. A call that was accepted before it has a
 * number up to `upTo`, and a later one is refused. If the commit fails, nothing has changed.
 */
async function record(
  request: NewDeletion,
  rows: DeletionRows,
  { tables, commits, room }: DeletionsParts,
): Promise<Deletion | Fault> {
  const { segments, suppression, forgetMembers } = tables;
  const refusal = room.refusal();
  if (refusal) return refusal;
  const run = (tx: Tx): Deletion => {
    rows.insert(tx, request, segments.nextNumber() - 1);
    if (request.suppress) suppression.add(tx, { ...request, since: request.requestedAt });
    forgetMembers(tx, request.userIds, request.sources);
    return rows.get(request.id);
  };
  return commits.add({ rows: request.userIds.length, run });
}

/** Users that one request can have. */
const MOST_USERS = 1_000;

type DeletionRows = ReturnType<typeof createDeletionRows>;

/** The rows of requests and their users. */
function createDeletionRows(db: Database, hash: UserHash) {
  const sql = { ...prepareReads(db), ...prepareWrites(db) };
  const find = (id: string): Deletion | null => fromDeletionRow(sql.find.get(id));

  return {
    find,
    get(id: string): Deletion {
      const deletion = find(id);
      if (deletion === null) throw new Error(`there is no deletion ${id}`);
      return deletion;
    },
    unfinished: (stage: DeletionStage, after: string): readonly Deletion[] =>
      sql.unfinished.all(stage, after, DELETIONS_IN_PAGE).flatMap((row) => fromDeletionRow(row) ?? []),
    page({ limit, cursor, user }: DeletionsAsk): readonly Deletion[] {
      const below = cursor ?? "~";
      const rows = user === null ? sql.page.all(below, limit) : sql.pageOf.all(hash.of(user), below, limit);
      return rows.flatMap((row) => fromDeletionRow(row) ?? []);
    },
    users(id: string): readonly Omit<DeletedUser, "suppressed">[] {
      const rows = sql.users.all(id, MOST_USERS);
      return rows.map((one) => ({ ...one, userId: one.userId === null ? null : fromStoredId(one.userId) }));
    },
    /** Whether another request is still making notices for one of its users. */
    isNeeded: (id: string): boolean => sql.needed.get(id, id) !== undefined,
    insert(_tx: Tx, request: NewDeletion, upTo: number): void {
      const { id, requestedAt, userIds, sources, affected, untold, erase, suppress } = request;
      sql.insert.run(
        id,
        requestedAt,
        userIds.length,
        sources === null ? null : JSON.stringify(sources),
        JSON.stringify(affected),
        upTo,
        Number(erase),
        Number(suppress),
        JSON.stringify(untold),
      );
      userIds.forEach((userId, nth) => void sql.insertUser.run(id, nth, toStoredId(userId), hash.of(userId)));
    },
    advance(_tx: Tx, { id, status, stage, endedAt }: Pick<Deletion, "id" | "status" | "stage" | "endedAt">): void {
      sql.advance.run(status, stage, endedAt, id);
    },
    force: (_tx: Tx, id: string): void => void sql.force.run(id),
    countErased(_tx: Tx, id: string, { events, deliveries }: ErasedCount): void {
      const before = find(id)?.erased ?? { events: 0, deliveries: 0 };
      const sum = { events: before.events + events, deliveries: before.deliveries + deliveries };
      sql.saveErased.run(JSON.stringify(sum), id);
    },
    /** Removes the userIds; from other requests of the same users too, if this one was for all sources. */
    forgetPeople(_tx: Tx, { id, scope }: Deletion): void {
      if (scope === null) sql.forgetElsewhere.run(id, id);
      sql.forget.run(id);
    },
  };
}

/** Rows of the same users in other requests. */
const ELSEWHERE = `deletion <> ? AND hash IN (SELECT hash FROM deletion_users WHERE deletion = ?)`;

function prepareWrites(db: Database) {
  return {
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
    // A request that erases has to know its users until it is done.
    forgetElsewhere: db.prepare<[string, string]>(
      `UPDATE deletion_users SET user_id = NULL WHERE ${ELSEWHERE} AND deletion IN
         (SELECT id FROM deletions WHERE id = deletion AND (erase = 0 OR stage = 'done'))`,
    ),
  };
}

function prepareReads(db: Database) {
  return {
    find: db.prepare<[string], DeletionRow>(`SELECT ${DELETION} FROM deletions WHERE id = ?`),
    unfinished: db.prepare<[string, string, number], DeletionRow>(
      `SELECT ${DELETION} FROM deletions WHERE stage = ? AND id > ? ORDER BY id LIMIT ?`,
    ),
    page: db.prepare<[string, number], DeletionRow>(
      `SELECT ${DELETION} FROM deletions WHERE id < ? ORDER BY id DESC LIMIT ?`,
    ),
    pageOf: db.prepare<[string, string, number], DeletionRow>(
      `SELECT ${DELETION} FROM deletion_users u CROSS JOIN deletions d ON d.id = u.deletion
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
