import type {
  DeletedUser,
  Deletion,
  DeletionStage,
  DeletionsAsk,
  ErasedCount,
  NewDeletion,
  StoredDeletions,
} from "../../model/deletion.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import { DELETION, DELETIONS_IN_PAGE, type DeletionRow, fromDeletionRow } from "../deletion-row.ts";
import { noticePrefix } from "../erasing.ts";
import type { Room } from "../room.ts";
import type { UserHash } from "../user-hash.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createErase, createReadWaitingOf } from "./erase.ts";
import type { Forgetting } from "./members.ts";
import type { Notices } from "./notices.ts";
import { createScrub } from "./scrub.ts";
import type { Suppression } from "./suppressed.ts";
import { fromStored, toStored } from "./text.ts";

export type DeletionsParts = {
  readonly engine: Engine;
  readonly hash: UserHash;
  readonly suppression: Suppression;
  readonly notices: Notices;
  readonly room: Pick<Room, "refusal">;
  readonly forgetting: Forgetting;
  /** Statements that may take minutes. */
  readonly maintenance: Sql;
};

/**
 * Requests that users be deleted, and what the store does for them. Any daemon takes a request, and the one that does the work
 * of all carries it out. If two believe for a moment that they do, each step can be made twice.
 */
export function createStoredDeletions(parts: DeletionsParts): StoredDeletions {
  const { engine, suppression, notices } = parts;
  const { db, write, news, streams } = engine;
  const eraseStep = createErase(engine);

  return {
    ...createReads(parts),
    record: (request) => record(request, parts),
    waiting: createReadWaitingOf(engine),
    async check(id) {
      const refused = await notices.check(id);
      return refused ?? { ...(await get(db, id)), closed: !(await notices.areOpen(id)) };
    },
    // A stage does not come back: a daemon that was suspended may advance what another one has finished.
    advance: (id, { status, stage, endedAt }) =>
      write("advance a deletion", async (tx) => {
        await tx.query(
          `UPDATE deletions SET status = $2, stage = $3, ended_at = $4
           WHERE id = $1 AND array_position($5::text[], stage) <= array_position($5::text[], $3)`,
          [id, status, stage, endedAt, STAGES],
        );
        return get(tx, id);
      }),
    force: (id) =>
      write("force a deletion", async (tx) => {
        await tx.query("UPDATE deletions SET forced = true WHERE id = $1", [id]);
        if (!streams.leads()) await news.announce(tx, "work");
        return get(tx, id);
      }),
    erase: ({ id }, of, after) =>
      write("erase users", async (tx) => {
        const { next, busy, ...counts } = await eraseStep(tx, { of, prefix: noticePrefix(id) }, after);
        if (counts.events + counts.deliveries > 0) await countErased(tx, id, counts);
        return { next, busy };
      }),
    forgetPeople: (deletion) =>
      write("forget users", async (tx) => {
        if ((await tx.query(NEEDED, [deletion.id])).length > 0) return false;
        await notices.close(tx, deletion.id);
        if (deletion.scope === null) await tx.query(FORGET_ELSEWHERE, [deletion.id]);
        await tx.query("UPDATE deletion_users SET user_id = NULL WHERE deletion = $1", [deletion.id]);
        return true;
      }),
    ...createScrub({ sql: parts.maintenance, report: engine.report }),
    suppressed: {
      among: async (userIds, source) => new Set(userIds.filter((userId) => suppression.refuses([userId], source))),
      lift: suppression.lift,
    },
  };
}

const STAGES: readonly DeletionStage[] = ["notices", "settling", "erasing", "done"];

/** Rows of the same users in other requests. */
const ELSEWHERE = `u.deletion <> $1 AND u.hash IN (SELECT hash FROM deletion_users WHERE deletion = $1)`;

/** Another request is still making notices for one of its users. */
const NEEDED = `
  SELECT FROM deletion_users u JOIN deletions d ON d.id = u.deletion WHERE ${ELSEWHERE} AND d.stage = 'notices' LIMIT 1`;

/** A request that erases has to know its users until it is done, and one that was stored just now until it is notified. */
const FORGET_ELSEWHERE = `
  UPDATE deletion_users u SET user_id = NULL FROM deletions d
  WHERE d.id = u.deletion AND ${ELSEWHERE} AND d.stage <> 'notices' AND (NOT d.erase OR d.stage = 'done')`;

