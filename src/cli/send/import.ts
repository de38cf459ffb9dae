import { basename } from "node:path";
import { writeBare } from "../../client/envelope.ts";
import { printable } from "../../client/show.ts";
import { formatDuration, MINUTE, type Ms, SECOND } from "../../model/units.ts";
import { createClock } from "../../runtime/clock.ts";
import { isInputTerminal, openBytes } from "../../runtime/input.ts";
import { appendToFile, removeFile } from "../../runtime/new-file.ts";
import { print, printError } from "../../runtime/output.ts";
import { createRandom } from "../../runtime/random.ts";
import { complain, EXIT, type ExitCode, failed, wrongUsage } from "../command.ts";
import { onInterrupt, openProgressBar, type ProgressBar } from "../progress.ts";
import { createDeliver, type Deliver, type Taken } from "./import-batch.ts";
import { type Batch, LONGEST_LINE, makeBatches, type RefusedLine, readLines } from "./import-lines.ts";
import { createFetch, openSender } from "./sender.ts";
import type { Target } from "./target.ts";

export type ImportOptions = {
  readonly json?: boolean;
  /** The first line that is sent, counted from 1. */
  readonly fromLine?: number;
};

/**
 * Sends each line of a file, or with `-` of standard input, as a call, and reports the result. An interrupted import leaves
 * no state: the same lines get the same messageIds, so the daemon recognises what it already has.
 */
export async function importCalls(file: string, target: Target, options: ImportOptions): Promise<ExitCode> {
  const path = file === "-" ? null : file;
  if (path === null && isInputTerminal()) printError("type calls, one per line as JSON, then Ctrl-D\n");
  const opened = await openBytes(path);
  if (!opened.ok) return complain(wrongUsage(`cannot read --import ${file}: ${opened.why}`));
  const { source } = opened;
  const { json = false, fromLine = 1 } = options;
  const clock = createClock();
  const beganAt = clock.now();
  const bar = openProgressBar(clock);
  // A server may have worded it.
  const noteSafely = (text: string): void => bar.note(printable(text));
  const stopping = new AbortController();
  const unhook = onInterrupt(() => stopping.abort());
  const world = { clock, random: createRandom(), fetch: createFetch(target.base, MINUTE), log: bar.note };
  const sender = openSender(target, world, { write: writeBare });
  // A pipe has no name, and nothing can be written beside it.
  const name = source.size === null ? "" : basename(file);
  const refusedFile = source.size === null ? null : `${file}.refused`;
  const batches = makeBatches(readLines(source.pieces, LONGEST_LINE), { name, fromLine });
  try {
    const ended = await runImport(batches, {
      deliver: createDeliver({ sender, clock, signal: stopping.signal, base: target.base, note: noteSafely }),
      listRefused: createRefusedList(refusedFile, { append: fromLine > 1 }),
      signal: stopping.signal,
      onBatch: createTeller(bar, { size: source.size, refusedFile, fromLine, elapsed: () => clock.now() - beganAt }),
    });
    bar.clear();
    const about = { name: path ?? "standard input", fromLine, refusedFile, elapsed: clock.now() - beganAt };
    return report(ended, about, json);
  } catch (error) {
    bar.clear();
    // The input could not be read, or the list of refused lines could not be written.
    return complain(failed(error instanceof Error ? error.message : String(error)));
  } finally {
    unhook();
    await source.close();
  }
}

/** The progress of an import. `line`: the last settled one, 0 if none. */
export type Tally = {
  readonly line: number;
  readonly accepted: number;
  readonly duplicate: number;
  readonly refused: number;
};

/** How an import has ended. `why`: what stopped it; null if the user did. */
export type Ended =
  | { readonly kind: "complete"; readonly tally: Tally }
  | { readonly kind: "stopped"; readonly tally: Tally; readonly why: string | null };

export type ImportWorld = {
  readonly deliver: Deliver;
  /** Called for each batch that was acknowledged, with its refused lines. */
  readonly listRefused: (refused: readonly RefusedLine[]) => Promise<void>;
  readonly signal: AbortSignal;
  /** Called after each batch, for the progress. */
  readonly onBatch: (batch: Batch, tally: Tally, refused: readonly RefusedLine[]) => void;
};

/** Sends one batch after another, and lists the refused lines of each before it sends the next. */
export async function runImport(batches: AsyncIterator<Batch>, world: ImportWorld): Promise<Ended> {
  const { deliver, listRefused, signal, onBatch } = world;
  let tally: Tally = { line: 0, accepted: 0, duplicate: 0, refused: 0 };
  for (;;) {
    const next = await unlessAborted(batches, signal);
    if (next === null) return { kind: "stopped", tally, why: null };
    if (next.done) return { kind: "complete", tally };
    const batch = next.value;
    const taken = batch.calls.length === 0 ? NONE : await deliver(batch.calls);
    if (taken.kind === "given-up") return { kind: "stopped", tally, why: taken.why };
    const refused = refusedOf(batch, taken);
    tally = {
      line: batch.lastLine,
      accepted: tally.accepted + taken.accepted,
      duplicate: tally.duplicate + taken.duplicate,
      refused: tally.refused + refused.length,
    };
    await listRefused(refused);
    onBatch(batch, tally, refused);
  }
}

