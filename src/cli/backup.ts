import { dirname, resolve } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import type { Contents } from "../model/contents.ts";
import type { NewFile } from "../model/new-file.ts";
import { formatDuration, formatSize, formatTime, HOUR, MB, type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/files.ts";
import { beginOwnFile } from "../runtime/new-file.ts";
import { goLast } from "../runtime/priority.ts";
import { download } from "../runtime/request.ts";
import { storedFile } from "../runtime/stored-file.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../runtime/terminal.ts";
import { keepFilesPrivate } from "../runtime/umask.ts";
import { type Backup, backUp } from "./backup/copy.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import { findOutbox } from "./config-file.ts";
import { type Question, readSaid, send } from "./daemon/ask.ts";
import { addDaemonOptions, type Daemon, type DaemonOptions, findDaemon } from "./daemon/find.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { printable } from "./printable.ts";
import { createProgressBar, onInterrupt } from "./progress.ts";
import { isStatus, type SaidStatus } from "./status/said.ts";

/** `fairlead backup FILE`: a copy of the outbox as it is at one moment, while the daemon goes on. */
export function declareBackup(program: Command, done: Done): void {
  const command = program
    .command("backup")
    .description(
      "copy the outbox into one file, as it is at one moment, and check the copy; the daemon goes on meanwhile",
    )
    .argument("<file>", "where the copy is to be")
    .option("--force", "take the place of a file that is there already, once the copy is good")
    .option("--json", "print what was copied as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((file: string, options: BackupOptions) => done(backup(file, options)));
}

const HELP = `${examples("fairlead backup /var/backups/fairlead.db", "fairlead backup --force --json /mnt/nas/fairlead.db")}

It reads the outbox's file by itself, so run it as the daemon's user or as root.
If the daemon runs and that file was removed, replaced or cut short, it gets what
the daemon still has through the daemon.
Everything that Fairlead remembers is in it; the config and the files of secrets
are not. fairlead restore puts it back.`;

type BackupOptions = DaemonOptions & { readonly force?: boolean; readonly json?: boolean };

async function backup(said: string, options: BackupOptions): Promise<ExitCode> {
  const outbox = findOutbox(options.config);
  if ("code" in outbox) return complain(outbox);
  const target = resolve(said);
  const refusal = judgeTarget(target, { outbox: outbox.path, force: options.force === true });
  if (refusal) return complain(refusal);
  const holder = await findHolder(options);
  keepFilesPrivate();
  goLast();
  const clock = createClock();
  const began = clock.now();
  const bar = createProgressBar({
    write: printError,
    isTerminal: isErrorTerminal(),
    width: errorColumns,
    now: clock.now,
  });
  const interrupt = { heard: false };
  const unhook = onInterrupt(() => {
    interrupt.heard = true;
  });
  const result = await backUp({
    ...{ outbox, holder, target, begin: () => beginOwnFile(target, process.pid), interrupted: () => interrupt.heard },
    stepped: ({ done, total }) => bar.show({ done: inMb(done), total: inMb(total), elapsed: clock.now() - began }),
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

function inMb(bytes: number): number {
  return Math.round(bytes / MB);
}

type Place = { readonly outbox: string; readonly force: boolean };

/** Why there must be no copy at this path; null if there may. */
function judgeTarget(target: string, { outbox, force }: Place): Complaint | null {
  const there = storedFile(target);
  const usage = (message: string): Complaint => ({ code: EXIT.usage, message });
  if (storedFile(dirname(target))?.kind !== "folder") return usage(`there is no folder ${dirname(target)}`);
  if (there?.kind === "folder") return usage(`${target} is a folder; name the file in it that is to be written`);
  if (there?.kind === "other")
    return usage(`${target} is a device or the like; a copy can only be a file, and not piped on`);
  const own = ["", "-wal", "-shm", ".lock"].map((end) => `${outbox}${end}`);
  const isOwn = own.some((path) => path === target || (there && storedFile(path)?.identity === there.identity));
  if (isOwn) return usage(`${target} is the outbox itself; name another file`);
  if (there === null || force) return null;
  return usage(`file_exists: ${target} is there already; name another file, or say --force to replace it`);
}

type About = {
  readonly file: string;
  readonly from: string;
  readonly took: number;
  /** What became of the outbox, if the copy is what the daemon still had of it. */
  readonly gone: Holder["gone"] | null;
};

function toWords(
  { bytes, contents }: Backup,
  { file, from, took, now, gone }: About & { readonly now: number },
): string {
  const size = `${formatSize(bytes)} in ${formatDuration(took)}`;
  const words = `to ${printable(file)}: ${size}, and checked.\n${contentsWords(contents, now)}`;
  if (gone === null) return `Copied ${printable(from)} ${words}`;
  const [path, what] = [printable(gone.path), printable(gone.what)];
  return [
    `Copied what the daemon still has of ${printable(from)} ${words}`,
    `${path} was ${what} while the daemon runs; calls are refused since ${printable(gone.since)}.`,
    `Now stop the daemon, run fairlead restore --force ${printable(file)}, and start it.`,
  ].join("\n");
}

function toJson({ bytes, contents }: Backup, { file, from, took, gone }: About): object {
  return { file, from, bytes, tookMs: took, ...contentsJson(contents), ...(gone !== null && { gone }) };
}

/** What is in a store, in lines. `now`: by the wall clock. */
export function contentsWords(contents: Contents, now: number): string {
  const { events, newestAt, deliveries, computations, suppressed } = contents;
  const newest = newestAt === null ? "" : `, the newest of ${formatTime(newestAt)} (${ageOf(newestAt, now)})`;
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

/** The same for programs. */
export function contentsJson({ newestAt, ...contents }: Contents): object {
  return { ...contents, newestAt: newestAt === null ? null : formatTime(newestAt) };
}

/** A daemon that answers nothing has to be looked for no longer than this before the file is read. */
const PATIENCE: Ms = 5 * SECOND;
/** For all of the copy. */
const LONGEST: Ms = 12 * HOUR;
/** Bytes that are written before they are waited for, as in every copy. */
const UNFLUSHED = 8 * MB;

/** A daemon whose outbox the next start would not find, and what became of that. */
export type Holder = { readonly daemon: Daemon; readonly gone: NonNullable<SaidStatus["outbox"]["gone"]> };

/** The daemon, if it runs and says that the outbox is gone: then what is at the path is not what it has. */
async function findHolder(options: DaemonOptions): Promise<Holder | null> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return null;
  const question = { path: "/api/status", by: { method: "GET", timeout: PATIENCE }, isSaid: isStatus };
  const answer = readSaid(await send(daemon, question), { daemon, question });
  const gone = "said" in answer ? answer.said.outbox.gone : null;
  return gone ? { daemon, gone } : null;
}

/** Writes what the daemon still has of its outbox to a file. Answers why it cannot. */
export async function copyThrough({ daemon }: Holder, file: NewFile): Promise<Complaint | null> {
  const authorization = daemon.token && { Authorization: `Bearer ${daemon.token.secret.reveal()}` };
  let unflushed = 0;
  const ask = { base: daemon.base, method: "GET", path: PATH, headers: { ...authorization }, timeout: LONGEST };
  const exchange = await download(ask, (piece) => {
    file.write(piece);
    unflushed += piece.length;
    if (unflushed < UNFLUSHED) return;
    file.flush();
    unflushed = 0;
  });
  if (exchange.kind === "answered" && exchange.status === 200) return null;
  const question: Question<never> = { path: PATH, isSaid: (said): said is never => said === undefined };
  const answer = readSaid(exchange, { daemon, question });
  return "code" in answer ? answer : null;
}

const PATH = "/api/backup";
