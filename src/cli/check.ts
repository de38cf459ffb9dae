import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { explainYaml, listSettings } from "../config/explain.ts";
import { type Loaded, loadConfig } from "../config/load.ts";
import { child, listOf, mapOf } from "../config/tree.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { aliasOf, spaceFor } from "../runtime/disk.ts";
import { print } from "../runtime/output.ts";
import { isFolder, isInOpenFolders } from "../runtime/stored-file.ts";
import { complain, type Done, EXIT, type ExitCode } from "./command.ts";
import { CONFIG_OPTION, type ConfigText, complaintOfFile, openConfigFile, printProblems } from "./config-file.ts";
import { addHelp, type HelpText } from "./help.ts";
import { paint } from "./paint.ts";

/** `fairlead check`: reports every problem of a config without starting anything. */
export function declareCheck(program: Command, done: Done): void {
  const command = program
    .command("check")
    .summary("check the config file and print every problem")
    .description("Check the config file and print every problem with its line. Starts nothing.")
    .option(...CONFIG_OPTION)
    .option("--explain", "print every key with its value and where the value comes from")
    .option("--json", "print the problems as JSON; with --explain, the keys");
  addHelp(command, HELP).action((options: CheckOptions) => done(check(options)));
}

const HELP: HelpText = {
  examples: ["fairlead check && fairlead reload", "fairlead check --config new.yaml --explain"],
  notes:
    "Secrets are printed as ***. The exit code is 0 if the config is valid, with or without warnings, and 78 if not.",
};

type CheckOptions = { readonly config?: string; readonly explain?: boolean; readonly json?: boolean };

function check(options: CheckOptions): ExitCode {
  const opened = openConfigFile(options.config);
  if (opened.kind === "unreadable") {
    const complaint = complaintOfFile(opened);
    if (!options.json) return complain(complaint);
    print(JSON.stringify({ valid: false, message: complaint.message, problems: [] }));
    return complaint.code;
  }
  const { file } = opened;
  const inspected = inspect(opened);
  const valid = inspected.problems.every(({ severity }) => severity === "warning");
  if (valid && options.explain) explain(inspected, file, options);
  else if (options.json) print(JSON.stringify({ valid, file, problems: inspected.problems }));
  else report(inspected, file, valid);
  return valid ? EXIT.done : EXIT.config;
}

/** Credentials of the systemd unit exist only inside it. Outside, a missing one is not an error. */
function inspect({ file, text, worldReadable }: Extract<ConfigText, { kind: "read" }>): Loaded {
  const resolve = createResolve();
  const credentials = resolve.env("CREDENTIALS_DIRECTORY") ? "at hand" : "unit only";
  const machine = { resolve, spaceFor, aliasOf, isFolder, isInOpenFolders, now: createClock().wall() };
  return loadConfig({ file, text, worldReadable, credentials, ...machine });
}

/** Prints warnings on standard error, so that standard output stays YAML or JSON. */
function explain(inspected: Loaded, file: string, { json }: CheckOptions): void {
  printProblems(inspected.problems);
  if (json) print(JSON.stringify({ file, settings: listSettings(inspected, file) }));
  else print(`${headOf(file)}\n\n${explainYaml(inspected, file).trimEnd()}`);
}

function headOf(file: string): string {
  return `# ${file}: every key, its value, and where the value comes from. Secrets are ***.`;
}

function report(inspected: Loaded, file: string, valid: boolean): void {
  printProblems(inspected.problems);
  // No error and no config: something, such as a credential, could not be checked.
  const reservation = inspected.config ? "" : ", as far as this user can check it";
  if (valid) print(`${printable(file)} ${paint.good("is valid")}${reservation}: ${summary(inspected)}`);
}

/** What a config contains, as `1 source, 2 destinations, 2 webhooks`, and in how many other files. */
export function summary({ tree, configFiles }: Loaded): string {
  const [sources, destinations] = [
    mapOf(child(tree ?? undefined, "sources")),
    mapOf(child(tree ?? undefined, "destinations")),
  ];
  const webhooks = [...destinations.values()].flatMap((destination) => listOf(child(destination, "webhooks")));
  return [
    count(sources.size, "source"),
    count(destinations.size, "destination"),
    count(webhooks.length, "webhook"),
    ...(configFiles.length > 1 ? [count(configFiles.length - 1, "included file")] : []),
  ].join(", ");
}

function count(number: number, word: string): string {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}
