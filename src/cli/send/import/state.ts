import { createHash } from "node:crypto";
import { KB } from "../../../model/units.ts";
import type { Place } from "../import-lines.ts";

/** How far an import is: what the daemon has acknowledged, and what it did not take. */
export type State = Place & Counts;

export type Counts = { readonly accepted: number; readonly duplicate: number; readonly refused: number };

/** What the file beside the input holds. */
export type Stored = State & {
  readonly version: 1;
  /** Where it goes, for people. */
  readonly base: string;
  /** The same with the write key, and not to be read from this. */
  readonly target: string;
  /** Of the input's bytes up to `offset`: whether it is still the same file. */
  readonly fingerprint: string;
  /** How long the list of refused lines is. What came after is of a batch that was not acknowledged. */
  readonly refusedBytes: number;
};

export const NOTHING: State = { offset: 0, line: 0, accepted: 0, duplicate: 0, refused: 0 };

/** Reads what an earlier run has left. Null if it is not what one writes. */
export function parseState(text: string): Stored | null {
  try {
    const value: unknown = JSON.parse(text);
    return isStored(value) ? value : null;
  } catch {
    return null;
  }
}

export function writeState(state: Stored): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

function isStored(value: unknown): value is Stored {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  return (
    fields.get("version") === 1 &&
    ["offset", "line", "accepted", "duplicate", "refused", "refusedBytes"].every((key) => isCount(fields.get(key))) &&
    ["base", "target", "fingerprint"].every((key) => typeof fields.get(key) === "string")
  );
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Tells one target from another. */
export function targetOf(base: string, writeKey: string): string {
  return createHash("sha256")
    .update(JSON.stringify([base, writeKey]))
    .digest("hex")
    .slice(0, 16);
}

const EDGE = 64 * KB;

/**
 * Of what was read so far: its beginning, and what came last. A file that grows has the same; another one under its name, and
 * one in which a line was put before, has not.
 */
export async function fingerprintOf(
  part: (from: number, to: number) => Promise<Uint8Array>,
  offset: number,
): Promise<string> {
  const [head, tail] = await Promise.all([part(0, Math.min(EDGE, offset)), part(Math.max(0, offset - EDGE), offset)]);
  return createHash("sha256").update(`${offset}\n`).update(head).update(tail).digest("hex");
}
