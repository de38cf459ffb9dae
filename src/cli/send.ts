import { Argument, type Command, InvalidArgumentError } from "commander";
import { CALL_TYPES, type CallType } from "../model/event.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { createResolve } from "../runtime/config-files.ts";
import { print, printError } from "../runtime/output.ts";
import { createRandom } from "../runtime/random.ts";
import { complain, type Done, EXIT, type ExitCode, failed, wrongUsage } from "./command.ts";
import { CONFIG_OPTION } from "./config-file.ts";
import { addHelp, type HelpText } from "./help.ts";
import { sendCall, toJson, toWords } from "./send/answer.ts";
import { optionOfOneCall } from "./send/call.ts";
import { addCallOptions, type OneCall, readCall, TYPES_OF_CALL } from "./send/call-options.ts";
import { type ImportOptions, importCalls } from "./send/import.ts";
import type { SendWorld } from "./send/sender.ts";
import { createFetch } from "./send/sender.ts";
import { findTarget, type Target, type TargetOptions } from "./send/target.ts";

/** `fairlead send`: sends one call to the running daemon as a client library would, and prints the result. */
export function declareSend(program: Command, done: Done): void {
  const command = program
    .command("send")
    .summary("send a test call, or import calls from a file")
    .description("Send one call as the client library does, or import many from a file.")
    .addArgument(new Argument("[type]", TYPES_OF_CALL).choices(CALL_TYPES));
  addCallOptions(command);
  addImportOptions(command);
  addTargetOptions(command);
  addHelp(command, HELP).action((type: CallType | undefined, options: SendOptions) => {
    return done(options.import === undefined ? sendOne(type, options) : importAll(options.import, type, options));
  });
}

function addImportOptions(command: Command): void {
  command
    .optionsGroup("Many calls:")
    .option("--import <file>", "a file with a call as JSON on each line; - for stdin")
    .option("--from-line <number>", "with --import: begin at this line", toLine);
}

function toLine(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a line number, from 1.");
}

function addTargetOptions(command: Command): void {
  command
    .optionsGroup("Options:")
    .option("--source <name>", "the source to send as (default: the first enabled)")
    .option(...CONFIG_OPTION)
    .option("--url <url>", "without a config: http://host:port or unix:/path")
    .option("--write-key-file <file>", "with --url: the key (default: $FAIRLEAD_WRITE_KEY)")
    .option("--json", "print the answer as JSON");
}

const HELP: HelpText = {
  examples: [
    `fairlead send track --event "Signed Up" --properties '{"plan":"pro"}'`,
    "fairlead send --import events.jsonl --source website",
  ],
  more: `Fields that you leave out have defaults. A call given with --data is sent unchanged, without defaults and without the checks of the client library, so that the daemon judges it; the other options replace its fields.

An import can be interrupted and repeated: the daemon recognises the calls that it has, for 24 hours. Refused lines are listed in a file beside the input, with the extension .refused.`,
  moreExamples: [
    "fairlead send track",
    `fairlead send identify --user u1 --traits '{"email":"a@example.com"}'`,
    "fairlead send page --name Home --user u1",
    "fairlead send screen --name Start --anonymous a1",
    "fairlead send group --group g1 --user u1",
    "fairlead send alias --user u1 --previous a1",
    "fairlead send track --data @call.json --source website --json",
    "FAIRLEAD_WRITE_KEY=change-me fairlead send track --url http://127.0.0.1:8080",
  ],
};

type SendOptions = OneCall & TargetOptions & ImportOptions & { readonly import?: string };

async function importAll(file: string, type: CallType | undefined, options: SendOptions): Promise<ExitCode> {
  const single = type ?? optionOfOneCall(options);
  if (single !== undefined) return complain(wrongUsage(`${single} describes one call; ${EACH_LINE}`));
  const target = findTarget(options, createResolve());
  return "code" in target ? complain(target) : importCalls(file, target, options);
}

const EACH_LINE = "with --import, each line is a whole call";

async function sendOne(type: CallType | undefined, options: SendOptions): Promise<ExitCode> {
  if (options.fromLine !== undefined) return complain(wrongUsage("--from-line needs --import"));
  if (type === undefined) return complain(wrongUsage(KINDLESS));
  const read = await readCall(type, options);
  if (typeof read === "string") return complain(wrongUsage(read));
  const { call } = read;
  const target = findTarget(options, createResolve());
  if ("code" in target) return complain(target);
  const isWhole = options.data !== undefined;
  const answer = await sendCall({ type, call, isWhole }, target, createWorld(target));
  const sent = { type, messageId: String(call.messageId), base: target.base };
  const isTaken = answer.kind === "accepted" || answer.kind === "duplicate";
  if (options.json) print(toJson(answer, sent));
  else if (isTaken) print(toWords(answer, sent));
  else complain(failed(toWords(answer, sent)));
  return isTaken ? EXIT.done : EXIT.failed;
}

const KINDLESS = `name the type of call (${CALL_TYPES.join(", ")}), or use --import`;

function createWorld({ base }: Target): SendWorld {
  const log = (line: string): void => printError(`${line}\n`);
  return { clock: createClock(), random: createRandom(), fetch: createFetch(base, TIMEOUT), log };
}

const TIMEOUT: Ms = 10 * SECOND;
