import { dirname, resolve } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { printable } from "../client/show.ts";
import type { Contents } from "../model/lookup.ts";
import { formatSize } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { reasonOf } from "../runtime/file-error.ts";
import { beginFile, syncFolderOf } from "../runtime/new-file.ts";
import { print } from "../runtime/output.ts";
import { keepFilesPrivate } from "../runtime/process.ts";
import {
  actAs,
  dropFile,
  giveTo,
  keepAs,
  linkOwner,
  moveFile,
  type Owner,
  realPathOf,
  type StoredFile,
  storedFile,
} from "../runtime/stored-file.ts";
import { contentsJson, contentsWords } from "./backup.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, failed, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, findOutbox } from "./config-file.ts";
import { addHelp, type HelpText } from "./help.ts";
import {
  type CopyOptions,
  foldLog,
  isDamaged,
  lackOfRoom,
  lockOutbox,
  logOf,
  lossInLog,
  messageOf,
  type OutboxFile,
  openOutbox,
} from "./outbox-file.ts";
import { openProgressBar } from "./progress.ts";

/** `fairlead restore FILE`: replaces the outbox by a backup while no daemon runs. */
export function declareRestore(program: Command, done: Done): void {
  const command = program
    .command("restore")
    .summary("replace the outbox with a backup")
    .description("Replace the outbox with a backup, once the backup is checked. Stop the daemon first.")
    .argument("<file>", "the backup, or another copy of an outbox; it is only read")
    .option(...CONFIG_OPTION)
    .option("--force", "replace an existing outbox, which is kept under another name")
    .option("--json", "print what was restored as JSON");
  addHelp(command, HELP).action((file: string, options: RestoreOptions) => done(restoreFile(file, options)));
}

const HELP: HelpText = {
  examples: ["fairlead restore /var/backups/fairlead.db", "fairlead restore --force /var/backups/fairlead.db"],
  notes: `When the daemon starts again, it sends all deliveries that are waiting in the backup, even those that were delivered after the backup was made. Restoring a backup also brings back users that were deleted after it was made.`,
};

type RestoreOptions = { readonly config?: string; readonly force?: boolean; readonly json?: boolean };

async function restoreFile(file: string, options: RestoreOptions): Promise<ExitCode> {
  const outbox = findOutbox(options.config, "stop all daemons, and restore it with pg_restore --clean");
  if ("code" in outbox) return complain(outbox);
  const from = resolve(file);
  const there = storedFile(from);
  if (there === null) return complain(wrongUsage(`there is no file ${from}, or this user may not see it`));
  if (there.kind !== "file") return complain(wrongUsage(`${from} is not a file`));
  keepFilesPrivate();
  const clock = createClock();
  const now = clock.wall();
  const time = new Date(now)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:]/g, "");
  const began = clock.now();
  const bar = openProgressBar(clock);
  const result = await restore({
    outbox: outbox.path,
    from,
    force: options.force === true,
    suffix: `before-restore-${time}`,
    stepped: ({ done, total }) => bar.show({ done, total, unit: "bytes", elapsed: clock.now() - began }),
    checking: () => bar.stage("checking the copy"),
  });
  bar.clear();
  if ("code" in result) return complain(result);
  if (options.json) print(printable(JSON.stringify(toJson(result, outbox.path, from))));
  else print(toWords(result, { outbox: outbox.path, from, now }));
  return EXIT.done;
}

type RestoreJob = {
  readonly outbox: string;
  readonly from: string;
  /** Whether an existing outbox may be replaced. */
  readonly force: boolean;
  /** The suffix of a replaced outbox's new name. */
  readonly suffix: string;
} & Required<Pick<CopyOptions, "stepped" | "checking">>;

type Restored = {
  readonly bytes: number;
  readonly contents: Contents;
  /** The path of the replaced outbox, or of its log if only that existed; null if there was none. */
  readonly kept: string | null;
  /** Why its log is kept beside it instead of merged into it; null if it was merged or did not exist. */
  readonly unfolded: string | null;
};

/**
 * Replaces the outbox atomically by a checked copy, and keeps the previous files. The outbox stays locked, so that no daemon
 * can open it.
 */
async function restore(job: RestoreJob): Promise<Restored | Complaint> {
  let source: OutboxFile | null = null;
  try {
    const outbox = whereIs(job.outbox);
    const lost = await lossInLog(job.from);
    if (lost !== null) return failed(`store_damaged: ${job.from} cannot be used: ${lost}. ${USE_IT_ALL_THE_SAME}`);
    // As this user: the daemon's user may not be allowed to read it.
    const opened = await openOutbox(job.from);
    source = opened;
    return await actAs(whoseIs(job.outbox, outbox), () =>
      whileLocked(outbox, (before) => replace({ ...job, outbox, source: opened }, before)),
    );
  } catch (error) {
    const message = messageOf(error);
    return failed(isDamaged(error) ? `store_damaged: ${job.from} cannot be used: ${message}` : message);
  } finally {
    source?.close();
  }
}

const USE_IT_ALL_THE_SAME =
  "To continue without them, put the file and its -wal in the place of the outbox by hand: the next start uses the rest";

/** The owner of the outbox's folder, or of a link to the outbox; root if the outbox belongs to another user. */
function whoseIs(named: string, outbox: string): Owner {
  const link = linkOwner(named);
  if (link !== null && link.uid !== 0) return link;
  const [folder, before] = [storedFile(dirname(outbox)), storedFile(outbox)];
  return folder && (before === null || before.uid === folder.uid) ? folder : { uid: 0, gid: 0 };
}

