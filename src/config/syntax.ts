import { type ErrorCode, isScalar, LineCounter, type ParsedNode, type YAMLParseError } from "yaml";
import { formatSize, MB } from "../model/units.ts";
import { type Anchors, anchorsIn, NO_ANCHORS } from "./anchors.ts";
import { compose, DEEPEST } from "./compose.ts";
import { nodesOf } from "./hide.ts";
import { type Finding, fileError } from "./problems.ts";
import { atOnce, type Steps } from "./steps.ts";

/** A config file before anything is known of what it means. */
export type Document = {
  /** Without a byte order mark, which would move every column of the first line. */
  readonly text: string;
  /** A guess if there are findings; null if there is nothing to guess from. */
  readonly contents: ParsedNode | null;
  readonly anchors: Anchors;
  readonly lines: LineCounter;
  /** Why the text cannot be read: the first fault of each line. */
  readonly findings: readonly Finding[];
};

const MAX_SIZE = MB;
const TOO_LARGE = `the file is too large: a config file may have ${formatSize(MAX_SIZE)}`;
const DIRECTIVE = "a %YAML line is not supported: remove it";
const EMPTY =
  "the file is empty: it needs at least `sources:` and `destinations:` (config.example.yaml shows every key)";

type Options = { readonly mayBeEmpty?: boolean };

/** Parses YAML, and reports what is wrong with its syntax. */
export function parse(raw: string, options: Options = {}): Document {
  return atOnce(parseSteps(raw, options));
}

export function* parseSteps(raw: string, { mayBeEmpty = false }: Options = {}): Steps<Document> {
  const text = raw.replace(/^\uFEFF/, "");
  if (new TextEncoder().encode(text).length > MAX_SIZE) {
    return { text: "", contents: null, anchors: NO_ANCHORS, lines: linesOf(""), findings: [fileError(TOO_LARGE)] };
  }
  const lines = linesOf(text);
  const { contents, errors, hasVersion } = yield* compose(text);
  const anchors = yield* anchorsIn(text, contents);
  const document = { text, contents, anchors, lines, findings: [] };
  if (errors.length > 0) return { ...document, findings: syntaxFindings(errors, document) };
  // %YAML 1.1 would change what `yes`, `0777` and `<<` mean.
  if (hasVersion) return { ...document, findings: [fileError(DIRECTIVE, text.search(/^%YAML/m))] };
  const isEmpty = contents === null || (isScalar(contents) && contents.value === null);
  if (!isEmpty) return document;
  return mayBeEmpty ? { ...document, contents: null } : { ...document, findings: [fileError(EMPTY)] };
}

/** Counts the lines of the text itself: the parser only reports those that it reached. */
export function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  return lines;
}

const UNEXPECTED =
  "this cannot stand here: check the indentation, and put text that holds any of : # [ ] { } , in quotes";
const TAG = "a tag (!) is not supported: write a plain value";
const ANCHOR =
  "this anchor (&) or alias (*) is not one that YAML allows here: if it is meant as text, put the value in quotes";

const TAB = "a tab cannot indent: use spaces";

