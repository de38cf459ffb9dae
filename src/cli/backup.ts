import { dirname, resolve } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import * as v from "valibot";
import { printable } from "../client/show.ts";
import type { Config } from "../model/config.ts";
import type { NewFile } from "../model/disk.ts";
import type { Contents } from "../model/lookup.ts";
import { formatDuration, formatSize, formatTime, HOUR, MB, type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { beginOwnFile } from "../runtime/new-file.ts";
import { print } from "../runtime/output.ts";
import { goLast, keepFilesPrivate } from "../runtime/process.ts";
import { request } from "../runtime/request.ts";
import { storedFile } from "../runtime/stored-file.ts";
import { type DaemonStatus, status } from "../wire/status.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, failed, wrongUsage } from "./command.ts";
import { findOutbox } from "./config-file.ts";
import { addDaemonOptions, type Daemon, type DaemonOptions, findDaemon, readAnswer, send } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import {
  type Copied,
  checkOutbox,
  isDamaged,
  LARGEST_LOG,
  lackOfRoom,
  logOf,
  lossInLog,
  messageOf,
  type OutboxFile,
  openOutbox,
} from "./outbox-file.ts";
import { onInterrupt, openProgressBar } from "./progress.ts";

/** `fairlead backup FILE`: a copy of the outbox as it is at one moment, while the daemon keeps running. */
export function declareBackup(program: Command, done: Done): void {
  const command = program
    .command("backup")
    .summary("back up the outbox while the daemon runs")
    .description("Copy the outbox as it is at one moment into one file, and check the copy. The daemon keeps running.")
    .argument("<file>", "the path of the copy")
    .option("--force", "replace an existing file, once the copy is checked")
    .option("--json", "print what was copied as JSON");
  addHelp(addDaemonOptions(command), HELP).action((file: string, options: BackupOptions) =>
    done(backup(file, options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead backup /var/backups/fairlead.db", "fairlead backup --force --json /mnt/nas/fairlead.db"],
  notes: `Run it as the daemon's user or as root, because it reads the outbox file. The copy has everything that Fairlead stores, but not the config and the files of secrets. fairlead restore puts it back.`,
  more: `If the outbox file was removed, replaced or cut short while the daemon runs, the copy comes through the daemon, which still has the data.`,
};

type BackupOptions = DaemonOptions & { readonly force?: boolean; readonly json?: boolean };

async function backup(file: string, options: BackupOptions): Promise<ExitCode> {
  const outbox = findOutbox(options.config, "back it up with pg_dump --format=custom");
  if ("code" in outbox) return complain(outbox);
  const target = resolve(file);
  const refusal = judgeTarget(target, { outbox: outbox.path, force: options.force === true });
  if (refusal) return complain(refusal);
  const holder = await findHolder(options);
  keepFilesPrivate();
  goLast();
  const clock = createClock();
  const began = clock.now();
  const bar = openProgressBar(clock);
  const interrupt = new AbortController();
  const unhook = onInterrupt(() => interrupt.abort());
  const result = await backUp({
    outbox,
    holder,
    target,
    begin: () => beginOwnFile(target, process.pid),
    stepped: ({ done, total }) => bar.show({ done, total, unit: "bytes", elapsed: clock.now() - began }),
    checking: () => bar.stage("checking the copy"),
    signal: interrupt.signal,
  });
  unhook();
  bar.clear();
  if ("code" in result) return complain(result);
  const took = clock.now() - began;
  const about = { file: target, from: outbox.path, took, gone: holder?.gone ?? null };
  if (options.json) print(printable(JSON.stringify(toJson(result, about))));
  else print(toWords(result, { ...about, now: clock.wall() }));
  return EXIT.done;
}

type Place = { readonly outbox: string; readonly force: boolean };

/** Why the copy cannot be written to this path; null if it can be. */
function judgeTarget(target: string, { outbox, force }: Place): Complaint | null {
  const there = storedFile(target);
  if (storedFile(dirname(target))?.kind !== "folder") return wrongUsage(`there is no folder ${dirname(target)}`);
  if (there?.kind === "folder") return wrongUsage(`${target} is a folder; name a file in it`);
  if (there?.kind === "other") return wrongUsage(`${target} is a device or a pipe; a copy must be a file`);
  const own = ["", "-wal", "-shm", ".lock"].map((end) => `${outbox}${end}`);
  const isOwn = own.some((path) => path === target || (there && storedFile(path)?.identity === there.identity));
  if (isOwn) return wrongUsage(`${target} is the outbox itself; name another file`);
  if (there === null || force) return null;
  return wrongUsage(`file_exists: ${target} exists already; name another file, or replace it with --force`);
}

export type CopyJob = {
  readonly outbox: Config["outbox"];
  /** The final path. */
  readonly target: string;
  /** Creates the file under a temporary name. */
  readonly begin: () => NewFile;
  readonly stepped: (copied: Copied) => void;
  /** Called before the copy is checked, which may take long. */
  readonly checking: () => void;
  /** Set if the outbox's file is gone and only the daemon still has its content. */
  readonly holder: Holder | null;
  /** Aborts the copy. */
  readonly signal: AbortSignal;
};

/** A checked copy under its final name. */
type Backup = { readonly bytes: number; readonly contents: Contents };

/** Copies the outbox, with or without a running daemon, and gives the copy its name once it is checked. */
export async function backUp(job: CopyJob): Promise<Backup | Complaint> {
  const { outbox, holder } = job;
  if (holder !== null) return copyFromDaemon(holder, job);
  if (storedFile(outbox.path) === null) {
    return failed(`there is no outbox at ${outbox.path}, or this user may not see it; ${NOT_THERE}`);
  }
  let source: OutboxFile | null = null;
  try {
    const lost = await lossInLog(outbox.path);
    if (lost !== null) return failed(`store_damaged: ${lost}. A copy would lack them: ${KEEP_AS_IT_IS}`);
    source = await openOutbox(outbox.path);
    return await copyFrom(source, job);
  } catch (error) {
    const damaged = isDamaged(error) ? "store_damaged: " : "";
    return failed(`${damaged}cannot back up ${outbox.path}: ${messageOf(error)}`);
  } finally {
    source?.close();
  }
}

const NOT_THERE =
  "the first start creates it; if it was removed while the daemon runs, name the daemon with --admin: it still has the data";

const KEEP_AS_IT_IS =
  "stop the daemon, and copy the outbox and its -wal by hand; the next start continues with the rest, which can then be backed up";

async function copyFrom(source: OutboxFile, job: CopyJob): Promise<Backup | Complaint> {
  const { outbox, target, signal } = job;
  const folder = dirname(target);
  // On the daemon's own disk, its reserve of free space is not available.
  const isShared = storedFile(folder)?.device === storedFile(outbox.path)?.device;
  const lack = await lackOfRoom(folder, source.size, isShared ? outbox.freeDisk : 0);
  if (lack !== null) return failed(`${lack}; make room, or name a file on another disk`);
  const longest = longestLog(source, outbox);
  const stepped = (copied: Copied): void => {
    job.stepped(copied);
    if (signal.aborted) throw new Error("interrupted; nothing was written");
    const log = storedFile(logOf(outbox.path))?.size ?? 0;
    if (log > longest) throw new Error(tooMuchTraffic(log));
  };
  const file = job.begin();
  try {
    return keep(file, await source.copyTo(file, { subject: "the copy", stepped, checking: job.checking }));
  } finally {
    file.drop();
  }
}

/**
 * The daemon's log grows during a copy. Its extra length counts as used space, and at `maxSize` calls are refused. The copy
 * is aborted halfway to that point.
 */
function longestLog({ size }: OutboxFile, { maxSize }: Config["outbox"]): number {
  const crowded = maxSize * 0.9;
  return LARGEST_LOG + Math.max(16 * MB, (crowded - size) / 2);
}

function tooMuchTraffic(log: number): string {
  return (
    `log_too_long: the daemon's write-ahead log has grown to ${formatSize(log)} during the copy, and cannot shrink until ` +
    "the copy is done; try again when fewer calls come in, or copy to a faster disk"
  );
}

function keep(file: NewFile, contents: Contents | Complaint): Backup | Complaint {
  if ("code" in contents) return contents;
  const bytes = storedFile(file.path)?.size ?? 0;
  file.keep();
  return { bytes, contents };
}

/** How long to wait for the daemon's answer before reading the file. */
const PATIENCE: Ms = 5 * SECOND;
/** For the whole copy. */
const LONGEST: Ms = 12 * HOUR;
/** Bytes written between flushes, as in every copy. */
const UNFLUSHED = 8 * MB;

/** A running daemon whose outbox file is gone, and what happened to the file. */
export type Holder = {
  readonly daemon: Daemon;
  readonly gone: NonNullable<DaemonStatus["outbox"]["gone"]>;
  /** Bytes of the outbox. */
  readonly used: number;
};

/** The running daemon, if it reports that its outbox is gone: it then has another file open than the one at the path. */
async function findHolder(options: DaemonOptions): Promise<Holder | null> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return null;
  const question = { path: "/api/status", by: { method: "GET", timeout: PATIENCE }, answer: status };
  const answer = readAnswer(await send(daemon, question), { daemon, question });
  if (!("value" in answer)) return null;
  const { gone, used } = answer.value.outbox;
  return gone ? { daemon, gone, used } : null;
}

async function copyFromDaemon(holder: Holder, job: CopyJob): Promise<Backup | Complaint> {
  const file = job.begin();
  try {
    const refused = await downloadFrom(holder, file, job.stepped);
    if (refused !== null) return refused;
    job.checking();
    return keep(file, await checkOutbox(file.path, "the copy"));
  } catch (error) {
    return failed(messageOf(error));
  } finally {
    file.drop();
  }
}

/** Downloads what the daemon still has of its outbox into a file. Answers why it cannot; null on success. */
async function downloadFrom(
  { daemon, used }: Holder,
  file: NewFile,
  stepped: CopyJob["stepped"],
): Promise<Complaint | null> {
  const authorization = daemon.token && { Authorization: `Bearer ${daemon.token.secret.reveal()}` };
  let [unflushed, done] = [0, 0];
  function receive(piece: Uint8Array): void {
    file.write(piece);
    done += piece.length;
    stepped({ done, total: Math.max(done, used) });
    unflushed += piece.length;
    if (unflushed < UNFLUSHED) return;
    file.flush();
    unflushed = 0;
  }
  const headers = { ...authorization };
  const exchange = await request({ base: daemon.base, method: "GET", path: PATH, headers, timeout: LONGEST, receive });
  if (exchange.kind === "answered" && exchange.status === 200) return null;
  const question = { path: PATH, answer: v.never() };
  const answer = readAnswer(exchange, { daemon, question });
  return "code" in answer ? answer : null;
}

const PATH = "/api/backup";

type About = {
  readonly file: string;
  readonly from: string;
  readonly took: number;
  /** What happened to the outbox, if the copy came from the daemon. */
  readonly gone: Holder["gone"] | null;
};

function toWords(
  { bytes, contents }: Backup,
  { file, from, took, now, gone }: About & { readonly now: number },
): string {
  const size = `${formatSize(bytes)} in ${formatDuration(took)}`;
  const words = `to ${printable(file)}: ${size}; the copy is checked.\n${contentsWords(contents, now)}`;
  if (gone === null) return `Copied ${printable(from)} ${words}`;
  const [path, what] = [printable(gone.path), printable(gone.what)];
  return [
    `Copied the data that the daemon still has of ${printable(from)} ${words}`,
    `${path} was ${what} while the daemon runs. It has refused calls since ${printable(gone.since)}.`,
    `Now stop the daemon, run fairlead restore --force ${printable(file)}, and start the daemon.`,
  ].join("\n");
}

function toJson({ bytes, contents }: Backup, { file, from, took, gone }: About): object {
  return { file, from, bytes, tookMs: took, ...contentsJson(contents), ...(gone !== null && { gone }) };
}

/** The contents of a store, in lines. `now`: by the wall clock. */
export function contentsWords(contents: Contents, now: number): string {
  const { events, newestAt, deliveries, computations, suppressed } = contents;
  const newest = newestAt === null ? "" : `, the newest from ${formatTime(newestAt)} (${ageOf(newestAt, now)})`;
  const states = Object.entries(deliveries).map(([state, count]) => `${count} ${state}`);
  return [
    `  events      ${events}${newest}`,
    `  deliveries  ${states.join(", ")}`,
    ...(computations > 0 ? [`  audiences and traits  ${computations}`] : []),
    ...(suppressed > 0 ? [`  suppressed users  ${suppressed}`] : []),
    `  schema      ${contents.schema}`,
  ].join("\n");
}

function ageOf(at: number, now: number): string {
  return at > now ? "ahead of this machine's clock" : `${formatDuration(now - at)} ago`;
}

/** The contents for programs. */
export function contentsJson({ newestAt, ...contents }: Contents): object {
  return { ...contents, newestAt: newestAt === null ? null : formatTime(newestAt) };
}
