// Opens both ends of `fairlead copy-outbox`. Nobody else may have them open.

import { dirname } from "node:path";
import type { Postgres } from "../model/config.ts";
import type { Clock } from "../model/ports.ts";
import { syncFolderOf } from "../runtime/new-file.ts";
import { actAs, dropFile, moveFile, type Owner, realPathOf, storedFile } from "../runtime/stored-file.ts";
import { type Copied, type Copying, copyOutbox, type Source, type Target } from "../store/copying/copy.ts";
import { createPostgresSource, createPostgresTarget, liveDaemon } from "../store/postgres/copying.ts";
import { createDatabase, type Database as Postgresql } from "../store/postgres/database.ts";
import { isLost, OutboxRefused } from "../store/postgres/errors.ts";
import { mayChange, prepareSchema, versionOf } from "../store/postgres/migrate.ts";
import { openPool } from "../store/postgres/pool.ts";
import { Damage } from "../store/segment.ts";
import { createSqliteSource, createSqliteTarget } from "../store/sqlite/copying.ts";
import { type Database, openExisting, withRemedy } from "../store/sqlite/driver.ts";
import { lockOutbox, logOf, openOutbox } from "../store/sqlite/files.ts";
import { SCHEMA_VERSION, schemaOf } from "../store/sqlite/schema.ts";
import { type Complaint, failed } from "./command.ts";
import { isDamaged, lossInLog, messageOf } from "./outbox-file.ts";

export type FilePlace = { readonly kind: "file"; readonly path: string };
/** `url`: to be shown. */
export type DatabasePlace = { readonly kind: "database"; readonly url: string; readonly postgres: Postgres };
export type Place = FilePlace | DatabasePlace;

export type CopyWork = {
  readonly clock: Clock;
  readonly pid: number;
  readonly stepped: (copying: Copying) => void;
  readonly signal: AbortSignal;
};

export type Ends =
  | { readonly way: "out"; readonly from: FilePlace; readonly to: DatabasePlace }
  | { readonly way: "back"; readonly from: DatabasePlace; readonly to: FilePlace };

/** Copies the outbox, or continues to. */
export async function copyBetween(ends: Ends, work: CopyWork): Promise<Copied | Complaint> {
  try {
    return ends.way === "out" ? await copyOut(ends.from, ends.to, work) : await copyBack(ends.from, ends.to, work);
  } catch (error) {
    return { ...failed(messageOf(withRemedy(error))), error: codeOf(error) };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof OutboxRefused) return error.code;
  if (isDamaged(error) || error instanceof Damage) return "store_damaged";
  return isLost(error) ? "database_away" : "failed";
}

function copyOut({ path: named }: FilePlace, to: DatabasePlace, work: CopyWork): Promise<Copied | Complaint> {
  const file = storedFile(named);
  if (file === null || file.size === 0) {
    return Promise.resolve(failed(`there is no outbox at ${named}, or this user may not see it`));
  }
  const path = realPathOf(named);
  return whileLocked(path, { owner: file, work }, async () => {
    const lost = await lossInLog(path);
    if (lost !== null) return refused("store_damaged", `${lost}. A copy would lack them: ${START_FIRST}`);
    const db = await actAs(file, () => openSource(path));
    try {
      return await withDatabase(to, work, async (postgres) => {
        await prepareSchema(postgres);
        const complaint = (await inUse(postgres, to)) ?? (await notOwner(postgres, to));
        return complaint ?? run(createSqliteSource(db, path), createPostgresTarget(postgres, to.url), work);
      });
    } finally {
      db.close();
    }
  });
}

const START_FIRST = "the next start of Fairlead continues with the rest, which can then be copied";

