import { formatDuration } from "../../model/units.ts";
import { printable } from "../printable.ts";
import { table } from "../table.ts";
import { format } from "../unserved/words.ts";
import type { Kind, SaidComputation, SaidSync, SaidSynced } from "./said.ts";

type Counts = Pick<SaidSynced, "added" | "changed" | "removed">;

/** `3 added, 1 removed`; of a trait `3 added, 2 changed, 1 cleared`. */
export function countsOf({ added, changed, removed }: Counts, kind: string): string {
  if (kind === "audience") return `${format(added)} added, ${format(removed)} removed`;
  return `${format(added)} added, ${format(changed)} changed, ${format(removed)} cleared`;
}

/** What a sync has done, does still, or on a dry run would do. */
export function toResult(kind: Kind, name: string, said: SaidSynced): string {
  const counts = countsOf(said, kind);
  const size = `${format(said.size)} ${said.size === 1 ? "user" : "users"}`;
  const what = `${kind} ${printable(name)} (${printable(said.key ?? "")})`;
  if (said.sync === null) return `Dry run: ${counts}; the ${what} would have ${size}.`;
  if (said.sync.state === "finished") return `${counts}; the ${what} has ${size}.`;
  return `${counts}; the ${what} will have ${size}: ${format(said.sync.done)} of the changes are in the outbox, the others follow.`;
}

/** A line for each. `now`: by the wall clock. */
export function toList(kind: Kind, all: readonly SaidComputation[], now: number): string {
  if (all.length === 0) return `There are no ${kind}s.`;
  const rows = all.map(({ source, name, key, size, lastSync }) => [
    printable(source),
    printable(name),
    printable(key),
    format(size),
    ...(lastSync === null ? ["never", ""] : [whenOf(lastSync, now), countsOf(lastSync, kind)]),
  ]);
  return table([["source", kind, "key", "users", "last sync", "changes"], ...rows]);
}

/** All there is to know of one. */
export function toOne(one: SaidComputation, syncs: readonly SaidSync[], now: number): string {
  const rows = syncs.map((sync) => [
    String(sync.number),
    printable(sync.kind),
    whenOf(sync, now),
    countsOf(sync, one.class),
    tookOf(sync),
  ]);
  return [
    `${one.class.padEnd(8)}  ${printable(one.name)}`,
    `source    ${printable(one.source)}`,
    `key       ${printable(one.key)}, ${printable(one.id)}`,
    `users     ${format(one.size)}`,
    ...(rows.length === 0 ? [] : ["", table([["sync", "kind", "when", "changes", "took"], ...rows])]),
  ].join("\n");
}

function whenOf(sync: SaidSync, now: number): string {
  if (sync.finishedAt === null) return `running, ${format(sync.done)} done`;
  return `${formatDuration(Math.max(0, now - Date.parse(sync.finishedAt)))} ago`;
}

function tookOf({ startedAt, finishedAt }: SaidSync): string {
  return finishedAt === null ? "" : formatDuration(Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)));
}
