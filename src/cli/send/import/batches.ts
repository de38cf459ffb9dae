import { KB } from "../../../model/units.ts";
import { type ImportCall, type RefusedLine, readCallLine } from "./call.ts";
import type { Line } from "./lines.ts";

/** Calls that go out together, and where the input is once they have. */
export type Batch = {
  readonly calls: readonly ImportCall[];
  /** The lines of the calls as they stood there, one for each. */
  readonly own: readonly string[];
  /** Lines among them that are no calls. */
  readonly refused: readonly RefusedLine[];
  readonly end: Place;
};

/** How many bytes and lines are behind. */
export type Place = { readonly offset: number; readonly line: number };

/** SPEC.md 8: a batch request is at most 500 KB. Some of that is the envelope's. */
const MOST_BYTES = 500 * KB - 100;
/** The daemon takes 2,500. Fewer show sooner how it goes, and are no slower. */
const MOST_LINES = 1_000;

/** Puts lines together, in their order, to batches that the daemon takes. `name` is that of the input. */
export async function* makeBatches(lines: AsyncIterable<Line>, name: string): AsyncGenerator<Batch, void> {
  let batch = emptyAt({ offset: 0, line: 0 });
  let bytes = 0;
  for await (const line of lines) {
    const read = readCallLine(line, name);
    // A line that is no call is kept for the report, and bounded like the others.
    const size = 1 + (read.kind === "call" ? Buffer.byteLength(read.call.text) : (line.text?.length ?? 0));
    const count = batch.calls.length + batch.refused.length;
    if (count > 0 && (bytes + size > MOST_BYTES || count === MOST_LINES)) {
      yield batch;
      batch = emptyAt(batch.end);
      bytes = 0;
    }
    if (read.kind === "call") {
      batch.calls.push(read.call);
      batch.own.push(read.own);
    }
    if (read.kind === "refused") batch.refused.push(read.refused);
    if (read.kind !== "blank") bytes += size;
    batch.end = { offset: line.end, line: line.number };
  }
  if (batch.end.line > 0) yield batch;
}

type Filling = { calls: ImportCall[]; own: string[]; refused: RefusedLine[]; end: Place };

function emptyAt(end: Place): Filling {
  return { calls: [], own: [], refused: [], end };
}
