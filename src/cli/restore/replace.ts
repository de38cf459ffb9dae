import { dirname } from "node:path";
import process from "node:process";
import type { Contents } from "../../model/contents.ts";
import { formatSize } from "../../model/units.ts";
import { disk } from "../../runtime/disk.ts";
import { reasonOf } from "../../runtime/file-error.ts";
import { beginFile, syncFolderOf } from "../../runtime/new-file.ts";
import {
  actAs,
  dropFile,
  giveTo,
  keepAs,
  linkOwner,
  moveFile,
  realPathOf,
  type StoredFile,
  storedFile,
} from "../../runtime/stored-file.ts";
import { checkCopy, copyPages, damageOfLog, readContents } from "../../store/sqlite/copy.ts";
import { type Database, isDamaged, openExisting, openToRead } from "../../store/sqlite/driver.ts";
import { lockOutbox, logOf } from "../../store/sqlite/files.ts";
import { sizeOf } from "../../store/sqlite/migrate.ts";
import { SCHEMA_VERSION } from "../../store/sqlite/migrations.ts";
import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";

export type RestoreJob = {
  readonly outbox: string;
  readonly from: string;
  /** Whether an outbox that is there may be put aside. */
  readonly force: boolean;
  /** What goes behind the name of the one that was there. */
  readonly suffix: string;
};

export type Restored = {
  readonly bytes: number;
  readonly contents: Contents;
  /** Where the outbox is kept that was there before, or its log, if that was all of it; null if there was none. */
  readonly kept: string | null;
  /** Why the log of that is kept beside it instead of being written into it; null if it was, or there was none. */
  readonly unfolded: string | null;
};

/**
 * Puts a copy in the place of the outbox. The copy is checked first, as it will be used; the outbox is replaced in one
 * moment; and what was there is kept. No daemon may have it open, and none can start meanwhile.
 */
export async function restore(job: RestoreJob): Promise<Restored | Complaint> {
  let source: Database | null = null;
  try {
    const outbox = whereIs(job.outbox);
    const lost = await damageOfLog(job.from, disk);
    if (lost !== null) return failed(`store_damaged: ${job.from} cannot be used: ${lost}. ${USE_IT_ALL_THE_SAME}`);
    // As this user: it may be closed to the daemon's.
    const opened = await openToRead(job.from, storedFile(logOf(job.from)));
    source = opened;
    // With the first look its log is opened, too.
    schemaIn(opened);
    return await actAs(whoseIs(job.outbox, outbox), () =>
      whileLocked(outbox, (before) => replace({ ...job, outbox, source: opened }, before)),
    );
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return failed(isDamaged(error) ? `store_damaged: ${job.from} cannot be used: ${message}` : message);
  } finally {
    source?.close();
  }
}

const USE_IT_ALL_THE_SAME =
  "To go on without them, put it and its -wal in the place of the outbox by hand: the start takes what is left";

/** Whom the folder of the outbox belongs to, or a link to it; root if the outbox is not that user's own. */
function whoseIs(named: string, outbox: string): Owner {
  const link = linkOwner(named);
  if (link !== null && link.uid !== 0) return link;
  const [folder, before] = [storedFile(dirname(outbox)), storedFile(outbox)];
  return folder && (before === null || before.uid === folder.uid) ? folder : { uid: 0, gid: 0 };
}

type Owner = Pick<StoredFile, "uid" | "gid">;

function whereIs(path: string): string {
  try {
    return realPathOf(path);
  } catch (cause) {
    throw new Error(`cannot replace ${path}: ${reasonOf(cause, path)}`, { cause });
  }
}

/** Holds the outbox as a daemon does. `before` is what was there; the lock makes an empty file where nothing was. */
async function whileLocked<T>(outbox: string, run: (before: StoredFile | null) => Promise<T>): Promise<T> {
  const before = storedFile(outbox);
  const folder = storedFile(dirname(outbox));
  const hadLock = storedFile(`${outbox}.lock`) !== null;
  if (linkOwner(`${outbox}.lock`))
    throw new Error(`cannot lock ${outbox}: ${outbox}.lock is a symbolic link; remove it`);
  const lock = await lockOutbox(outbox, process.pid);
  try {
    return await run(before !== null && before.size > 0 ? before : null);
  } finally {
    if (before === null && storedFile(outbox)?.size === 0) dropFile(outbox);
    // Root's would be closed to the daemon.
    if (!hadLock && folder) giveTo(folder, `${outbox}.lock`);
    lock.release();
  }
}

type Replacement = RestoreJob & { readonly source: Database };

