import { basename } from "node:path";
import { writeBare } from "../../../client/envelope.ts";
import type { Clock } from "../../../model/ports.ts";
import { MINUTE } from "../../../model/units.ts";
import { createClock } from "../../../runtime/clock.ts";
import { type ByteSource, isInputTerminal, openBytes } from "../../../runtime/input.ts";
import { errorColumns, isErrorTerminal, print, printError } from "../../../runtime/output.ts";
import { createRandom } from "../../../runtime/random.ts";
import { complain } from "../../complain.ts";
import { EXIT, type ExitCode } from "../../exit.ts";
import { onInterrupt } from "../../interrupt.ts";
import { createProgressBar, type ProgressBar } from "../../progress.ts";
import { createFetch } from "../fetch.ts";
import { openSender, type SendWorld } from "../library.ts";
import type { Target } from "../target.ts";
import { makeBatches } from "./batches.ts";
import { LONGEST_LINE } from "./call.ts";
import { createDeliver } from "./deliver.ts";
import { type Journal, openJournal } from "./journal.ts";
import { readLines } from "./lines.ts";
import { type About, refusalLine, toJson, toWords, whyStopped } from "./report.ts";
import { type Ended, type ImportWorld, runImport } from "./run.ts";
import { targetOf } from "./state.ts";

export type ImportOptions = { readonly json?: boolean };

/** Sends each line of a file, or with `-` of standard input, as a call, and reports what came of them. */
export async function importCalls(said: string, target: Target, { json }: ImportOptions): Promise<ExitCode> {
  const path = said === "-" ? null : said;
  if (path === null && isInputTerminal()) printError("type calls, each as JSON on a line of its own, then Ctrl-D\n");
  const opened = await openBytes(path);
  if (!opened.ok) return complain({ code: EXIT.usage, message: `cannot read --import ${said}: ${opened.why}` });
  const { source } = opened;
  const input = { path: source.size === null ? null : path, name: path ?? "standard input", source };
  try {
    const journal = await openJournal({
      ...input,
      base: target.base,
      target: targetOf(target.base, target.writeKey.reveal()),
    });
    if (typeof journal === "string") return complain({ code: EXIT.usage, message: journal });
    return await work({ ...input, journal, target, json: json === true });
  } catch (error) {
    // Of the disk: it could not be read, or the progress could not be written.
    return complain({ code: EXIT.failed, message: error instanceof Error ? error.message : String(error) });
  } finally {
    await source.close();
  }
}

type Work = {
  readonly path: string | null;
  readonly name: string;
  readonly source: ByteSource;
  readonly journal: Journal;
  readonly target: Target;
  readonly json: boolean;
};

async function work({ path, name, source, journal, target, json }: Work): Promise<ExitCode> {
  const clock = createClock();
  const beganAt = clock.now();
  const stopping = new AbortController();
  const unhook = onInterrupt(() => stopping.abort());
  const bar = createBar(clock);
  const { begun } = journal;
  if (begun.line > 0) bar.note(`going on after line ${begun.line} of ${name}`);
  const lines = readLines(source.pieces(begun.offset), { ...begun, most: LONGEST_LINE });
  try {
    const ended = await runImport(makeBatches(lines, path === null ? "" : basename(path)), {
      ...{ journal, signal: stopping.signal },
      deliver: createDeliver({
        ...{ clock, signal: stopping.signal, base: target.base },
        sender: openSender(target, createWorld(target, { clock, bar }), { write: writeBare }),
        tell: (text) => bar.note(text),
      }),
      onBatch: createTeller({ bar, clock, beganAt, source, journal }),
    });
    bar.clear();
    const { refusedFile } = journal;
    return tell(ended, { name, begun, refusedFile, elapsed: clock.now() - beganAt, resumable: path !== null }, json);
  } finally {
    bar.clear();
    unhook();
  }
}

function createWorld(
  { base }: Target,
  { clock, bar }: { readonly clock: Clock; readonly bar: ProgressBar },
): SendWorld {
  return { clock, random: createRandom(), fetch: createFetch(base, MINUTE), log: (line) => bar.note(line) };
}

function createBar(clock: Clock): ProgressBar {
  return createProgressBar({ write: printError, isTerminal: isErrorTerminal(), width: errorColumns, now: clock.now });
}

/** Only so many refused lines are told at once if all of them are in a file. */
const MOST_TOLD = 10;

type Telling = Pick<Work, "source" | "journal"> & {
  readonly bar: ProgressBar;
  readonly clock: Clock;
  readonly beganAt: number;
};

/** Tells refused lines as they come, and shows how far it is. */
function createTeller({ bar, clock, beganAt, source: { size }, journal }: Telling): ImportWorld["onBatch"] {
  const { begun, refusedFile } = journal;
  const most = refusedFile === null ? Infinity : MOST_TOLD;
  let told = 0;
  return (state, refused) => {
    for (const one of refused.slice(0, Math.max(0, most - told))) bar.note(refusalLine(one));
    if (told <= most && told + refused.length > most) bar.note(`more lines are refused: all are in ${refusedFile}`);
    told += refused.length;
    const began = { done: begun.line, share: size === null ? 0 : begun.offset / size };
    const share = size === null ? {} : { share: size === 0 ? 1 : state.offset / size };
    bar.show({ done: state.line, total: null, began, elapsed: clock.now() - beganAt, ...share });
  };
}

function tell(ended: Ended, about: About, json: boolean): ExitCode {
  if (json) print(toJson(ended, about));
  else if (ended.state.line > 0 || ended.kind === "complete") print(toWords(ended, about));
  if (ended.kind === "complete") return ended.state.refused > 0 ? EXIT.failed : EXIT.done;
  return json ? EXIT.failed : complain({ code: EXIT.failed, message: whyStopped(ended, about) });
}
