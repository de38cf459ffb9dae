import { printable } from "../client/show.ts";
import type { ComputationClass } from "../model/audience.ts";
import { formatDuration, HOUR, type Ms, SECOND } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { openBytes } from "../runtime/input.ts";
import { print } from "../runtime/output.ts";
import { type computation, computationDetail, type sync, synced } from "../wire/computations.ts";
import type { Received } from "../wire/fields.ts";
import { type Complaint, complain, EXIT, type ExitCode, table } from "./command.ts";
import { askDaemon, type DaemonOptions } from "./daemon.ts";
import { type Counter, openCounter } from "./progress.ts";
import { format } from "./waiting.ts";

export type SyncOptions = DaemonOptions & {
  readonly source: string;
  readonly format?: string;
  readonly dryRun?: boolean;
  readonly allowShrink?: boolean;
  readonly json?: boolean;
};

/** The daemon may take an hour to read a list, and then compares it. */
const LONGEST: Ms = HOUR + 10 * 60 * SECOND;

type Place = { readonly kind: ComputationClass; readonly name: string };

/** Sends a list to the daemon, shows the progress, and waits until all its changes are in the outbox. */
export async function syncList(place: Place, file: string, options: SyncOptions): Promise<ExitCode> {
  const bar = openCounter(createClock(), { label: "uploading", unit: "bytes" });
  const sent = await send(place, { file, options, bar });
  if ("code" in sent) {
    bar.clear();
    return complain(sent);
  }
  bar.clear();
  const changes = openCounter(createClock(), { label: "changes" });
  const done = await follow(place, { result: sent, options, bar: changes });
  changes.clear();
  if ("code" in done) return complain(done);
  print(options.json ? printable(JSON.stringify(done)) : toResult(place.kind, place.name, done));
  return EXIT.done;
}

type Sending = { readonly file: string; readonly options: SyncOptions; readonly bar: Counter };

async function send({ kind, name }: Place, { file, options, bar }: Sending): Promise<Synced | Complaint> {
  const headers = headersFor(file, options.format);
  if ("code" in headers) return headers as Complaint;
  const opened = await openBytes(file === "-" ? null : file);
  if (!opened.ok) return { code: EXIT.usage, message: `cannot read ${file}: ${opened.why}` };
  const { source } = opened;
  const sent = (bytes: number): void => {
    if (bytes === source.size) bar.stage("the daemon compares the list");
    else bar.show(bytes, source.size);
  };
  const body = { source, sent };
  const query = new URLSearchParams({
    ...(options.dryRun && { dryRun: "1" }),
    ...(options.allowShrink && { allowShrink: "1" }),
  });
  const path = `${pathOf(kind, options.source, name)}${query.size > 0 ? `?${query}` : ""}`;
  const by = { method: "PUT", headers, body, timeout: LONGEST };
  const answer = await askDaemon(options, { path, by, answer: synced });
  await source.close();
  return "code" in answer ? answer : answer.value;
}

type Following = { readonly result: Synced; readonly options: SyncOptions; readonly bar: Counter };

/** Follows the sync until it ends. A restarted daemon continues it. */
async function follow({ kind, name }: Place, { result, options, bar }: Following): Promise<Synced | Complaint> {
  const { added, changed, removed } = result;
  const clock = createClock();
  let sync: Sync | null = result.sync;
  while (sync !== null && sync.state !== "finished") {
    bar.show(sync.done, added + changed + removed);
    await clock.sleep(SECOND, new AbortController().signal);
    const question = { path: pathOf(kind, options.source, name), answer: computationDetail[kind] };
    const answer = await askDaemon(options, question);
    if ("code" in answer) return answer;
    const { number }: Sync = sync;
    sync = answer.value.syncs.find((one) => one.number === number) ?? null;
  }
  return { ...result, sync: sync ?? result.sync };
}

/** Content-Types of lists, by format. */
export const LIST_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  json: "application/json",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
};

