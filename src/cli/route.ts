import { Argument, type Command } from "commander";
import { createTryCall } from "../accept/try-call.ts";
import { printable } from "../client/show.ts";
import { loadConfig } from "../config/load.ts";
import { suggest } from "../config/suggest.ts";
import type { Config, Source } from "../model/config.ts";
import { CALL_TYPES, type CallType, type Preview } from "../model/event.ts";
import { isFault } from "../model/fault.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { print } from "../runtime/output.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, table, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, type ConfigText, complaintOfFile, openConfigFile, printProblems } from "./config-file.ts";
import { showBody } from "./deliveries.ts";
import { addHelp, type HelpText } from "./help.ts";
import { paint } from "./paint.ts";
import { addCallOptions, type OneCall, readCall, TYPES_OF_CALL } from "./send/call-options.ts";

/** `fairlead route`: says who would get a call and why the others would not, by the config file alone. */
export function declareRoute(program: Command, done: Done): void {
  const command = program
    .command("route")
    .summary("show which destinations would get a call, and why")
    .description(
      "Show which destinations would get a call, and why the others would not. It reads only the config file.",
    )
    .addArgument(new Argument("[type]", TYPES_OF_CALL).choices(CALL_TYPES));
  addCallOptions(command);
  command
    .optionsGroup("Options:")
    .option("--source <name>", "the source to send as (default: the first enabled)")
    .option(...CONFIG_OPTION)
    .option("--json", "print the result as JSON");
  addHelp(command, HELP).action((type: CallType | undefined, options: RouteOptions) => done(routeCall(type, options)));
}

const HELP: HelpText = {
  examples: [
    `fairlead route track --event "Order Completed"`,
    "fairlead route --data @call.json --source website --json",
  ],
  notes: `The dashboard and POST /api/route show the same for the config of the running daemon.`,
  moreExamples: [`fairlead route track --event "Order Completed" --properties '{"total":42}'`],
};

type RouteOptions = OneCall & { readonly config?: string; readonly source?: string; readonly json?: boolean };

async function routeCall(type: CallType | undefined, options: RouteOptions): Promise<ExitCode> {
  const read = await readCall(type, options);
  if (typeof read === "string") return complain(wrongUsage(read));
  const opened = openConfigFile(options.config);
  if (opened.kind === "unreadable") return complain(complaintOfFile(opened));
  const config = readConfig(opened);
  if (config === null) return EXIT.config;
  const source = findSource(options.source, config.sources);
  if ("code" in source) return complain(source);
  const tryCall = createTryCall({ config: () => config, clock: createClock() });
  const results = tryCall(source, { ...read.call, type: read.type });
  if (isFault(results)) {
    const { code, message } = results;
    return complain({ code: EXIT.failed, message: `the call would be refused: ${code}: ${message}`, error: code });
  }
  const shown = { source: source.name, results };
  print(options.json ? printable(JSON.stringify(shown)) : toWords(shown, read.type));
  return EXIT.done;
}

/** Its warnings are the affair of `fairlead check`. Null after printing its problems, if it cannot be used. */
function readConfig({ file, text }: Extract<ConfigText, { kind: "read" }>): Config | null {
  const resolve = createResolve();
  const isUnit = Boolean(resolve.env("CREDENTIALS_DIRECTORY"));
  const { config, problems } = loadConfig({
    file,
    text,
    // Those of systemd's unit decide nothing here, and are different from each other.
    resolve: isUnit ? resolve : { ...resolve, credential: (name) => ({ ok: true, text: name, worldReadable: false }) },
    now: createClock().wall(),
  });
  if (config === null) printProblems(problems);
  return config;
}

function findSource(name: string | undefined, sources: readonly Source[]): Source | Complaint {
  const found = sources.find((one) => (name === undefined ? one.enabled : one.name === name));
  if (found?.enabled) return found;
  if (found) return wrongUsage(`the source ${found.name} is disabled, so its calls are refused`);
  if (name === undefined) return wrongUsage("the config has no enabled source");
  const names = sources.map((one) => one.name);
  const meant = suggest(name, names);
  return wrongUsage(
    `the config has no source ${name}: ${meant ? `did you mean ${meant}?` : `there are ${names.join(", ")}`}`,
  );
}

type Shown = { readonly source: string; readonly results: readonly Preview[] };

export function toWords({ source, results }: Shown, type: CallType): string {
  if (results.length === 0) return `No destination would get a ${type} call from ${source}: the config has none.`;
  const rows = results.map(({ destination, gets, rule, why }) => {
    const verdict = gets ? paint.good("gets it") : paint.faint("does not");
    return [`  ${printable(destination)}`, verdict, printable(gets ? why : `${why} (${rule})`)];
  });
  const bodies = results.flatMap(({ destination, body }) =>
    body === null ? [] : [`\n${printable(destination)} would get, by its template:\n${showBody(body)}`],
  );
  return [`A ${type} call from ${source}:\n${table(null, rows)}`, ...bodies].join("\n");
}
