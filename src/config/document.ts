import { isScalar, LineCounter, type ParsedNode, parseDocument } from "yaml";
import { formatSize, MB } from "../model/units.ts";
import { type Finding, fileError } from "./problems.ts";
import { syntaxFindings } from "./syntax.ts";

/** What the text says, before anything is known of what it means. */
export type Parsed = {
  /** With findings, a guess; null if there is nothing to guess from. */
  readonly contents: ParsedNode | null;
  readonly lines: LineCounter;
  /** Why the text cannot be read. */
  readonly findings: readonly Finding[];
};

const MAX_SIZE = MB;
const TOO_LARGE = `the file is too large: a config file may have ${formatSize(MAX_SIZE)}`;
const DIRECTIVE = "a %YAML line is not supported: remove it";
const EMPTY =
  "the file is empty: it needs at least `sources:` and `destinations:` (config.example.yaml shows every key)";

/** Reads YAML. Finds all that is wrong with its syntax, the first fault of each line. */
export function parse(text: string): Parsed {
  const size = new TextEncoder().encode(text).length;
  if (size > MAX_SIZE) return { contents: null, lines: linesOf(""), findings: [fileError(TOO_LARGE)] };
  const lines = linesOf(text);
  // Doubled keys are found later, with both places.
  const { contents, errors, directives } = parseDocument(text, { prettyErrors: false, uniqueKeys: false });
  if (errors.length > 0) return { contents, lines, findings: syntaxFindings(errors, { text, contents, lines }) };
  // %YAML 1.1 would change what `yes`, `0777` and `<<` mean.
  if (directives?.yaml.explicit) return { contents, lines, findings: [fileError(DIRECTIVE, text.search(/^%YAML/m))] };
  return { contents, lines, findings: isNothing(contents) ? [fileError(EMPTY)] : [] };
}

/** Counts the lines of the text itself: the parser only reports those that it got to. */
function linesOf(text: string): LineCounter {
  const lines = new LineCounter();
  lines.addNewLine(0);
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", end + 1)) lines.addNewLine(end + 1);
  return lines;
}

function isNothing(contents: ParsedNode | null): boolean {
  return contents === null || (isScalar(contents) && contents.value === null);
}
