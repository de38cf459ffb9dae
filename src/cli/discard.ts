import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { discardedPage } from "../wire/deliveries.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions } from "./daemon.ts";
import { deliveries, type EndOptions, endWaiting, type Way } from "./waiting.ts";

/** `fairlead discard DESTINATION`: ends the waiting deliveries of a destination that is removed, disabled or paused. */
export function declareDiscard(program: Command, done: Done): void {
  const command = program
    .command("discard")
    .description("discard the waiting deliveries of a paused, disabled or removed destination")
    .argument("<destination>", "whose deliveries become failed without being sent")
    .option("--dry-run", "only print how many there are")
    .option("--yes", "do not ask; needed without a terminal")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((from: string, options: EndOptions) => done(endWaiting(wayOf(from), options)));
}

const HELP = `${examples("fairlead discard old-crm --dry-run", "fairlead discard old-crm", "fairlead discard old-crm --yes --json")}

They are kept as any that failed (outbox.keepFailed), with the reason
"discarded by operator". Ctrl-C stops between two pages.`;

function wayOf(from: string): Way {
  return {
    from,
    what: "discard",
    body: {},
    answer: discardedPage,
    question: "Discard them? They become failed, and are not sent.",
    prospect: "would become failed, without being sent",
    toWords: ({ done }) => `Discarded ${deliveries(done)} of ${printable(from)}.`,
    toJson: ({ done }) => ({ discarded: done }),
  };
}
