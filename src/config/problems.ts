import type { LineCounter } from "yaml";
import type { Problem } from "../model/config.ts";
import { hideAnywhere } from "./hide.ts";

/** A Problem while its place is still an offset into the text. */
export type Finding = Pick<Problem, "severity" | "path" | "message"> & { readonly at: number };

/** What is wrong with the file itself and no key of it. */
export function fileError(message: string, at = 0): Finding {
  return { severity: "error", path: "", message, at };
}

/** How much of a long line is printed around the place. */
const WINDOW = 120;

/**
 * Prints a Problem for a person: `config.yaml:4:10: destinations.crm.webhooks[0].url: must start with http:// or
 * https:// (got "htp://x")`, then the line and a caret under the place.
 */
export function formatProblem(problem: Problem): string {
  const warning = problem.severity === "warning" ? "warning: " : "";
  const head = `${problem.file}:${problem.line}:${problem.column}: ${warning}${sentence(problem)}`;
  if (problem.text.trim() === "") return head;
  const start = Math.max(0, Math.min(problem.column - 1 - WINDOW / 2, problem.text.length - WINDOW));
  const line = printable(problem.text.slice(start, start + WINDOW)).trimEnd();
  return `${head}\n  ${line}\n  ${" ".repeat(problem.column - 1 - start)}^`;
}

function sentence({ path, message }: Problem): string {
  return path === "" ? message : `${path}: ${message}`;
}

/** Keeps each character as wide as it was, so that the caret stays under its place; shows tabs. */
function printable(line: string): string {
  return line.replace(/\t/g, "→").replace(/\p{Cc}/gu, " ");
}

export type Placing = {
  readonly file: string;
  /** The text with its secrets hidden, each character in its old place. */
  readonly shownText: string;
  readonly lines: LineCounter;
};

/** Gives findings their lines and columns, and puts them in the order of the file. */
export function toProblems(findings: readonly Finding[], placing: Placing): readonly Problem[] {
  return findings.toSorted((a, b) => a.at - b.at).map((finding) => toProblem(finding, placing));
}

function toProblem({ at, ...said }: Finding, { file, shownText, lines }: Placing): Problem {
  const { line, col } = lines.linePos(at);
  const start = at - col + 1;
  const end = shownText.indexOf("\n", start);
  const text = shownText.slice(start, end === -1 ? undefined : end).replace(/\r$/, "");
  return { ...said, file, line, column: col, text };
}

/** The path of a key in a map; a key that a dot would make ambiguous is quoted. */
export function keyPath(parent: string, key: string): string {
  if (!/^[\w-]{1,64}$/.test(key)) return `${parent}[${quote(key)}]`;
  return parent === "" ? key : `${parent}.${key}`;
}

/** Text as messages quote it: on one line, not too long, and without the password of a URL or a private key. */
export function quote(text: string): string {
  const shown = hideAnywhere(text);
  return JSON.stringify(shown.length > 80 ? `${shown.slice(0, 77)}...` : shown);
}
