import { formatSize } from "../../model/units.ts";
import { type Finding, say } from "./finding.ts";

export type DiskFacts = {
  readonly outbox: string;
  /** Of its disk; null if nobody can say. */
  readonly space: { readonly free: number; readonly total: number } | null;
  /** Bytes of the outbox's files. */
  readonly used: number;
  readonly maxSize: number;
  readonly freeDisk: number;
  /** Copies that earlier upgrades and restores have kept, and what ended copies have left. */
  readonly copies: readonly { readonly path: string; readonly size: number }[];
};

/** Whether the disk holds what the config promises. */
export function judgeDisk(facts: DiskFacts): readonly Finding[] {
  const { outbox, space, used, maxSize, freeDisk, copies } = facts;
  const { ok, skipped, warning, error } = say("disk");
  if (space === null) return [skipped("unseen", `nobody can say how much of the disk of ${outbox} is free`)];
  const free = `${formatSize(space.free)} of ${formatSize(space.total)} are free on the disk of ${outbox}`;
  const findings: Finding[] = [];
  if (space.free < freeDisk) {
    const what = `${free}, less than outbox.freeDisk (${formatSize(freeDisk)}): calls are refused`;
    findings.push(error("disk_full", what, `make room${whatCanGo(copies)}`));
  } else if (space.free + used < maxSize + freeDisk) {
    const what = `${free}, where ${formatSize(used)} of ${formatSize(maxSize)} (outbox.maxSize) are used: it is full before that`;
    findings.push(warning("disk_small", what, `lower outbox.maxSize, or make room${whatCanGo(copies)}`));
  } else {
    findings.push(ok(`${free}; the outbox uses ${formatSize(used)} of ${formatSize(maxSize)}`));
  }
  if (copies.length > 0) findings.push(ok(`copies are kept beside it: ${list(copies)}`));
  return findings;
}

function whatCanGo(copies: DiskFacts["copies"]): string {
  return copies.length === 0 ? "" : `; if they are not needed any more, remove ${list(copies)}`;
}

function list(copies: DiskFacts["copies"]): string {
  return copies.map(({ path, size }) => `${path} (${formatSize(size)})`).join(", ");
}
