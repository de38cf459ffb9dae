import type { Command } from "commander";
import type { Discarded } from "../model/unserved.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions, destinationPath } from "./daemon.ts";
import { printable } from "./printable.ts";
import { deliveries, type EndOptions, endWaiting, hasMore, hasNumbers, type Way } from "./waiting.ts";

/** `fairlead discard DESTINATION`: gives up what waits for a destination that is removed, disabled or paused. */
export function declareDiscard(program: Command, done: Done): void {
  const command = program
    .command("discard")
    .description("give up what waits for a destination that is paused, disabled or removed from the config")
    .argument("<destination>", "whose deliveries are to become failed, without being sent")
    .option("--dry-run", "only say how many there are")
    .option("--yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((from: string, options: EndOptions) => done(endWaiting(wayOf(from), options)));
}

const HELP = `${examples("fairlead discard old-crm --dry-run", "fairlead discard old-crm", "fairlead discard old-crm --yes --json")}

They are kept as any that failed (outbox.keepFailed), with the reason
"discarded by operator". Ctrl-C stops between two pages.`;

function wayOf(from: string): Way<Discarded> {
  const count = (pages: readonly Discarded[]): number => pages.reduce((sum, { discarded }) => sum + discarded, 0);
  return {
    from,
    path: destinationPath(from, "discard"),
    body: {},
    isSaid: isDiscarded,
    question: "Discard them? They become failed, and are not sent.",
    prospect: "would become failed, without being sent",
    wish: {},
    countOf: ({ discarded }) => discarded,
    toWords: (pages) => `Discarded ${deliveries(count(pages))} of ${printable(from)}.`,
    toJson: (pages) => ({ discarded: count(pages) }),
  };
}

function isDiscarded(said: unknown): said is Discarded {
  return hasNumbers(said, "discarded") && hasMore(said);
}
