import { Command, CommanderError } from "commander";
import { declareAudience, declareTraits } from "./audience.ts";
import { declareBackup } from "./backup.ts";
import { declareCheck } from "./check.ts";
import type { Declare, Done } from "./command.ts";
import { complainAsJson, toJson } from "./complain.ts";
import { declareCompletion } from "./completion.ts";
import { declareDeleteUser } from "./delete-user.ts";
import { declareDeletions } from "./deletions.ts";
import { declareDeliveries } from "./deliveries.ts";
import { declareDiscard } from "./discard.ts";
import { declareDoctor } from "./doctor.ts";
import { EXIT } from "./exit.ts";
import { declareExplain } from "./explain.ts";
import { declareHelp } from "./help.ts";
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
import { declareSchema } from "./schema-command.ts";
import { declareSend } from "./send.ts";
import { declareServe } from "./serve.ts";
import { declareStatus } from "./status.ts";
import { declareVerify } from "./verify.ts";
import { declareVersion, describeVersion } from "./version.ts";

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
    // Commander has told what was wrong; help that was asked for comes this way too.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage;
    throw error;
  }
}

/** All of the command line. `done` hears how the command that was run has ended. `json`: what is wrong is told as JSON. */
export function createProgram(done: Done, { json = false } = {}): Command {
  const program = new Command("fairlead")
    .description("Takes analytics calls, makes them durable, and forwards each as a signed webhook.")
    .version(describeVersion(), "-V, --version", "print the version")
    .exitOverride()
    .configureOutput(json ? { outputError: (text, write) => write(`${jsonOf(text)}\n`) } : {})
    // What comes behind a command is that one's, and not an option of the same name of the command above it.
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

/** An error of Commander's, which comes as `error: …` with a newline. */
function jsonOf(text: string): string {
  const message = text
    .replace(/^error: /, "")
    .trim()
    .replaceAll("\n", " ");
  return toJson({ code: EXIT.usage, message });
}
