import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { discardedPage } from "../wire/deliveries.ts";
import type { Done } from "./command.ts";
import { addDaemonOptions } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { deliveries, type EndOptions, endWaiting, type Way } from "./waiting.ts";

/** `fairlead discard DESTINATION`: ends the waiting deliveries of a destination that is removed, disabled or paused. */
export function declareDiscard(program: Command, done: Done): void {
  const command = program
    .command("discard")
    .summary("discard the waiting deliveries of a destination")
    .description(
      "Discard the waiting deliveries of a paused, disabled or removed destination: they fail without being sent.",
    )
    .argument("<destination>", "the destination whose deliveries are discarded")
    .option("--dry-run", "only print how many there are")
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), HELP).action((from: string, options: EndOptions) =>
    done(endWaiting(wayOf(from), options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead discard old-crm --dry-run", "fairlead discard old-crm"],
  notes: `They are kept like other failed deliveries (outbox.keepFailed), with the reason "discarded by operator". Ctrl-C stops after the current page.`,
};

function wayOf(from: string): Way {
  return {
    from,
    what: "discard",
    body: {},
    answer: discardedPage,
    question: "Discard them? They will not be sent.",
    prospect: "would fail without being sent",
    toWords: ({ done }) => `Discarded ${deliveries(done)} of ${printable(from)}.`,
    toJson: ({ done }) => ({ discarded: done }),
  };
}
