import { resolve } from "node:path";
import type { Command } from "commander";
import { formatSize } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print } from "../runtime/output.ts";
import { keepFilesPrivate } from "../runtime/process.ts";
import { storedFile } from "../runtime/stored-file.ts";
import { contentsJson, contentsWords } from "./backup/words.ts";
import { type Done, examples } from "./command.ts";
import { complain } from "./complain.ts";
import { CONFIG_OPTION } from "./config-file.ts";
import { EXIT, type ExitCode } from "./exit.ts";
import { findOutbox } from "./outbox-part.ts";
import { printable } from "./printable.ts";
import { type Restored, restore as replaceOutbox } from "./restore/replace.ts";

/** `fairlead restore FILE`: puts a backup in the place of the outbox, while no daemon runs. */
export function declareRestore(program: Command, done: Done): void {
  program
    .command("restore")
    .description(
      "put a backup in the place of the outbox, once it is checked; what was there is kept. No daemon may run",
    )
    .argument("<file>", "the backup, or another copy of an outbox; it stays as it is")
    .option(...CONFIG_OPTION)
    .option("--force", "put an outbox that is there aside, under another name")
    .option("--json", "print what was restored as JSON")
    .addHelpText("after", HELP)
    .action((file: string, options: RestoreOptions) => done(restore(file, options)));
}

const HELP = `${examples("fairlead restore /var/backups/fairlead.db", "fairlead restore --force /var/backups/fairlead.db")}

Stop the daemon before. What waits in the backup is delivered when it starts
again: what was delivered since the backup was made, a second time.`;

type RestoreOptions = { readonly config?: string; readonly force?: boolean; readonly json?: boolean };

async function restore(said: string, options: RestoreOptions): Promise<ExitCode> {
  const outbox = findOutbox(options.config);
  if ("code" in outbox) return complain(outbox);
  const from = resolve(said);
  const there = storedFile(from);
  if (there === null)
    return complain({ code: EXIT.usage, message: `there is no file ${from}, or this user may not see it` });
  if (there.kind !== "file") return complain({ code: EXIT.usage, message: `${from} is no file` });
  keepFilesPrivate();
  const now = createClock().wall();
  const suffix = `before-restore-${new Date(now)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replace(/[-:]/g, "")}`;
  const result = await replaceOutbox({ outbox: outbox.path, from, force: options.force === true, suffix });
  if ("code" in result) return complain(result);
  if (options.json) print(printable(JSON.stringify(toJson(result, outbox.path, from))));
  else print(toWords(result, { outbox: outbox.path, from, now }));
  return EXIT.done;
}

type About = { readonly outbox: string; readonly from: string; readonly now: number };

/** Exported for its test. */
export function toWords({ bytes, contents, kept, unfolded }: Restored, { outbox, from, now }: About): string {
  const { waiting } = contents.deliveries;
  const repeated =
    waiting === 0
      ? "Nothing waits in it"
      : `${waiting === 1 ? "One delivery waits" : `${waiting} deliveries wait`} in it and will be sent when the daemon ` +
        "starts, also what was delivered since the backup was made";
  return [
    `Restored ${printable(outbox)} from ${printable(from)}: ${formatSize(bytes)}, and checked.`,
    contentsWords(contents, now),
    `${repeated}. What came in since then is not in it.`,
    ...(kept === null ? [] : [`The outbox that was there is kept as ${printable(kept)}.`]),
    ...(unfolded === null
      ? []
      : [`Its log is kept beside it, as ${printable(`${kept}-wal`)}: ${printable(unfolded)}.`]),
  ].join("\n");
}

function toJson({ bytes, contents, kept, unfolded }: Restored, file: string, from: string): object {
  return { file, from, bytes, kept, unfolded, ...contentsJson(contents) };
}
