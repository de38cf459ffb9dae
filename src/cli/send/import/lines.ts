/** A line of the input; `text` is null where it is longer than one may be. */
export type Line = {
  /** Counted from 1. */
  readonly number: number;
  readonly text: Uint8Array | null;
  /** How many bytes there are up to its end, the newline included. */
  readonly end: number;
};

export type From = {
  /** How many bytes, and how many lines, came before. */
  readonly offset: number;
  readonly line: number;
  /** The longest line that is given out, in bytes. */
  readonly most: number;
};

const NEWLINE = 0x0a;

/** Cuts bytes into lines, and keeps no more of them in memory than the longest line that may be. */
export async function* readLines(
  pieces: AsyncIterable<Uint8Array>,
  { offset, line, most }: From,
): AsyncGenerator<Line, void> {
  let number = line;
  let end = offset;
  let begun = start();
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; ) {
      const found = piece.indexOf(NEWLINE, at);
      const part = piece.subarray(at, found < 0 ? piece.length : found);
      begun = add(begun, part, most);
      at += part.length + 1;
      end += part.length + (found < 0 ? 0 : 1);
      if (found < 0) break;
      number += 1;
      yield { number, text: textOf(begun), end };
      begun = start();
    }
  }
  // The last line may come without a newline.
  if (begun.length > 0) yield { number: number + 1, text: textOf(begun), end };
}

/** A line as far as it has come. `parts` is null once it is too long. */
type Begun = { readonly parts: readonly Uint8Array[] | null; readonly length: number };

function start(): Begun {
  return { parts: [], length: 0 };
}

function add({ parts, length }: Begun, part: Uint8Array, most: number): Begun {
  const longer = length + part.length;
  return { parts: parts === null || longer > most ? null : [...parts, part], length: longer };
}

function textOf({ parts }: Begun): Uint8Array | null {
  if (parts === null) return null;
  const [only] = parts;
  return parts.length === 1 && only ? only : Buffer.concat(parts);
}