function whereIs(path: string): string {
  try {
    return realPathOf(path);
  } catch (cause) {
    throw new Error(`cannot replace ${path}: ${reasonOf(cause, path)}`, { cause });
  }
}

/** Locks the outbox as a daemon does. `before` is the existing file; locking creates an empty one if there is none. */
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
    // The daemon could not open a lock file of root.
    if (!hadLock && folder) giveTo(folder, `${outbox}.lock`);
    lock.release();
  }
}

type Replacement = RestoreJob & { readonly source: OutboxFile };

async function replace(job: Replacement, before: StoredFile | null): Promise<Restored | Complaint> {
  const { outbox, from, force, source } = job;
  if (before !== null && storedFile(from)?.identity === before.identity)
    return wrongUsage(`${from} is the outbox itself`);
  if (before !== null && !force) return wrongUsage(await describeThere(outbox));
  const refusal = unusable(from, source);
  if (refusal !== null) return failed(refusal);
  const lack = await lackOfRoom(dirname(outbox), source.size);
  if (lack !== null) return failed(`${lack}; make room, or move ${outbox} to another disk first`);
  const file = beginFile(outbox);
  try {
    const contents = await source.copyTo(file, { subject: from, stepped: job.stepped, checking: job.checking });
    if ("code" in contents) return contents;
    giveTo(before ?? ownerOfFolder(outbox), file.path);
    const bytes = storedFile(file.path)?.size ?? 0;
    const aside = await putAside(outbox, { before, kept: unused(`${outbox}.${job.suffix}`) });
    file.keep();
    return { bytes, contents, ...aside };
  } finally {
    file.drop();
  }
}

/** Why a file is not a usable outbox, as far as that is known before the copy. */
function unusable(from: string, source: OutboxFile): string | null {
  const { schemaFault: fault } = source;
  if (fault) {
    const remedy = fault.code === "schema_newer" ? "; restore it with the newer Fairlead that wrote it" : "";
    return `${fault.code}: ${from} cannot be used: ${fault.message}${remedy}`;
  }
  return source.contents() ? null : `store_unknown: ${from} is an SQLite file, but not an outbox of Fairlead`;
}

function ownerOfFolder(outbox: string): Owner {
  return storedFile(dirname(outbox)) ?? { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

async function describeThere(outbox: string): Promise<string> {
  const waiting = await waitingIn(outbox);
  const what =
    waiting === null ? "" : ` with ${waiting === 1 ? "1 waiting delivery" : `${waiting} waiting deliveries`}`;
  return `outbox_exists: there is an outbox at ${outbox}${what}; --force keeps it under another name and replaces it`;
}

/** Null if it cannot be read, which is a reason to restore a backup. */
async function waitingIn(outbox: string): Promise<number | null> {
  let opened: OutboxFile | null = null;
  try {
    opened = await openOutbox(outbox);
    return opened.contents()?.deliveries.waiting ?? null;
  } catch {
    return null;
  } finally {
    opened?.close();
  }
}

/** Two restores may run within one second. */
function unused(name: string): string {
  let free = name;
  for (let nth = 2; storedFile(free) !== null || storedFile(logOf(free)) !== null; nth += 1) free = `${name}-${nth}`;
  return free;
}

type Aside = { readonly before: StoredFile | null; readonly kept: string };

/** Keeps the existing outbox and its log under another name. */
async function putAside(outbox: string, { before, kept }: Aside): Promise<Pick<Restored, "kept" | "unfolded">> {
  const why = before === null ? null : await tryToFold(outbox);
  if (before !== null) {
    // The outbox also keeps its own name until the copy replaces it: there is no moment without an outbox.
    keepAs(outbox, kept);
  }
  // A log that was not merged, or whose outbox is gone, would be read as the log of the copy.
  const left = ["-wal", "-shm"].filter((end) => storedFile(`${outbox}${end}`) !== null);
  for (const end of left) moveFile(`${outbox}${end}`, `${kept}${end}`);
  syncFolderOf(outbox);
  const log = left.includes("-wal") ? `${kept}-wal` : null;
  return { kept: before === null ? log : kept, unfolded: log && why };
}

/** Merges the log of a killed daemon into the outbox. Answers why it cannot. */
async function tryToFold(outbox: string): Promise<string | null> {
  // Merging a damaged log would destroy the entries behind the damage.
  const lost = await lossInLog(outbox);
  if (lost !== null) return lost;
  try {
    await foldLog(outbox);
    return null;
  } catch (error) {
    // All of its files are kept as they are.
    return messageOf(error);
  }
}

type About = { readonly outbox: string; readonly from: string; readonly now: number };

/** Exported for its test. */
export function toWords({ bytes, contents, kept, unfolded }: Restored, { outbox, from, now }: About): string {
  const { waiting } = contents.deliveries;
  const repeated =
    waiting === 0
      ? "It has no waiting deliveries."
      : `${waiting === 1 ? "1 waiting delivery" : `${waiting} waiting deliveries`} will be sent when the daemon starts, ` +
        "even if delivered since the backup was made.";
  return [
    `Restored ${printable(outbox)} from ${printable(from)}: ${formatSize(bytes)}, checked.`,
    contentsWords(contents, now),
    `${repeated} Events accepted since the backup are not in it.`,
    ...(kept === null ? [] : [`The previous outbox is kept as ${printable(kept)}.`]),
    ...(unfolded === null ? [] : [`Its log is kept as ${printable(`${kept}-wal`)}: ${printable(unfolded)}.`]),
  ].join("\n");
}

function toJson({ bytes, contents, kept, unfolded }: Restored, file: string, from: string): object {
  return { file, from, bytes, kept, unfolded, ...contentsJson(contents) };
}