/** Our own words: those of the parser may quote the file, and a secret with it. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  ALIAS_PROPS: ANCHOR,
  BAD_ALIAS: ANCHOR,
  MULTIPLE_ANCHORS: ANCHOR,
  BAD_PROP_ORDER: ANCHOR,
  TAG_RESOLVE_FAILED: TAG,
  MULTIPLE_TAGS: TAG,
  BAD_COLLECTION_TYPE: TAG,
  BAD_DIRECTIVE: "a line that starts with % is not supported: remove it",
  BAD_DQ_ESCAPE: "this escape is unknown: use single quotes, or write \\\\ for a backslash",
  BAD_INDENT: "the indentation does not fit the lines above, or a bracket or brace above is not closed",
  BAD_SCALAR_START: "a value cannot start with this character: put it in quotes",
  BLOCK_AS_IMPLICIT_KEY:
    "this does not fit the lines above: check the indentation, and put text that holds `: ` in quotes",
  MULTILINE_IMPLICIT_KEY: "a key must be followed by a colon and a space",
  MULTIPLE_DOCS: "a second document starts here: a config file has only one",
  RESOURCE_EXHAUSTION: `lists or maps are nested too deeply: at most ${DEEPEST} levels`,
  TAB_AS_INDENT: TAB,
};

/** One fault often makes the parser fail again, on the same line and those below: likely echoes are left out. */
function syntaxFindings(errors: readonly YAMLParseError[], document: Document): readonly Finding[] {
  const scalars = [...nodesOf(document.contents)].map(({ node }) => node).filter((node) => isScalar(node));
  const starts = new Map(scalars.reverse().map(({ range }) => [range[1], range[0]]));
  const first = new Map<number, Finding>();
  const firstUnexpected = errors.find(({ code }) => code === "UNEXPECTED_TOKEN");
  const tooDeep = tooDeepKeys(errors);
  for (const error of errors) {
    if (error.code === "UNEXPECTED_TOKEN" && error !== firstUnexpected) continue;
    if (error.code === "BLOCK_AS_IMPLICIT_KEY" && tooDeep.has(error.pos[0])) continue;
    const isTooDeep = error.code === "MULTILINE_IMPLICIT_KEY" && tooDeep.has(error.pos[0]);
    const found = isTooDeep ? tooDeepKey(error, document) : syntaxFinding(error, { ...document, starts });
    const { line } = document.lines.linePos(found.at);
    if (!first.has(line)) first.set(line, found);
  }
  return withOneTab([...first.values()], document);
}

/** Tabs on many lines are one mistake, and cause whatever else is reported on these lines. */
function withOneTab(all: readonly Finding[], { text, lines }: Document): readonly Finding[] {
  const tabbed = new Set([...text.matchAll(/^ *\t[ \t]*(?=[^\s#])/gm)].map(({ index }) => lines.linePos(index).line));
  const isOfTab = ({ at, message }: Finding): boolean => message === TAB || tabbed.has(lines.linePos(at).line);
  const first = all.find(isOfTab);
  const others = tabbed.size - 1;
  const more = others > 0 ? `, here and in ${others} more line${others === 1 ? "" : "s"}` : "";
  return all.flatMap((found) => {
    if (!isOfTab(found)) return [found];
    return found === first ? [{ ...found, message: `${TAB}${more}` }] : [];
  });
}

/** The parser takes a key that is indented too far for the end of the value above, and reports that value twice. */
function tooDeepKeys(errors: readonly YAMLParseError[]): ReadonlySet<number> {
  const starts = new Set(errors.filter(({ code }) => code === "BLOCK_AS_IMPLICIT_KEY").map(({ pos }) => pos[0]));
  const twins = errors.filter(({ code, pos }) => code === "MULTILINE_IMPLICIT_KEY" && starts.has(pos[0]));
  return new Set(twins.map(({ pos }) => pos[0]));
}

function tooDeepKey({ pos }: YAMLParseError, { text }: Document): Finding {
  const line = text.lastIndexOf("\n", pos[1] - 1) + 1;
  return fileError("this key is indented further than its neighbours above", skipSpaces(text, line));
}

/** `starts`: where each scalar begins, by its end. */
type Source = { readonly text: string; readonly starts: ReadonlyMap<number, number> };

function syntaxFinding(error: YAMLParseError, { text, starts }: Source): Finding {
  const at = placeOf(error, { text, starts });
  // In a flow map or list, YAML takes the brace of a reference for its own.
  const isReference = text.slice(Math.max(0, at - 1), at + 1) === "${";
  if (isReference) return fileError("a reference inside { } or [ ] must be in quotes", at - 1);
  return fileError(syntaxMessage(error), at);
}

/** Says what is wrong with the syntax, without a word from the file itself. */
function syntaxMessage({ code, message }: YAMLParseError): string {
  if (message.startsWith("Missing closing")) return "this quote is never closed";
  if (message.startsWith("Comments must be")) return "a comment needs a space before its #";
  if (message.startsWith("Implicit map keys")) return "a key must be followed by a colon and a space";
  return MESSAGES[code] ?? UNEXPECTED;
}

/** Where the fault began; the parser says where it noticed. */
function placeOf({ message, pos }: YAMLParseError, { text, starts }: Source): number {
  const start = message.startsWith("Missing closing") ? starts.get(pos[0]) : undefined;
  return start ?? Math.min(skipSpaces(text, pos[0]), Math.max(0, text.trimEnd().length - 1));
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === " ") at++;
  return at;
}