/** The next batch; null once the import is aborted: the other end of a pipe may never write again. */
async function unlessAborted(
  batches: AsyncIterator<Batch>,
  signal: AbortSignal,
): Promise<IteratorResult<Batch> | null> {
  if (signal.aborted) return null;
  const { promise: aborted, resolve } = Promise.withResolvers<null>();
  const stop = (): void => resolve(null);
  signal.addEventListener("abort", stop);
  try {
    return await Promise.race([batches.next(), aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

const NONE: Taken = { kind: "taken", accepted: 0, duplicate: 0, rejected: [] };

/** In the order of their lines. */
function refusedOf({ refused }: Batch, { rejected }: Taken): readonly RefusedLine[] {
  const byDaemon = rejected.map(({ call, code, message }) => ({ line: call.line, code, message, text: call.original }));
  return [...refused, ...byDaemon].sort((a, b) => a.line - b.line);
}

/** Writes refused lines to a file. The list of an earlier import stays until the first batch of this one is acknowledged. */
export function createRefusedList(path: string | null, { append }: { append: boolean }): ImportWorld["listRefused"] {
  let begun = append;
  return async (refused) => {
    if (path === null) return;
    if (!begun) await removeFile(path);
    begun = true;
    const list = refused.map((one) => `${JSON.stringify(one)}\n`).join("");
    if (list !== "") await appendToFile(path, list);
  };
}

/** More refused lines than this are not printed if all of them are in a file. */
const MOST_TOLD = 10;

type Telling = {
  /** Of the input, in bytes; null if it is a pipe. */
  readonly size: number | null;
  readonly refusedFile: string | null;
  readonly fromLine: number;
  readonly elapsed: () => Ms;
};

/** Prints refused lines as they come, and shows the progress. */
function createTeller(bar: ProgressBar, { size, refusedFile, fromLine, elapsed }: Telling): ImportWorld["onBatch"] {
  const most = refusedFile === null ? Infinity : MOST_TOLD;
  let noted = 0;
  let began: { readonly done: number; readonly share: number } | null = null;
  const shareOf = (offset: number): number => (size ? offset / size : 0);
  return (batch, { line }, refused) => {
    for (const one of refused.slice(0, Math.max(0, most - noted))) bar.note(refusalLine(one));
    if (noted <= most && noted + refused.length > most)
      bar.note(`more lines are refused; ${refusedFile} lists all of them`);
    noted += refused.length;
    began ??= { done: fromLine - 1, share: shareOf(batch.start) };
    const share = size === null ? {} : { share: shareOf(batch.end) };
    bar.show({ done: line, total: null, began, elapsed: elapsed(), ...share });
  };
}

/** A refused line, as it is printed at once. */
export function refusalLine({ line, code, message }: RefusedLine): string {
  return printable(`line ${line}: ${code}: ${message}`);
}

/** What the report needs besides the ending. */
export type About = {
  /** The input, as the user named it. */
  readonly name: string;
  readonly fromLine: number;
  readonly elapsed: Ms;
  /** Where refused lines are listed; null if they were only printed. */
  readonly refusedFile: string | null;
};

function report(ended: Ended, about: About, json: boolean): ExitCode {
  if (json) print(toJson(ended, about));
  else if (ended.tally.line > 0 || ended.kind === "complete") print(toWords(ended, about));
  if (ended.kind === "complete") return ended.tally.refused > 0 ? EXIT.failed : EXIT.done;
  return json ? EXIT.failed : complain(failed(whyStopped(ended, about)));
}

/** The report for people. */
export function toWords({ kind, tally }: Ended, about: About): string {
  const { fromLine, elapsed, name, refusedFile } = about;
  const lines = linesOf(tally, about);
  const rate = elapsed < SECOND ? "" : `, ${Math.round((lines * SECOND) / elapsed)} lines/s`;
  const from = fromLine === 1 ? "" : ` from line ${fromLine}`;
  const list = refusedFile === null ? "" : `; ${refusedFile} lists them with the reasons`;
  return [
    `${kind === "complete" ? "Imported" : "Stopped"}: ${name}, ${lines} lines${from} in ${formatDuration(elapsed)}${rate}.`,
    `  accepted   ${tally.accepted}`,
    ...(tally.duplicate > 0 ? [`  duplicate  ${tally.duplicate}; the daemon already had them`] : []),
    ...(tally.refused > 0 ? [`  refused    ${tally.refused}${list}`] : []),
  ].join("\n");
}

function linesOf({ line }: Tally, { fromLine }: About): number {
  return Math.max(0, line - fromLine + 1);
}

/** Why an import did not finish, and how to continue. */
export function whyStopped({ why, tally }: Extract<Ended, { kind: "stopped" }>, { name }: About): string {
  const reason = why ?? "interrupted";
  if (tally.line === 0) return `nothing of ${name} was imported: ${reason}`;
  return (
    `the import of ${name} stopped after line ${tally.line}: ${reason}. To continue, run it again with ` +
    `--from-line ${tally.line + 1}`
  );
}

/** The report for programs. */
export function toJson(ended: Ended, about: About): string {
  const { kind, tally } = ended;
  const { accepted, duplicate, refused } = tally;
  return JSON.stringify({
    input: about.name,
    complete: kind === "complete",
    lines: linesOf(tally, about),
    accepted,
    duplicate,
    refused,
    refusedFile: refused > 0 ? about.refusedFile : undefined,
    elapsedMs: about.elapsed,
    message: kind === "stopped" ? whyStopped(ended, about) : undefined,
  });
}
