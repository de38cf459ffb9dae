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
