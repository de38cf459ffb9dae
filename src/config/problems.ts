import type { Problem } from "../model/config.ts";
import { hideAnywhere } from "./hide.ts";
import type { Tree } from "./tree.ts";

/** A problem whose place is still an offset into the text. */
export type Finding = Pick<Problem, "severity" | "path" | "message"> & { readonly at: number };

/** What a finding is about: a key, and the offset to point at. */
type Place = Pick<Finding, "path" | "at">;

export function errorAt({ path, at }: Place, message: string): Finding {
  return { severity: "error", path, message, at };
}

export function warningAt({ path, at }: Place, message: string): Finding {
  return { severity: "warning", path, message, at };
}

/** An error of the file as a whole, and not of one of its keys. */
export function fileError(message: string, at = 0): Finding {
  return errorAt({ path: "", at }, message);
}

/** The place of a value's key, and not of the value. */
export function keyPlace({ path, keyAt }: Tree): Place {
  return { path, at: keyAt };
}

/** How many characters of a long line are printed around the place. */
const WINDOW = 120;

/**
 * Prints a problem for a person: `config.yaml:4:10: destinations.crm.webhooks[0].url: must start with http:// or
 * https:// (got "htp://x")`, then the line and a caret under the place.
 */
export function formatProblem({ file, line, column, severity, path, message, text }: Problem): string {
  const warning = severity === "warning" ? "warning: " : "";
  const head = `${file}:${line}:${column}: ${warning}${path === "" ? "" : `${path}: `}${message}`;
  if (text.trim() === "") return head;
  const start = Math.max(0, Math.min(column - 1 - WINDOW / 2, text.length - WINDOW));
  const shown = printable(text.slice(start, start + WINDOW)).trimEnd();
  return `${head}\n  ${shown}\n  ${" ".repeat(column - 1 - start)}^`;
}

/** Keeps each character as wide as it was, so that the caret stays under its place. Shows tabs. */
function printable(line: string): string {
  return line.replace(/\t/g, "→").replace(/\p{Cc}/gu, " ");
}

type Shown = {
  /** The text with its secrets hidden, each character in its old place. */
  readonly shownText: string;
  readonly placeOf: (at: number) => Pick<Problem, "file" | "line" | "column">;
};

/** Gives findings their files, lines and columns, in the order of the text. */
export function toProblems(findings: readonly Finding[], { shownText, placeOf }: Shown): readonly Problem[] {
  const sorted = findings.toSorted((a, b) => a.at - b.at);
  return sorted.map(({ at, ...finding }) => {
    const { file, line, column } = placeOf(at);
    const start = at - column + 1;
    const end = shownText.indexOf("\n", start);
    const text = shownText.slice(start, end === -1 ? undefined : end).replace(/\r$/, "");
    return { ...finding, file, line, column, text };
  });
}

/** The path of a key in a map; a key that a dot would make ambiguous is quoted. */
export function keyPath(parent: string, key: string): string {
  if (!/^[\w-]{1,64}$/.test(key)) return `${parent}[${quote(key)}]`;
  return parent === "" ? key : `${parent}.${key}`;
}

/** Text as messages quote it: on one line, not too long, and without private keys or the password of a URL. */
export function quote(text: string): string {
  const shown = hideAnywhere(text);
  return JSON.stringify(shown.length > 80 ? `${shown.slice(0, 77)}...` : shown);
}
