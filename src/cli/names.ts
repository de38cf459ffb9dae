import { Argument, type Command } from "commander";
import * as v from "valibot";
import { namesUnder } from "../config/parts.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { createResolve } from "../runtime/config-files.ts";
import { print } from "../runtime/output.ts";
import { type Done, EXIT, type ExitCode } from "./command.ts";
import { openConfigFile } from "./config-file.ts";
import { addDaemonOptions, type DaemonOptions, findDaemon, readAnswer, send } from "./daemon.ts";
import { addHelp } from "./help.ts";

const SECTIONS = ["destinations", "sources"] as const;
type Section = (typeof SECTIONS)[number];

/** `fairlead names destinations|sources`: a hidden command that the completions of shells call. */
export function declareNames(program: Command, done: Done): void {
  const command = program
    .command("names", { hidden: true })
    .description("Print the names of the destinations or of the sources, one per line.")
    .addArgument(new Argument("<what>", "destinations or sources").choices(SECTIONS));
  addHelp(addDaemonOptions(command), { examples: ["fairlead names destinations", "fairlead names sources"] }).action(
    (what: Section, options: DaemonOptions) => done(printNames(what, options)),
  );
}

/** Prints no errors: they would appear in the middle of the line that the user is typing. */
async function printNames(what: Section, options: DaemonOptions): Promise<ExitCode> {
  const names = (await askNames(what, options)) ?? readNames(what, options);
  if (names.length > 0) print(names.filter(isName).join("\n"));
  return EXIT.done;
}

const PATIENCE: Ms = SECOND / 2;

/** The daemon also knows removed destinations with waiting deliveries. Null if it does not answer at once. */
async function askNames(what: Section, options: DaemonOptions): Promise<readonly string[] | null> {
  const daemon = findDaemon(options, createResolve());
  if ("code" in daemon) return null;
  const question = { path: "/api/status", answer: status, by: { method: "GET", timeout: PATIENCE } };
  const answer = readAnswer(await send(daemon, question), { daemon, question });
  return "value" in answer ? answer.value[what].map(({ name }) => name) : null;
}

/** The part of the status that is needed: any version of the daemon has it. */
const named = v.array(v.object({ name: v.string() }));
const status = v.object({ destinations: named, sources: named });

function readNames(what: Section, { config }: DaemonOptions): readonly string[] {
  const opened = openConfigFile(config);
  return opened.kind === "read" ? namesUnder(what, { ...opened, resolve: createResolve() }) : [];
}

/** Whether a shell reads it as one word, like every name that a config may have. */
function isName(name: string): boolean {
  return /^[\w.-]+$/.test(name);
}
