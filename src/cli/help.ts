import type { Command } from "commander";
import { suggest } from "../config/suggest.ts";
import { type Done, examples } from "./command.ts";
import { type Complaint, complain } from "./complain.ts";
import { EXIT } from "./exit.ts";

/** `fairlead help COMMAND`: what `fairlead COMMAND --help` prints. */
export function declareHelp(program: Command, done: Done): void {
  program
    .command("help")
    .description("list the commands, or show how one of them is used")
    .argument("[command...]", "which one, as send, or deliveries show")
    .addHelpText("after", examples("fairlead help send", "fairlead help deliveries show"))
    .action((path: readonly string[]) => {
      const found = find(program, path);
      if ("message" in found) return done(complain(found));
      found.outputHelp();
      return done(EXIT.done);
    });
}

function find(program: Command, path: readonly string[]): Command | Complaint {
  let command = program;
  for (const [depth, name] of path.entries()) {
    const below = command.commands.find((one) => one.name() === name);
    if (below === undefined) return unknown(path.slice(0, depth + 1), command);
    command = below;
  }
  return command;
}

function unknown(path: readonly string[], { commands }: Command): Complaint {
  const meant = suggest(
    path.at(-1) ?? "",
    commands.map((one) => one.name()),
  );
  const before = path.slice(0, -1);
  const hint =
    meant === null
      ? `${["fairlead", ...before].join(" ")} --help lists what there is`
      : `did you mean ${[...before, meant].join(" ")}?`;
  return { code: EXIT.usage, message: `there is no command ${JSON.stringify(path.join(" "))}; ${hint}` };
}
