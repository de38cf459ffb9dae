import type { Command } from "commander";
import { print } from "../runtime/terminal.ts";
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
  const runtime = runtimeName();
  const platform = `${process.platform}-${process.arch}`;
  if (options.json) print(JSON.stringify({ version: VERSION, runtime, platform }));
  else print(`fairlead ${VERSION} (${runtime}, ${platform})`);
  return EXIT.done;
}