/** The headers for a list, by the given format, or by the file's extension without `.gz`. */
function headersFor(file: string, format: string | undefined): Readonly<Record<string, string>> | Complaint {
  const isGzip = file.endsWith(".gz");
  const word = format ?? /\.([a-z]+)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase() ?? "";
  const type = Object.hasOwn(LIST_TYPES, word) ? LIST_TYPES[word] : undefined;
  if (type === undefined) {
    const words = Object.keys(LIST_TYPES).join(", ");
    return {
      code: EXIT.usage,
      message: `cannot tell the format of ${file === "-" ? "standard input" : file}; name it with --format: ${words}`,
    };
  }
  return { "Content-Type": type, ...(isGzip && { "Content-Encoding": "gzip" }) };
}

/** The path of an audience or a trait in the operator's API. */
export function pathOf(kind: ComputationClass, source: string, name: string): string {
  return `/api/sources/${encodeURIComponent(source)}/${kind}s/${encodeURIComponent(name)}`;
}

/** The path of the list for one source, or for all. */
export function listPathOf(kind: ComputationClass, source: string | undefined): string {
  return source === undefined ? `/api/${kind}s` : `/api/sources/${encodeURIComponent(source)}/${kind}s`;
}

type Synced = Received<typeof synced>;
type Sync = Received<typeof sync>;
type Computation = Received<typeof computation>;
type Counts = Pick<Synced, "added" | "changed" | "removed">;

/** `3 added, 1 removed`; of a trait `3 added, 2 changed, 1 cleared`. */
function countsOf({ added, changed, removed }: Counts, kind: string): string {
  if (kind === "audience") return `${format(added)} added, ${format(removed)} removed`;
  return `${format(added)} added, ${format(changed)} changed, ${format(removed)} cleared`;
}

/** The result of a sync: finished, still running, or a dry run. */
export function toResult(kind: ComputationClass, name: string, result: Synced): string {
  const counts = countsOf(result, kind);
  const size = `${format(result.size)} ${result.size === 1 ? "user" : "users"}`;
  const what = `${kind} ${printable(name)} (${printable(result.key ?? "")})`;
  if (result.sync === null) return `Dry run: ${counts}; the ${what} would have ${size}.`;
  if (result.sync.state === "finished") return `${counts}; the ${what} has ${size}.`;
  return `${counts}; the ${what} will have ${size}: ${format(result.sync.done)} changes are in the outbox, the others follow.`;
}

/** One line each. `now`: by the wall clock. */
export function toList(kind: ComputationClass, all: readonly Computation[], now: number): string {
  if (all.length === 0) return `There are no ${kind}s.`;
  const rows = all.map(({ source, name, key, size, lastSync }) => [
    printable(source),
    printable(name),
    printable(key),
    format(size),
    ...(lastSync === null ? ["never", ""] : [whenOf(lastSync, now), countsOf(lastSync, kind)]),
  ]);
  return table(["source", kind, "key", "users", "last sync", "changes"], rows);
}

/** Everything about one computation. */
export function toOne(one: Computation, syncs: readonly Sync[], now: number): string {
  const rows = syncs.map((sync) => [
    String(sync.number),
    printable(sync.kind),
    whenOf(sync, now),
    countsOf(sync, one.class),
    tookOf(sync),
  ]);
  return [
    `${printable(one.class).padEnd(8)}  ${printable(one.name)}`,
    `source    ${printable(one.source)}`,
    `key       ${printable(one.key)}, ${printable(one.id)}`,
    `users     ${format(one.size)}`,
    ...(rows.length === 0 ? [] : ["", table(["sync", "kind", "when", "changes", "took"], rows)]),
  ].join("\n");
}

function whenOf(sync: Sync, now: number): string {
  if (sync.finishedAt === null) return `running, ${format(sync.done)} done`;
  return `${formatDuration(Math.max(0, now - Date.parse(sync.finishedAt)))} ago`;
}

function tookOf({ startedAt, finishedAt }: Sync): string {
  return finishedAt === null ? "" : formatDuration(Math.max(0, Date.parse(finishedAt) - Date.parse(startedAt)));
}
