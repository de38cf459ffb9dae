import { Command, CommanderError } from "commander";
import { suggest } from "../config/suggest.ts";
import { print } from "../runtime/output.ts";
import { runtimeName, VERSION } from "../runtime/version.ts";
import { declareAudience, declareTraits } from "./audience.ts";
import { declareBackup } from "./backup.ts";
import { declareCheck } from "./check.ts";
import {
  type Complaint,
  complain,
  complainAsJson,
  type Declare,
  type Done,
  EXIT,
  examples,
  toJson,
  wrongUsage,
} from "./command.ts";
import { declareCompletion } from "./completion.ts";
import { declareDeleteUser } from "./delete-user.ts";
import { declareDeletions } from "./deletions.ts";
import { declareDeliveries } from "./deliveries.ts";
import { declareDiscard } from "./discard.ts";
import { declareDoctor } from "./doctor.ts";
import { declareExplain } from "./explain.ts";
import { declareListen } from "./listen.ts";
import { declareMan } from "./man.ts";
import { declareMove } from "./move.ts";
import { declareNames } from "./names.ts";
import { declarePause, declareResume } from "./pause.ts";
import { declareRejected } from "./rejected.ts";
import { declareReload } from "./reload.ts";
import { declareReplay } from "./replay.ts";
import { declareRestore } from "./restore.ts";
import { declareRetry } from "./retry.ts";
import { declareSchema } from "./schema.ts";
import { declareSend } from "./send.ts";
import { declareServe } from "./serve.ts";
import { declareStatus } from "./status.ts";
import { declareVerify } from "./verify.ts";

/** All commands, as `fairlead --help` lists them. */
const COMMANDS: readonly (readonly [heading: string, commands: readonly Declare[]])[] = [
  ["Run it:", [declareServe, declareCheck, declareSchema]],
  ["Try it:", [declareSend, declareListen, declareVerify]],
  ["Watch it:", [declareStatus, declareDeliveries, declareExplain, declareRejected, declareDoctor]],
  [
    "Change it:",
    [declareReload, declarePause, declareResume, declareRetry, declareReplay, declareMove, declareDiscard],
  ],
  ["Feed it:", [declareAudience, declareTraits]],
  ["Delete people:", [declareDeleteUser, declareDeletions]],
  ["Keep it:", [declareBackup, declareRestore]],
  ["About it:", [declareHelp, declareVersion, declareMan, declareCompletion, declareNames]],
];

/** Runs the command that the arguments name. Resolves with the exit code. */
export async function run(argv: readonly string[]): Promise<number> {
  let code: number = EXIT.done;
  const json = argv.includes("--json");
  complainAsJson(json);
  const done: Done = async (result) => {
    code = await result;
  };
  const program = createProgram(done, { json });
  try {
    await program.parseAsync([...argv], { from: "user" });
    return code;
  } catch (error) {
    // Commander has already printed the error or the requested help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

/** The whole command line. `done` takes the result of the command that was run. `json`: errors are printed as JSON. */
export function createProgram(done: Done, { json = false } = {}): Command {
  const program = new Command("fairlead")
    .description("Takes analytics calls, makes them durable, and forwards each as a signed webhook.")
    .version(describeVersion(), "-V, --version", "print the version")
    .exitOverride()
    .configureOutput(json ? { outputError: (text, write) => write(`${jsonOf(text)}\n`) } : {})
    // Options after a subcommand belong to it, not to an option of its parent with the same name.
    .enablePositionalOptions()
    .configureHelp({ showGlobalOptions: false })
    .helpCommand(false);
  for (const [heading, commands] of COMMANDS) {
    program.commandsGroup(heading);
    for (const declare of commands) declare(program, done);
  }
  if (!json) pointToHelp(program, []);
  return program;
}

/** After an error, each command points to its own help. */
function pointToHelp(command: Command, path: readonly string[]): void {
  const shows = path.length === 0 ? "lists the commands" : "shows how it is used";
  command.showHelpAfterError(`(${["fairlead", ...path].join(" ")} --help ${shows})`);
  for (const one of command.commands) pointToHelp(one, [...path, one.name()]);
}

/** An error of Commander: `error: …` with a newline. */
function jsonOf(text: string): string {
  const message = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return toJson(wrongUsage(message));
}

/** `fairlead help COMMAND`: what `fairlead COMMAND --help` prints. */
function declareHelp(program: Command, done: Done): void {
  program
    .command("help")
    .description("list the commands, or show how one of them is used")
    .argument("[command...]", "the command, as send, or deliveries show")
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
  return wrongUsage(`there is no command ${JSON.stringify(path.join(" "))}; ${hint}`);
}

/** `fairlead version`: what this binary is. */
function declareVersion(program: Command, done: Done): void {
  program
    .command("version")
    .description("print the version")
    .option("--json", "print it as JSON")
    .addHelpText("after", examples("fairlead version --json"))
    .action(({ json }: { readonly json?: boolean }) => {
      const facts = { version: VERSION, runtime: runtimeName(), platform: PLATFORM };
      print(json ? JSON.stringify(facts) : describeVersion());
      return done(EXIT.done);
    });
}

const PLATFORM = `${process.platform}-${process.arch}`;

function describeVersion(): string {
  return `fairlead ${VERSION} (${runtimeName()}, ${PLATFORM})`;
}
