import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { movedPage } from "../wire/deliveries.ts";
import type { Done } from "./command.ts";
import { addDaemonOptions } from "./daemon.ts";
import { addHelp, type HelpText } from "./help.ts";
import { deliveries, type EndOptions, endWaiting, type Way } from "./waiting.ts";

/**
 * `fairlead move OLD NEW`: moves the waiting deliveries of a destination that is removed, disabled or paused to another one.
 */
export function declareMove(program: Command, done: Done): void {
  const command = program
    .command("move")
    .summary("move waiting deliveries to another destination")
    .description("Move the waiting deliveries of a paused, disabled or removed destination to another destination.")
    .argument("<old>", "the destination they are waiting for")
    .argument("<new>", "the destination that gets them, whatever its types and sources")
    .option("--dry-run", "only print how many there are")
    .option("--yes", "do not ask for confirmation; required without a terminal")
    .option("--json", "print what was done as JSON");
  addHelp(addDaemonOptions(command), HELP).action((from: string, to: string, options: EndOptions) =>
    done(endWaiting(wayOf(from, to), options)),
  );
}

const HELP: HelpText = {
  examples: ["fairlead move old-crm crm --dry-run", "fairlead move old-crm crm"],
  notes: `Each delivery gets a new cutoff. An event that the new destination already has is not sent twice: the old delivery fails instead. Ctrl-C stops after the current page.`,
};

function wayOf(from: string, to: string): Way {
  const name = printable(to);
  return {
    from,
    what: "move",
    body: { to },
    answer: movedPage,
    question: `Move them to ${name}?`,
    prospect: `would be moved to ${name}`,
    toWords({ done, doubled }) {
      const all = `Moved ${deliveries(done)} from ${printable(from)} to ${name}.`;
      if (doubled === 0) return all;
      const events = doubled === 1 ? "that event" : "those events";
      return `${all}\n${deliveries(doubled)} failed instead: ${name} already has ${events}.`;
    },
    toJson: ({ done, doubled }) => ({ to, moved: done, doubled }),
  };
}