async function replace(job: Replacement, before: StoredFile | null): Promise<Restored | Complaint> {
  const { outbox, from, force, source } = job;
  if (before !== null && storedFile(from)?.identity === before.identity) return usage(`${from} is the outbox itself`);
  if (before !== null && !force) return usage(await describeThere(outbox));
  const refusal = unusable(from, source) ?? (await lackOfRoom(outbox, sizeOf(source)));
  if (refusal) return refusal;
  const file = beginFile(outbox);
  try {
    await copyPages(source, file);
    const checked = await checkCopy(file.path, { newest: SCHEMA_VERSION, depth: "full" });
    if ("code" in checked) return failed(`${checked.code}: ${from} cannot be used: ${checked.message}`);
    giveTo(before ?? ownerOfFolder(outbox), file.path);
    const bytes = storedFile(file.path)?.size ?? 0;
    const aside = await putAside(outbox, { before, kept: unused(`${outbox}.${job.suffix}`) });
    file.keep();
    return { bytes, contents: checked.contents, ...aside };
  } finally {
    file.drop();
  }
}

/** Told before all of it is copied. */
function unusable(from: string, source: Database): Complaint | null {
  const schema = schemaIn(source);
  if (schema > SCHEMA_VERSION) {
    const known = `and this Fairlead knows up to ${SCHEMA_VERSION}; restore it with the newer Fairlead that wrote it`;
    return failed(`schema_newer: the schema of ${from} is version ${schema}, ${known}`);
  }
  return readContents(source) ? null : failed(`store_unknown: ${from} is an SQLite file, but no outbox of Fairlead`);
}

function schemaIn(db: Database): number {
  return Number(db.pragma("user_version", { simple: true }));
}

async function lackOfRoom(outbox: string, bytes: number): Promise<Complaint | null> {
  const folder = dirname(outbox);
  const space = await disk.space(folder).catch(() => null);
  if (space === null || space.free >= bytes) return null;
  return failed(
    `no_room: it needs ${formatSize(bytes)}, but ${formatSize(space.free)} are free in ${folder}; make room, or move ` +
      `${outbox} to another disk first`,
  );
}

function ownerOfFolder(outbox: string): Owner {
  return storedFile(dirname(outbox)) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

async function describeThere(outbox: string): Promise<string> {
  const waiting = await waitingIn(outbox);
  const what =
    waiting === null ? "" : `, in which ${waiting === 1 ? "one delivery waits" : `${waiting} deliveries wait`}`;
  return (
    `outbox_exists: there is an outbox at ${outbox}${what}; say --force to put it aside, under another name, and have the ` +
    "copy in its place"
  );
}

/** Null if it cannot be read, which is a reason to restore another. */
async function waitingIn(outbox: string): Promise<number | null> {
  try {
    const db = await openToRead(outbox, storedFile(logOf(outbox)));
    try {
      return readContents(db)?.deliveries.waiting ?? null;
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

/** Two restores may fall into one second. */
function unused(name: string): string {
  let free = name;
  for (let nth = 2; storedFile(free) !== null || storedFile(logOf(free)) !== null; nth += 1) free = `${name}-${nth}`;
  return free;
}

type Aside = { readonly before: StoredFile | null; readonly kept: string };

/** Keeps what is there, with what its last writes have left beside it, under another name, and answers that; null if nothing is. */
async function putAside(outbox: string, { before, kept }: Aside): Promise<Pick<Restored, "kept" | "unfolded">> {
  const why = before === null ? null : await foldLog(outbox);
  if (before !== null) {
    // The outbox keeps its own name as well, until the copy takes that: there is no moment without one.
    keepAs(outbox, kept);
  }
  // A broken one, which could not be folded, or one whose outbox is gone. Left there, it would be taken for the log of the copy.
  const left = ["-wal", "-shm"].filter((end) => storedFile(`${outbox}${end}`) !== null);
  for (const end of left) moveFile(`${outbox}${end}`, `${kept}${end}`);
  syncFolderOf(outbox);
  const log = left.includes("-wal") ? `${kept}-wal` : null;
  return { kept: before === null ? log : kept, unfolded: log && why };
}

/** Writes the log of a daemon that was killed into the outbox, so that it is one file. Answers why it did not. */
async function foldLog(outbox: string): Promise<string | null> {
  // Folded, it would be without what is behind the damage, and nobody could look there any more.
  const lost = await damageOfLog(outbox, disk);
  if (lost !== null) return lost;
  try {
    const db = await openExisting(outbox);
    db.pragma("wal_checkpoint(TRUNCATE)");
    db.close();
    return null;
  } catch (error) {
    // All of its files are kept as they are.
    return error instanceof Error ? error.message : String(error);
  }
}

function failed(message: string): Complaint {
  return { code: EXIT.failed, message };
}

function usage(message: string): Complaint {
  return { code: EXIT.usage, message };
}