/** Only one daemon gets requests to carry out. */
function createReads({ engine, hash, notices }: DeletionsParts) {
  const { db, streams } = engine;
  return {
    async unfinished(stage, after) {
      if (!streams.leads()) return [];
      const rows = await db.query<DeletionRow>(
        `SELECT ${DELETION} FROM deletions WHERE stage = $1 AND id > $2 ORDER BY id LIMIT $3`,
        [stage, after, DELETIONS_IN_PAGE],
      );
      return rows.flatMap((row) => fromDeletionRow(row) ?? []);
    },
    async page(ask) {
      const deletions = await readPage(db, ask, hash);
      const last = deletions.length < ask.limit ? undefined : deletions.at(-1);
      return { deletions, cursor: last?.id ?? null };
    },
    async receipt(id) {
      const deletion = await find(db, id);
      if (deletion === null) return null;
      const people = await db.query<DeletedUser>(
        `SELECT nth, user_id AS "userId", hash, EXISTS (SELECT FROM suppressed s WHERE s.hash = u.hash) AS suppressed
         FROM deletion_users u WHERE deletion = $1 ORDER BY nth`,
        [id],
      );
      return { ...deletion, people: people.map((one) => ({ ...one, userId: one.userId && fromStored(one.userId) })) };
    },
    salt: async () => hash.salt,
    unnoticed: notices.unnoticed,
    async people(id) {
      const rows = await db.query<{ userId: string }>(
        `SELECT user_id AS "userId" FROM deletion_users WHERE deletion = $1 AND user_id IS NOT NULL ORDER BY nth`,
        [id],
      );
      return rows.map(({ userId }) => fromStored(userId));
    },
  } satisfies Partial<StoredDeletions>;
}

async function readPage(db: Sql, { limit, cursor, user }: DeletionsAsk, hash: UserHash): Promise<readonly Deletion[]> {
  const below = cursor ?? "~";
  const rows =
    user === null
      ? await db.query<DeletionRow>(`SELECT ${DELETION} FROM deletions WHERE id < $1 ORDER BY id DESC LIMIT $2`, [
          below,
          limit,
        ])
      : await db.query<DeletionRow>(
          `SELECT ${DELETION} FROM deletions
           WHERE id IN (SELECT deletion FROM deletion_users WHERE hash = $3 AND deletion < $1 ORDER BY deletion DESC LIMIT $2)
           ORDER BY id DESC`,
          [below, limit, hash.of(user)],
        );
  return rows.flatMap((row) => fromDeletionRow(row) ?? []);
}

async function find(sql: Sql, id: string): Promise<Deletion | null> {
  const [row] = await sql.query<DeletionRow>(`SELECT ${DELETION} FROM deletions WHERE id = $1`, [id]);
  return fromDeletionRow(row);
}

async function get(sql: Sql, id: string): Promise<Deletion> {
  const deletion = await find(sql, id);
  if (deletion === null) throw new Error(`there is no deletion ${id}`);
  return deletion;
}

/**
 * One commit stores the request, suppresses its users and ends their memberships.
 *
 * A call that was acknowledged before it, by any daemon, has a number up to `upTo`: its segment is committed. The numbers of
 * another daemon may be behind those of this one for as long as that uses a block of them, a second. So a call that arrives
 * there within a second after the request may count as one from before it, and end with the others. Other daemons refuse
 * suppressed users when they read the news: what they accept until then, for two seconds, is newer than the request, and
 * stays.
 */
async function record(request: NewDeletion, parts: DeletionsParts): Promise<Deletion | Fault> {
  const { engine, suppression, forgetting, hash, room } = parts;
  const refusal = room.refusal();
  if (refusal) return refusal;
  const recorded = await engine.write("store a deletion", async (tx) => {
    await insert(tx, request, hash);
    await forgetting.forgetMembers(tx, request.userIds, request.sources);
    const added = request.suppress ? await suppression.add(tx, { ...request, since: request.requestedAt }) : [];
    // The daemon that is asked need not be the one that works on it.
    if (!engine.streams.leads()) await engine.news.announce(tx, "work");
    return { added, deletion: await get(tx, request.id) };
  });
  if (isFault(recorded)) return recorded;
  await suppression.committed(recorded.added);
  if (request.sources === null) forgetting.leaveUploads(request.userIds);
  return recorded.deletion;
}

async function insert(tx: Tx, request: NewDeletion, hash: UserHash): Promise<void> {
  const { id, requestedAt, userIds, sources, affected, untold, erase, suppress } = request;
  await tx.query(
    `INSERT INTO deletions (id, requested_at, status, stage, users, scope, sources, up_to, erase, suppress, untold)
     SELECT $1, $2, 'running', 'notices', $3, $4::json, $5::json, greatest(0,
       (SELECT first + events - 1 FROM segments ORDER BY first DESC LIMIT 1),
       (SELECT event FROM tried ORDER BY event DESC LIMIT 1)
     ), $6, $7, $8::json`,
    [
      ...[id, requestedAt, userIds.length, sources === null ? null : JSON.stringify(sources)],
      ...[JSON.stringify(affected), erase, suppress, JSON.stringify(untold)],
    ],
  );
  await tx.query(
    `INSERT INTO deletion_users
     SELECT $1, nth - 1, user_id, hash FROM unnest($2::text[], $3::text[]) WITH ORDINALITY u (user_id, hash, nth)`,
    [id, userIds.map(toStored), userIds.map(hash.of)],
  );
}

async function countErased(tx: Tx, id: string, { events, deliveries }: ErasedCount): Promise<void> {
  const [row] = await tx.query<{ erased: string | null }>("SELECT erased FROM deletions WHERE id = $1 FOR UPDATE", [
    id,
  ]);
  const before: ErasedCount = JSON.parse(row?.erased ?? "null") ?? { events: 0, deliveries: 0 };
  const sum = { events: before.events + events, deliveries: before.deliveries + deliveries };
  await tx.query("UPDATE deletions SET erased = $2::json WHERE id = $1", [id, JSON.stringify(sum)]);
}
