import { formatDuration, type Ms, SECOND } from "../../../model/units.ts";
import { printable } from "../../printable.ts";
import type { RefusedLine } from "../import-lines.ts";
import type { Ended } from "./run.ts";
import type { State } from "./state.ts";

/** What is known of an import beside how it has ended. */
export type About = {
  /** The input, as its user named it. */
  readonly name: string;
  readonly begun: State;
  readonly elapsed: Ms;
  /** Where refused lines are listed; null if they were only told. */
  readonly refusedFile: string | null;
  /** Whether the same command goes on where this one has stopped. */
  readonly resumable: boolean;
};

/** For a person: what came of it, and what to do next. */
export function toWords({ kind, state }: Ended, about: About): string {
  const { begun, elapsed, name, refusedFile } = about;
  const done = state.line - begun.line;
  const rate = elapsed < SECOND ? "" : `, ${Math.round((done * SECOND) / elapsed)} lines a second`;
  const from = begun.line === 0 ? "" : ` from line ${begun.line + 1} on`;
  const list = refusedFile === null ? "" : `; they are in ${refusedFile}, each with why`;
  return [
    `${kind === "complete" ? "Imported" : "Stopped"}: ${name}, ${state.line} lines${from} in ${formatDuration(elapsed)}${rate}.`,
    `  accepted   ${state.accepted}`,
    ...(state.duplicate > 0 ? [`  duplicate  ${state.duplicate}; they came before, within 24 hours`] : []),
    ...(state.refused > 0 ? [`  refused    ${state.refused}${list}`] : []),
  ].join("\n");
}

/** Why it did not come to its end, and how to go on. */
export function whyStopped({ why, state }: Stopped, { name, resumable }: About): string {
  if (state.line === 0) return `nothing of ${name} was imported: ${why ?? ASKED_TO}`;
  const next = resumable
    ? `The same command goes on at line ${state.line + 1}`
    : "Pipe in the same again: what was taken before is recognised for 24 hours";
  return `the import of ${name} was stopped after line ${state.line}: ${why ?? ASKED_TO}. ${next}`;
}

type Stopped = Extract<Ended, { kind: "stopped" }>;

const ASKED_TO = "it was asked to stop";

/** For a program. */
export function toJson(ended: Ended, about: About): string {
  const { kind, state } = ended;
  const { line: lines, accepted, duplicate, refused } = state;
  const { name, elapsed, refusedFile } = about;
  const message = kind === "stopped" ? { message: whyStopped(ended, about) } : {};
  const list = refused > 0 ? { refusedFile } : {};
  const counts = { lines, accepted, duplicate, refused };
  return JSON.stringify({
    input: name,
    complete: kind === "complete",
    ...counts,
    ...list,
    elapsedMs: elapsed,
    ...message,
  });
}

/** A line that was refused, as it is told at once. */
export function refusalLine({ line, code, message }: RefusedLine): string {
  return printable(`line ${line}: ${code}: ${message}`);
}
