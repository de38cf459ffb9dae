// Text that is nearly what a program expects: good examples that chance has spoiled, and what a dictionary makes.
import fc from "fast-check";

/** Text as a kept file has it: as it stands, or in pieces, of which each may come many times. */
export type Text = string | readonly Piece[];
type Piece = string | readonly [piece: string, times: number];

export function written(text: Text): string {
  if (typeof text === "string") return text;
  return text.map((piece) => (typeof piece === "string" ? piece : piece[0].repeat(piece[1]))).join("");
}

export type Likeness = {
  /** Examples, good and odd. */
  readonly seeds: readonly string[];
  /** What such a text is made of. */
  readonly pieces: readonly string[];
};

/** What has a meaning in one format or another, or is no text at all. */
export const ODD: readonly string[] = [
  ...["", " ", "\t", "\n", "\r\n", "\r", "\u0000", "\uFEFF", "\u2028", "\u00a0", "\ud800", "\udc00", "é", "🙂"],
  ...[
    '"',
    "'",
    "\\",
    "`",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    ",",
    ":",
    ";",
    "=",
    "&",
    "%",
    "#",
    "?",
    "/",
    "+",
    "-",
  ],
  ...["__proto__", "constructor", "prototype", "toString", "null", "true", "NaN", "Infinity", "-0", "1e999", "1e-999"],
  ...["0", "-1", "00", "9007199254740993", "99999999999999999999", "%00", "%ff", "%ed%a0%80", "\\u0000", "\\ud800"],
];

/** Never all of them spoiled, nor all of them good. */
export function textLike({ seeds, pieces }: Likeness): fc.Arbitrary<Text> {
  const piece = fc.constantFrom(...pieces, ...ODD);
  const several: fc.Arbitrary<Piece> = fc.oneof(
    { weight: 30, arbitrary: piece },
    { weight: 2, arbitrary: fc.tuple(piece, fc.nat(12)) },
    { weight: 1, arbitrary: fc.tuple(piece, fc.nat(6_000)) },
  );
  const made = fc.array(several, { maxLength: 30 });
  const seed = fc.constantFrom(...seeds);
  const edit = fc.tuple(fc.nat(4_000), fc.oneof(fc.nat(3), fc.nat(60)), fc.oneof(piece, anyText));
  const spoiled = fc.tuple(seed, fc.array(edit, { maxLength: 4 })).map(([text, edits]) => edits.reduce(spoil, text));
  const spliced = fc.tuple(seed, fc.nat(4_000), seed, fc.nat(4_000)).map(splice);
  return fc.oneof(
    { weight: 4, arbitrary: made },
    { weight: 6, arbitrary: spoiled },
    { weight: 1, arbitrary: spliced },
    { weight: 1, arbitrary: anyText },
  );
}

/** Any UTF-16 units, halves of pairs included; most of them ASCII. */
export const anyText: fc.Arbitrary<string> = fc
  .array(fc.oneof({ weight: 3, arbitrary: fc.nat(0x7f) }, fc.nat(0xffff)), { maxLength: 60 })
  .map((units) => String.fromCharCode(...units));

function spoil(text: string, [at, drop, add]: readonly [number, number, string]): string {
  const from = at % (text.length + 1);
  return text.slice(0, from) + add + text.slice(from + drop);
}

function splice([one, end, other, start]: readonly [string, number, string, number]): string {
  return one.slice(0, end % (one.length + 1)) + other.slice(start % (other.length + 1));
}

/** Where a text is cut into the pieces in which it comes. */
export const anyCuts: fc.Arbitrary<readonly number[]> = fc.array(fc.nat(400), { maxLength: 6 });

/** The pieces; `null` cuts after each unit. None is empty. */
export function cut<T extends string | Uint8Array>(whole: T, places: readonly number[] | null): readonly T[] {
  const inside = places ?? Array.from({ length: whole.length }, (_, at) => at);
  const all = [...new Set([0, ...inside.filter((place) => place < whole.length), whole.length])].sort((a, b) => a - b);
  return all.slice(1).map((end, nth) => whole.slice(all[nth], end) as T);
}
