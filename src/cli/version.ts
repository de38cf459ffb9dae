import type { Command } from "commander";
import { print } from "../runtime/output.ts";
import { runtimeName, VERSION } from "../runtime/version.ts";
import { type Done, examples } from "./command.ts";
import { EXIT, type ExitCode } from "./exit.ts";

/** `fairlead version`: what this binary is. */
export function declareVersion(program: Command, done: Done): void {
  program
    .command("version")
    .description("print the version")
    .option("--json", "print it as JSON")
    .addHelpText("after", examples("fairlead version --json"))
    .action((options: VersionOptions) => done(version(options)));
}

type VersionOptions = { readonly json?: boolean };

function version(options: VersionOptions): ExitCode {
  const facts = { version: VERSION, runtime: runtimeName(), platform: platformName() };
  if (options.json) print(JSON.stringify(facts));
  else print(describeVersion());
  return EXIT.done;
}

/** In a line, for people. */
export function describeVersion(): string {
  return `fairlead ${VERSION} (${runtimeName()}, ${platformName()})`;
}

function platformName(): string {
  return `${process.platform}-${process.arch}`;
}
