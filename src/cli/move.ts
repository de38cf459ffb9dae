import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { movedPage } from "../wire/deliveries.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions } from "./daemon.ts";
import { deliveries, type EndOptions, endWaiting, type Way } from "./waiting.ts";

/**
 * `fairlead move OLD NEW`: moves the waiting deliveries of a destination that is removed, disabled or paused to another one.
 */
export function declareMove(program: Command, done: Done): void {
  const command = program
    .command("move")
    .description("move the waiting deliveries of a paused, disabled or removed destination to another one")
    .argument("<old>", "the destination they wait for")
    .argument("<new>", "the configured destination that gets them, whatever types and sources it takes")
    .option("--dry-run", "only print how many there are")
    .option("--yes", "do not ask; needed without a terminal")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((from: string, to: string, options: EndOptions) => done(endWaiting(wayOf(from, to), options)));
}

const HELP = `${examples("fairlead move old-crm crm --dry-run", "fairlead move old-crm crm", "fairlead move old-crm crm --yes --json")}

The new one has the time of its cutoff for each, as if it had just come in. What it has
already does not go to it again: that becomes failed. Ctrl-C stops between
two pages.`;

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
      return `${all}\n${deliveries(doubled)} failed instead: ${name} has ${events} already.`;
    },
    toJson: ({ done, doubled }) => ({ to, moved: done, doubled }),
  };
}
