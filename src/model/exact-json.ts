/**
 * JSON with integers of any length. Ids in Java, Go and Rust are 64 bits wide, which is more than a double holds: parsed the
 * usual way, their last digits would be lost. Here such an integer becomes a value that `JSON.stringify` writes with the
 * digits it came with. Everything else is what `JSON.parse` makes of it.
 */

/** An integer beyond 2^53, as it was written. */
export type LongInteger = { readonly rawJSON: string };

/** Parses a JSON text; throws as `JSON.parse` does. A text without long integers only costs a scan of its digits. */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const quoted = SIXTEEN_DIGITS.test(text) ? quoteLongIntegers(text) : null;
  return quoted === null ? value : keepDigits({ value }, { value: JSON.parse(quoted) }).value;
}

export function isLongInteger(value: unknown): value is LongInteger {
  return json.isRawJSON?.(value) ?? false;
}

/** Integers up to 2^53 have up to 16 digits. */
const SIXTEEN_DIGITS = /\d{16}/;
/** As a value, or within a string. */
const CANDIDATE = /(?:^|[[:,\s])(-?[1-9]\d{15,})(?=[\s,\]}]|$)/g;

/**
 * The same JSON with its long integers as strings; null if it has none. A reviver that gets the source of each number would
 * be shorter, but takes up to a hundred times as long as parsing twice, and anyone can send such a text.
 */
function quoteLongIntegers(text: string): string | null {
  const isOutside = createIsOutside(text);
  const pieces: string[] = [];
  let end = 0;
  for (const { 0: match, 1: digits = "", index } of text.matchAll(CANDIDATE)) {
    const start = index + match.length - digits.length;
    if (!isLong(digits) || !isOutside(start)) continue;
    pieces.push(text.slice(end, start), '"', digits, '"');
    end = start + digits.length;
  }
  return end === 0 ? null : pieces.join("") + text.slice(end);
}

/** Integers beyond the range of a double stay infinite and are refused: hardly any receiver could read them. */
function isLong(digits: string): boolean {
  const number = Number(digits);
  return Number.isFinite(number) && !Number.isSafeInteger(number);
}

/** Tells whether places in a JSON text, asked in ascending order, are outside of its strings. */
function createIsOutside(text: string): (at: number) => boolean {
  let outside = true;
  let quote = text.indexOf('"');
  return (at) => {
    for (; quote >= 0 && quote < at; quote = text.indexOf('"', quote + 1)) {
      if (outside || !isEscaped(text, quote)) outside = !outside;
    }
    return outside;
  };
}

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === "\\") start -= 1;
  return (at - start) % 2 === 1;
}

/**
 * Where `root` has a number and `quoted` a string, the text has a long integer. Uses a list instead of recursion: JSON may
 * nest deeply.
 */
function keepDigits<Root extends object>(root: Root, quoted: Root): Root {
  const pairs: [object, object][] = [[root, quoted]];
  for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
    const [tree, other] = pair as [Tree, Tree];
    // The keys of a large array would be as many strings.
    if (Array.isArray(tree)) for (let index = 0; index < tree.length; index += 1) keep(tree, other, index as never);
    else for (const key in tree) keep(tree, other, key);
  }
  return root;

  function keep(tree: Tree, other: Tree, key: string): void {
    const [is, written] = [tree[key], other[key]];
    // The key is there already, so that one named `__proto__` is data here too.
    if (typeof is === "number" && typeof written === "string") tree[key] = json.rawJSON(written);
    else if (typeof is === "object" && is !== null) pairs.push([is, written as object]);
  }
}

type Tree = { [key: string]: unknown };

/**
 * Both runtimes of the daemon have these functions; the compiler's types do not yet (the proposal "JSON.parse source text
 * access"). Node 20, where the client library is tested against these rules, lacks them.
 */
const json = JSON as unknown as { rawJSON(text: string): LongInteger; isRawJSON?(value: unknown): boolean };
