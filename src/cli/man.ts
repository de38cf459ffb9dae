import type { Command } from "commander";
import { print } from "../runtime/output.ts";
import { VERSION } from "../runtime/version.ts";
import { type Done, examples } from "./command.ts";
import { EXIT } from "./exit.ts";
import { manPage } from "./manual/man.ts";
import { describeCommand } from "./manual/table.ts";

/** `fairlead man`: prints the man page, for where there is only the binary. */
export function declareMan(program: Command, done: Done): void {
  program
    .command("man")
    .description("print the man page, of all commands and options; packages bring it along")
    .addHelpText("after", examples("fairlead man | man -l -"))
    .action(() => {
      print(manPage(describeCommand(program), { version: VERSION, date: "" }).trimEnd());
      return done(EXIT.done);
    });
}