async function openSource(path: string): Promise<Database> {
  const db = await openExisting(path);
  try {
    const schema = schemaOf(db, SCHEMA_VERSION);
    if (schema === SCHEMA_VERSION) return db;
    throw new Error(
      `${path} has schema ${schema}: start Fairlead with it once, which upgrades it to ${SCHEMA_VERSION}`,
    );
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Until it is finished the copy has a name that no daemon opens. */
function copyBack(from: DatabasePlace, { path }: FilePlace, work: CopyWork): Promise<Copied | Complaint> {
  const folder = storedFile(dirname(path));
  if (folder?.kind !== "folder") return Promise.resolve(failed(`there is no folder ${dirname(path)}`));
  const there = [path, logOf(path)].find((name) => (storedFile(name)?.size ?? 0) > 0);
  if (there !== undefined) {
    const message = `there is an outbox already (${there}); name a new file, or move that one away`;
    return Promise.resolve(refused("target_not_empty", message));
  }
  return whileLocked(path, { owner: folder, work }, () =>
    withDatabase(from, work, async (postgres) => {
      if ((await versionOf(postgres)).version === 0) return failed(`there is no outbox at ${from.url}`);
      await prepareSchema(postgres);
      const complaint = await inUse(postgres, from);
      if (complaint) return complaint;
      const unfinished = `${path}.copying`;
      const db = await actAs(folder, () => openOutbox(unfinished));
      const copied = await whileOpen(db, () =>
        run(createPostgresSource(postgres, from.url), createSqliteTarget(db, unfinished), work),
      );
      if (!("code" in copied)) await actAs(folder, async () => giveName(unfinished, path));
      return copied;
    }),
  );
}

/** A finished copy is one file, without a log. */
async function whileOpen(db: Database, use: () => Promise<Copied | Complaint>): Promise<Copied | Complaint> {
  try {
    const copied = await use();
    if (!("code" in copied)) db.pragma("journal_mode = DELETE");
    return copied;
  } finally {
    db.close();
  }
}

function giveName(unfinished: string, path: string): void {
  moveFile(unfinished, path);
  syncFolderOf(path);
}

async function run(source: Source, target: Target, work: CopyWork): Promise<Copied | Complaint> {
  const result = await copyOutbox({ ...work, source, target });
  return "code" in result ? refused(result.code, result.message) : result;
}

type Locking = { readonly owner: Owner; readonly work: CopyWork };

/** Locks a file as a daemon does, and as its user. Locking makes an empty file where there is none. */
async function whileLocked<T>(path: string, { owner, work }: Locking, use: () => Promise<T>): Promise<T | Complaint> {
  let lock: Awaited<ReturnType<typeof lockOutbox>>;
  try {
    lock = await actAs(owner, () => lockOutbox(path, work.pid));
  } catch (error) {
    return refused("outbox_in_use", messageOf(error));
  }
  try {
    return await use();
  } finally {
    if (storedFile(path)?.size === 0) dropFile(path);
    lock.release();
  }
}

type Use<T> = (database: Postgresql) => Promise<T>;

async function withDatabase<T>({ postgres }: DatabasePlace, { clock }: CopyWork, use: Use<T>): Promise<T> {
  // Counting a large outbox takes its time.
  const database = createDatabase(openPool(postgres, { statement: 0 }), clock);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

/** Sequences are set by the owner of the tables alone. */
async function notOwner(postgres: Postgresql, { url }: DatabasePlace): Promise<Complaint | null> {
  if (await mayChange(postgres)) return null;
  const message = `the role of ${url} does not own the tables, and only their owner can fill them; name the owner with --to, as postgres://OWNER@…`;
  return refused("grants_missing", message);
}

async function inUse(postgres: Postgresql, { url }: DatabasePlace): Promise<Complaint | null> {
  const about = await liveDaemon(postgres);
  if (about === null) return null;
  const { host, pid }: { readonly host?: string; readonly pid?: number } = JSON.parse(about);
  const which = host === undefined ? "" : ` (on ${host}, pid ${pid})`;
  return refused("outbox_in_use", `a daemon${which} has ${url} open: stop all daemons, and wait a few seconds`);
}

function refused(error: string, message: string): Complaint {
  return { ...failed(message), error };
}
