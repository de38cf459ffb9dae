import { Argument, type Command } from "commander";
import { print } from "../runtime/output.ts";
import { type Done, examples } from "./command.ts";
import { EXIT } from "./exit.ts";
import { bashCompletion } from "./manual/bash.ts";
import { fishCompletion } from "./manual/fish.ts";
import { type CommandRow, describeCommand } from "./manual/table.ts";
import { zshCompletion } from "./manual/zsh.ts";

/** What each shell that can be helped wants. */
export const COMPLETIONS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const satisfies Record<
  string,
  (program: CommandRow) => string
>;
type Shell = keyof typeof COMPLETIONS;

/** `fairlead completion SHELL`: prints what makes a shell complete this command line. */
export function declareCompletion(program: Command, done: Done): void {
  program
    .command("completion")
    .description("print what makes a shell complete commands and options; packages bring it along")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(COMPLETIONS)))
    .addHelpText("after", HELP)
    .action((shell: Shell) => {
      print(COMPLETIONS[shell](describeCommand(program)).trimEnd());
      return done(EXIT.done);
    });
}

const HELP = examples(
  "source <(fairlead completion bash)      # in ~/.bashrc; for zsh in ~/.zshrc, after compinit",
  "fairlead completion fish > ~/.config/fish/completions/fairlead.fish",
);
