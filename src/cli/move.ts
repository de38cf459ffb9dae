import type { Command } from "commander";
import type { Moved, Redirect } from "../model/unserved.ts";
import { type Done, examples } from "./command.ts";
import { addDaemonOptions, destinationPath } from "./daemon.ts";
import { printable } from "./printable.ts";
import { deliveries, type EndOptions, endWaiting, hasMore, hasNumbers, type Way } from "./waiting.ts";

/** `fairlead move OLD NEW`: has what waits for a destination that is removed, disabled or paused delivered to another. */
export function declareMove(program: Command, done: Done): void {
  const command = program
    .command("move")
    .description("deliver what waits for a destination that is paused, disabled or removed from the config to another")
    .argument("<old>", "the destination that they wait for")
    .argument("<new>", "the one of the config that is to get them, whatever types and sources it takes")
    .option("--dry-run", "only say how many there are")
    .option("--yes", "do not ask; needed where nobody can be asked")
    .option("--json", "print what was done as JSON");
  addDaemonOptions(command)
    .addHelpText("after", HELP)
    .action((from: string, to: string, options: EndOptions) => done(endWaiting(wayOf({ from, to }), options)));
}

const HELP = `${examples("fairlead move old-crm crm --dry-run", "fairlead move old-crm crm", "fairlead move old-crm crm --yes --json")}

The new one has four hours for each, as if it had just come in. What it has
already does not go to it again: that becomes failed. Ctrl-C stops between
two pages.`;

function wayOf({ from, to }: Redirect): Way<Moved> {
  const name = printable(to);
  return {
    from,
    path: destinationPath(from, "move"),
    body: { to },
    isSaid: isMoved,
    question: `Move them to ${name}?`,
    prospect: `would be moved to ${name}`,
    wish: { to },
    countOf: ({ moved, doubled }) => moved + doubled,
    toWords(pages) {
      const { moved, doubled } = total(pages);
      const all = `Moved ${deliveries(moved)} from ${printable(from)} to ${name}.`;
      if (doubled === 0) return all;
      const events = doubled === 1 ? "that event" : "those events";
      return `${all}\n${deliveries(doubled)} failed instead: ${name} has ${events} already.`;
    },
    toJson: (pages) => ({ to, ...total(pages) }),
  };
}

function total(pages: readonly Moved[]): Pick<Moved, "moved" | "doubled"> {
  const none = { moved: 0, doubled: 0 };
  return pages.reduce((sum, page) => ({ moved: sum.moved + page.moved, doubled: sum.doubled + page.doubled }), none);
}

function isMoved(said: unknown): said is Moved {
  return hasNumbers(said, "moved", "doubled") && hasMore(said);
}
