import { dirname, resolve } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { formatDuration, formatSize, MB } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { beginOwnFile } from "../runtime/new-file.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../runtime/output.ts";
import { goLast, keepFilesPrivate } from "../runtime/process.ts";
import { storedFile } from "../runtime/stored-file.ts";
import { type Backup, backUp } from "./backup/copy.ts";
import { findHolder, type Holder } from "./backup/through-daemon.ts";
import { contentsJson, contentsWords } from "./backup/words.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import { addDaemonOptions, type DaemonOptions } from "./daemon.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { onInterrupt } from "./interrupt.ts";
import { findOutbox } from "./outbox-part.ts";
import { printable } from "./printable.ts";
import { createProgressBar } from "./progress.ts";

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
