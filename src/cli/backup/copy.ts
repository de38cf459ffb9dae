import { dirname } from "node:path";
import type { Config } from "../../model/config.ts";
import type { Contents } from "../../model/contents.ts";
import type { NewFile } from "../../model/new-file.ts";
import { formatSize, MB } from "../../model/units.ts";
import { disk } from "../../runtime/disk.ts";
import { storedFile } from "../../runtime/stored-file.ts";
import { type Copied, checkCopy, copyPages, countRows, damageOfLog } from "../../store/sqlite/copy.ts";
import { type Database, isDamaged, openExisting, openToRead } from "../../store/sqlite/driver.ts";
import { LARGEST_LOG, logOf } from "../../store/sqlite/files.ts";
import { sizeOf } from "../../store/sqlite/migrate.ts";
import { SCHEMA_VERSION } from "../../store/sqlite/migrations.ts";
import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { copyThrough, type Holder } from "./through-daemon.ts";

export type CopyJob = {
  readonly outbox: Config["outbox"];
  /** Where the copy is to be in the end. */
  readonly target: string;
  /** Begins it, under another name. */
  readonly begin: () => NewFile;
  /** Hears how far it is. */
  readonly stepped: (copied: Copied) => void;
  /** The daemon, if the outbox's file is gone and only it has what is left. */
  readonly holder: Holder | null;
  /** Whether it was given up meanwhile. */
  readonly interrupted: () => boolean;
};

/** A copy that was checked, and has its name. */
export type Backup = { readonly bytes: number; readonly contents: Contents };

/**
 * Copies the outbox, whether a daemon has it open or not, and gives the copy its name once it is known to be good. Answers why
 * there is none.
 */
export async function backUp(job: CopyJob): Promise<Backup | Complaint> {
  const { outbox, holder } = job;
  if (holder !== null) return await copyFromDaemon(holder, job);
  if (storedFile(outbox.path) === null) {
    return failed(`there is no outbox at ${outbox.path}, or this user may not see it; ${NOT_THERE}`);
  }
  let db: Database | null = null;
  try {
    const lost = await damageOfLog(outbox.path, disk);
    if (lost !== null) return failed(`store_damaged: ${lost}. A copy would be without them: ${KEEP_AS_IT_IS}`);
    db = await openToRead(outbox.path, storedFile(logOf(outbox.path)));
    return (await lackOfRoom(job, sizeOf(db))) ?? (await copy(db, job));
  } catch (error) {
    const damaged = isDamaged(error) ? "store_damaged: " : "";
    return failed(`${damaged}cannot back up ${outbox.path}: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    db?.close();
  }
}

const NOT_THERE =
  "it is made by the first start; if it was removed while the daemon runs, say where that is with --admin: it still has it open";

async function copyFromDaemon(holder: Holder, { begin }: CopyJob): Promise<Backup | Complaint> {
  const file = begin();
  try {
    return (await copyThrough(holder, file)) ?? (await keepIfGood(file, null));
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  } finally {
    file.drop();
  }
}

const KEEP_AS_IT_IS =
  "copy the outbox and its -wal as they are, while no daemon runs; the next start goes on with what is left, and it can be backed up then";

/** Also what the daemon has to keep free counts, if the copy is to be on its disk. */
async function lackOfRoom({ outbox, target }: CopyJob, bytes: number): Promise<Complaint | null> {
  const folder = dirname(target);
  const space = await disk.space(folder).catch(() => null);
  if (space === null) return null;
  const isShared = storedFile(folder)?.device === storedFile(outbox.path)?.device;
  const spared = isShared ? outbox.freeDisk : 0;
  if (space.free >= bytes + spared) return null;
  const why = spared > 0 ? `, of which outbox.freeDisk spares ${formatSize(spared)} for the daemon` : "";
  return failed(
    `no_room: the copy needs ${formatSize(bytes)}, but ${formatSize(space.free)} are free in ${folder}${why}; ` +
      "make room, or name a file on another disk",
  );
}

async function copy(db: Database, job: CopyJob): Promise<Backup | Complaint> {
  const file = job.begin();
  const limit = longestLog(db, job.outbox);
  let rows: Rows = {};
  try {
    const look = (at: Database): void => {
      rows = countRows(at);
    };
    const stepped = (copied: Copied): void => {
      job.stepped(copied);
      if (job.interrupted()) throw new Error("interrupted; nothing was written");
      const log = storedFile(logOf(job.outbox.path))?.size ?? 0;
      if (log > limit) throw new Error(tooMuchTraffic(log));
    };
    await copyPages(db, file, { stepped, look });
    return await keepIfGood(file, rows);
  } finally {
    file.drop();
  }
}

type Rows = Readonly<Record<string, number>>;

/**
 * While a copy is made, what comes in lengthens the daemon's log; what that has beyond its usual length counts as used, and at
 * `maxSize` calls are refused. The copy gives up when it has taken half of the way to where that would be felt.
 */
function longestLog(db: Database, { maxSize }: Config["outbox"]): number {
  const crowded = maxSize * 0.9;
  return LARGEST_LOG + Math.max(16 * MB, (crowded - sizeOf(db)) / 2);
}

function tooMuchTraffic(log: number): string {
  return (
    `log_too_long: so much comes in that the daemon's log has ${formatSize(log)} already, and it cannot begin anew ` +
    "before the copy is done; try again when there is less, or onto a faster disk"
  );
}

/** `rows`: as many as the outbox has; null if nobody can say. */
async function keepIfGood(file: NewFile, rows: Rows | null): Promise<Backup | Complaint> {
  const checked = await checkCopy(file.path, { newest: SCHEMA_VERSION, depth: "full" });
  if ("code" in checked) return failed(`${checked.code}: the copy cannot be used: ${checked.message}`);
  const copied = rows && (await rowsOf(file.path));
  const [wrong] = Object.keys(rows ?? {}).filter((table) => rows?.[table] !== copied?.[table]);
  if (wrong !== undefined) {
    return failed(`store_damaged: the copy has ${copied?.[wrong]} rows in ${wrong}, and the outbox ${rows?.[wrong]}`);
  }
  const bytes = storedFile(file.path)?.size ?? 0;
  file.keep();
  return { bytes, contents: checked.contents };
}

async function rowsOf(path: string): Promise<Rows> {
  const db = await openExisting(path);
  try {
    return countRows(db);
  } finally {
    db.close();
  }
}

function failed(message: string): Complaint {
  return { code: EXIT.failed, message };
}
