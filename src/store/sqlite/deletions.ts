import type {
  DeletedUser,
  Deletion,
  DeletionStage,
  DeletionsAsk,
  NewDeletion,
  StoredDeletions,
  Suppressed,
} from "../../model/deletion.ts";
import type { Fault } from "../../model/fault.ts";
import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Room } from "../room.ts";
import type { Segments } from "./append.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { createErase, createReadWaitingOf, type EraseParts } from "./erase.ts";
import type { Notices } from "./notices.ts";
import type { Size } from "./prune.ts";
import { createRewrite, createScrub } from "./rewrite.ts";
import type { ForgetMembers } from "./superseded.ts";
import { fromStoredId, type Suppression, toStoredId, type UserHash } from "./suppressed.ts";

type DeletionsWorld = EraseParts & {
  readonly clock: Pick<Clock, "now" | "sleep" | "nextTurn">;
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly size: Pick<Size, "borrow" | "repaid">;
  readonly segments: Pick<Segments, "nextNumber">;
  readonly notices: Notices;
  readonly forgetMembers: ForgetMembers;
  readonly userHash: UserHash;
  readonly suppression: Suppression;
  readonly failed: (error: unknown) => Fault;
  readonly report: Pick<Report, "storeFailed">;
};

type Parts = DeletionsWorld & { readonly rows: DeletionRows };

/** What the store knows of requests that users be deleted, and does for them. */
export function createStoredDeletions(db: Database, world: DeletionsWorld): StoredDeletions {
  const rows = createDeletionRows(db, world.userHash);
  const parts: Parts = { ...world, rows };
  return {
    ...createReads(parts),
    ...createErasing(db, parts),
    record: (request) => record(request, parts),
    waiting: createReadWaitingOf(world),
    async check(id) {
      const refused = await world.notices.check(id);
      return refused ?? { ...found(id, rows), closed: !world.notices.areOpen(id) };
    },
    advance: (id, to) => change(id, (tx) => rows.advance(tx, { id, ...to }), parts),
    force: (id) => change(id, (tx) => rows.force(tx, id), parts),
    rewrite: createRewrite(db, world),
    scrub: createScrub(db, world),
    suppressed: createSuppressedPort(world),
  };
}

function createSuppressedPort({ suppression, commits, failed }: DeletionsWorld): Suppressed {
  return {
    among: async (userIds, source) => new Set(userIds.filter((userId) => suppression.refuses([userId], source))),
    lift(userIds) {
      const run = (tx: Tx): number => suppression.lift(tx, userIds);
      return commits.add<number | Fault>({ rows: userIds.length, run, failed });
    },
  };
}

function createReads({ rows, userHash, suppression, notices }: Parts) {
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

function createErasing(db: Database, parts: Parts): Pick<StoredDeletions, "erase" | "forgetPeople"> {
  const { rows, notices, commits, failed } = parts;
  const eraseRows = createErase(db, parts);
  return {
    erase({ id }, of, after) {
      const run = (tx: Tx) => {
        const { next, busy, ...counts } = eraseRows(tx, { of, prefix: noticePrefix(id) }, after);
        if (counts.events + counts.deliveries > 0) rows.countErased(tx, id, counts);
        return { next, busy };
      };
      return commits.add<ReturnType<typeof run> | Fault>({ rows: ROWS_OF_STEP, run, failed });
    },
    forgetPeople(deletion) {
      const run = (tx: Tx): boolean => {
        if (rows.isNeeded(deletion.id)) return false;
        notices.close(tx, deletion.id);
        rows.forgetPeople(tx, deletion);
        return true;
      };
      return commits.add<boolean | Fault>({ rows: deletion.users, run, failed });
    },
  };
}

/** A step rewrites a few segments, or removes some hundred rows. */
const ROWS_OF_STEP = 1_000;

/** The messageIds of a request's notices begin like this (`deletion/notice.ts`). */
function noticePrefix(id: string): string {
  return id.replace(/^del-/, "delete-");
}

/**
 * One commit holds the request, the suppression of its users and the end of their memberships. A call that was accepted
 * before it has a number up to `upTo`; a call behind it is refused; a request that is refused has changed nothing.
 */
async function record(request: NewDeletion, parts: Parts): Promise<Deletion | Fault> {
  const { rows, segments, room, commits, suppression, forgetMembers, failed } = parts;
  const refusal = room.refusal();
  if (refusal) return refusal;
  const run = (tx: Tx): Deletion | Fault => {
    rows.insert(tx, request, segments.nextNumber() - 1);
    if (request.suppress) suppression.add(tx, { ...request, since: request.requestedAt });
    forgetMembers(tx, request.userIds, request.sources);
    return found(request.id, rows);
  };
  return commits.add<Deletion | Fault>({ rows: request.userIds.length, run, failed });
}

function change(id: string, write: (tx: Tx) => void, { rows, commits, failed }: Parts): Promise<Deletion | Fault> {
  const run = (tx: Tx): Deletion | Fault => {
    write(tx);
    return found(id, rows);
  };
  return commits.add<Deletion | Fault>({ rows: 1, run, failed });
}

function found(id: string, rows: DeletionRows): Deletion {
  const deletion = rows.find(id);
  if (deletion === null) throw new Error(`there is no deletion ${id}`);
  return deletion;
}

type DeletionRow = Pick<Deletion, "id" | "status" | "stage" | "requestedAt" | "endedAt" | "users" | "upTo"> & {
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

type DeletionRows = ReturnType<typeof createDeletionRows>;

/** The rows of requests and their users. */
function createDeletionRows(db: Database, hash: UserHash) {
  const sql = prepare(db);
  return {
    insert(_tx: Tx, { userIds, sources, affected, untold, ...request }: NewDeletion, upTo: number): void {
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
    advance(_tx: Tx, { id, status, stage, endedAt }: Pick<Deletion, "id" | "status" | "stage" | "endedAt">): void {
      sql.advance.run(status, stage, endedAt, id);
    },
    force: (_tx: Tx, id: string): void => void sql.force.run(id),
    countErased(
      _tx: Tx,
      id: string,
      { events, deliveries }: { readonly events: number; readonly deliveries: number },
    ): void {
      const before = fromRow(sql.find.get(id))?.erased ?? { events: 0, deliveries: 0 };
      const sum = { events: before.events + events, deliveries: before.deliveries + deliveries };
      sql.saveErased.run(JSON.stringify(sum), id);
    },
    /** Nobody knows any more who they were; others that had them too lose them if they had all sources. */
    forgetPeople(_tx: Tx, { id, scope }: Pick<Deletion, "id" | "scope">): void {
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
