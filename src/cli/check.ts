import type { Command } from "commander";
import type { Config } from "../model/config.ts";
import { print, printError } from "../runtime/terminal.ts";
import { type Done, examples } from "./command.ts";
import { CONFIG_OPTION, printProblems, readConfig } from "./config-file.ts";
import { EXIT, type ExitCode } from "./exit.ts";

/** `fairlead check`: says whether a config can be used, and all that is wrong with it, without starting anything. */
export function declareCheck(program: Command, done: Done): void {
  program
    .command("check")
    .description("say whether the config can be used, and all that is wrong with it")
    .option(...CONFIG_OPTION)
    .option("--json", "print the problems as JSON")
    .addHelpText("after", examples("fairlead check --config config.yaml && systemctl reload fairlead"))
    .action((options: CheckOptions) => done(check(options)));
}

type CheckOptions = { readonly config?: string; readonly json?: boolean };

function check(options: CheckOptions): ExitCode {
  const read = readConfig(options.config);
  if (read.kind === "unreadable") {
    if (options.json) print(JSON.stringify({ valid: false, message: read.message, problems: [] }));
    else printError(`fairlead: ${read.message}\n`);
    return EXIT.config;
  }
  const { config, problems } = read.loaded;
  if (options.json) print(JSON.stringify({ valid: config !== null, file: read.file, problems }));
  else {
    printProblems(problems);
    if (config) print(`${read.file} is valid: ${summary(config)}`);
  }
  return config ? EXIT.done : EXIT.config;
}

function summary({ sources, destinations }: Config): string {
  const webhooks = destinations.reduce((sum, destination) => sum + destination.webhooks.length, 0);
  return [count(sources.length, "source"), count(destinations.length, "destination"), count(webhooks, "webhook")].join(
    ", ",
  );
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
