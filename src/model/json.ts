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

/** Looks for the key first: asking the engine costs several times as much, and every value is asked for. */
export function isLongInteger(value: unknown): value is LongInteger {
  if (typeof value !== "object" || value === null || !("rawJSON" in value)) return false;
  return json.isRawJSON?.(value) ?? false;
}

/** The value at the end of some keys; undefined if there is none. Null counts as none, as everywhere in a call. */
export function valueAt(root: object, path: readonly string[]): unknown {
  let value: unknown = root;
  for (const key of path) {
    if (typeof value !== "object" || value === null || isLongInteger(value) || !Object.hasOwn(value, key)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[key];
  }
  return value ?? undefined;
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

/** Integers beyond the range of a double stay infinite and are refused: almost no receiver could read them. */
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

/** Where a text stops being JSON, and what should stand there instead. */
export type JsonFault = { readonly at: number; readonly expected: string };

/**
 * Finds the first fault in a text that is not JSON; null if it is JSON. The runtimes' own parsers do not say where, or each
 * in its own way. Uses a stack instead of recursion, which would fail on very deep JSON.
 */
export function findJsonFault(text: string): JsonFault | null {
  const open: Bracket[] = [];
  let state: State = "value";
  for (let at = skip(SPACE, text, 0); at < text.length; ) {
    const token = readToken(text, at);
    if (token.kind === "fault") return token.fault;
    const next = step(state, token.kind, open);
    if (next === null) return { at, expected: EXPECTED[state] };
    state = next;
    at = skip(SPACE, text, token.end);
  }
  return state === "end" ? null : { at: text.length, expected: EXPECTED[state] };
}

/** The line and the column of a place in a text, which count from 1. */
export function placeOf(text: string, at: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: (before.at(-1) ?? "").length + 1 };
}

type Bracket = "{" | "[";
type TokenKind = Bracket | "}" | "]" | ":" | "," | "string" | "scalar" | "other";
type State = keyof typeof EXPECTED;

const EXPECTED = {
  value: "a value",
  firstItem: 'a value or "]"',
  firstKey: 'a key in double quotes, or "}"',
  key: "a key in double quotes",
  colon: '":"',
  nextItem: '"," or "]"',
  nextPair: '"," or "}"',
  end: "nothing more",
} as const;

/** The state after a token; `done` if the token ends a value, where the enclosing bracket decides what follows. */
type Move = State | "done";

const VALUE = { "{": "firstKey", "[": "firstItem", string: "done", scalar: "done" } as const;
const MOVES: Readonly<Record<State, Readonly<Partial<Record<TokenKind, Move>>>>> = {
  value: VALUE,
  firstItem: { ...VALUE, "]": "done" },
  firstKey: { string: "colon", "}": "done" },
  key: { string: "colon" },
  colon: { ":": "value" },
  nextItem: { ",": "value", "]": "done" },
  nextPair: { ",": "key", "}": "done" },
  end: {},
};

/** The state after a token; null if the token may not stand there. `open` are the brackets that are not closed. */
function step(state: State, token: TokenKind, open: Bracket[]): State | null {
  const move = MOVES[state][token];
  if (move === undefined) return null;
  if (token === "{" || token === "[") open.push(token);
  if (token === "}" || token === "]") open.pop();
  if (move !== "done") return move;
  const inside = open.at(-1);
  if (inside === undefined) return "end";
  return inside === "[" ? "nextItem" : "nextPair";
}

type Token = { readonly kind: TokenKind; readonly end: number } | { readonly kind: "fault"; readonly fault: JsonFault };

const SPACE = /[ \t\r\n]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const MARKS = "{}[]:,";
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may stand in a string as it is.
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})|/y;

function readToken(text: string, at: number): Token {
  const first = text.charAt(at);
  if (first === '"') return readString(text, at);
  if (MARKS.includes(first)) return { kind: first as TokenKind, end: at + 1 };
  const end = skip(SCALAR, text, at);
  return end > at ? { kind: "scalar", end } : { kind: "other", end: at + 1 };
}

function readString(text: string, start: number): Token {
  for (let at = start + 1; ; ) {
    const stop = skip(PLAIN, text, at);
    if (text[stop] === '"') return { kind: "string", end: stop + 1 };
    at = skip(ESCAPE, text, stop);
    if (at === stop) return { kind: "fault", fault: { at, expected: expectedInString(text[stop]) } };
  }
}

function expectedInString(found: string | undefined): string {
  if (found === undefined) return "a closing double quote";
  return found === "\\" ? "an escape of JSON, such as \\\\ or \\u00e9" : "an escape, such as \\n for a line break";
}

/** The end of the match that begins at `at`. */
function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return at + (pattern.exec(text)?.[0].length ?? 0);
}
