import { resolve } from "node:path";
import process from "node:process";
import type { Command } from "commander";
import { printable } from "../client/show.ts";
import { postgresAt, shownUrl } from "../config/postgres.ts";
import { formatDuration, type Ms } from "../model/units.ts";
import { createClock } from "../runtime/clock.ts";
import { print, printError } from "../runtime/output.ts";
import { keepFilesPrivate } from "../runtime/process.ts";
import { STATES } from "../wire/deliveries.ts";
import { type Complaint, complain, type Done, EXIT, type ExitCode, table, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, readOutbox } from "./config-file.ts";
import type { copyBetween, Ends, Place } from "./copy-ends.ts";
import { addHelp, type HelpText } from "./help.ts";
import { paint } from "./paint.ts";
import { onInterrupt, openProgressBar } from "./progress.ts";

/** `fairlead copy-outbox`: moves the outbox from a file to a database, or back. */
export function declareCopyOutbox(program: Command, done: Done): void {
  const command = program
    .command("copy-outbox")
    .summary("copy the outbox between SQLite and PostgreSQL")
    .description("Copy the outbox from an SQLite file to PostgreSQL, or back. Stop all daemons first.")
    .option("--from <outbox>", "the outbox to copy: a file or postgres://… (default: outbox of the config)")
    .option("--to <outbox>", "the copy: a new file or postgres://… (default: outbox of the config)")
    .option(...CONFIG_OPTION)
    .option("--json", "print what was copied as JSON");
  addHelp(command, HELP).action((options: CopyOptions) => done(copy(options)));
}

const HELP: HelpText = {
  examples: [
    "fairlead copy-outbox --from /var/lib/fairlead/fairlead.db",
    "fairlead copy-outbox --to /var/lib/fairlead/fairlead.db",
  ],
  notes: `If it is interrupted, run it again: it continues. Keep passwords out of the arguments, which all users of the machine can see: use outbox.url of the config, PGPASSWORD or PGPASSFILE.`,
  more: `Everything is copied: events with their numbers, deliveries and their attempts, the messageIds of the last 24 hours, pauses, deletions, suppressed users, audiences and traits.`,
  moreExamples: [
    "fairlead copy-outbox --from fairlead.db --to postgres://fairlead@db.example.com/fairlead?sslmode=verify-full",
  ],
};

type CopyOptions = {
  readonly from?: string;
  readonly to?: string;
  readonly config?: string;
  readonly json?: boolean;
};

async function copy(options: CopyOptions): Promise<ExitCode> {
  const ends = findEnds(options);
  if ("code" in ends) return complain(ends);
  keepFilesPrivate();
  // The drivers of both engines are loaded for this alone.
  const ways = await import("./copy-ends.ts");
  const clock = createClock();
  const began = clock.now();
  const bar = openProgressBar(clock);
  const interrupt = new AbortController();
  const unhook = onInterrupt(() => interrupt.abort());
  bar.stage("counting");
  const result = await ways.copyBetween(ends, {
    clock,
    pid: process.pid,
    signal: interrupt.signal,
    stepped({ done, total, began: before }) {
      if (done >= total) bar.stage("counting both outboxes");
      else bar.show({ done, total, began: { done: before, share: before / total }, elapsed: clock.now() - began });
    },
  });
  unhook();
  bar.clear();
  if ("code" in result) return complain(result);
  const about = { from: shown(ends.from), to: shown(ends.to), took: clock.now() - began };
  print(options.json ? printable(JSON.stringify(toJson(result, about))) : toWords(result, about));
  return EXIT.done;
}

/** Each end as it was named, else as the config has it. */
function findEnds(options: CopyOptions): Ends | Complaint {
  if (options.from === undefined && options.to === undefined) {
    return wrongUsage(
      "name the outbox to copy with --from, or the copy with --to; the other one is that of the config",
    );
  }
  const from = findPlace("--from", options.from, options.config);
  if ("code" in from) return from;
  const to = findPlace("--to", options.to, options.config);
  if ("code" in to) return to;
  if (from.kind === "file" && to.kind === "database") return { way: "out", from, to };
  if (from.kind === "database" && to.kind === "file") return { way: "back", from, to };
  const instead = from.kind === "file" ? "fairlead backup copies a file" : "pg_dump copies a database";
  const message = `${shown(from)} and ${shown(to)} are of the same kind, but one must be a file and the other a database; ${instead}`;
  return { ...wrongUsage(message), error: "copy_of_same_kind" };
}

function findPlace(option: string, named: string | undefined, config: string | undefined): Place | Complaint {
  if (named === undefined) {
    const outbox = readOutbox(config);
    if ("code" in outbox) return outbox;
    const { path, postgres } = outbox;
    return postgres === null ? { kind: "file", path } : { kind: "database", url: path, postgres };
  }
  if (!/^postgres(ql)?:/i.test(named)) return { kind: "file", path: resolve(named) };
  const found = postgresAt(named);
  if (typeof found === "string") return wrongUsage(`${option} ${found}`);
  const { postgres, concern } = found;
  if (concern !== null) printError(`${paint.warning("fairlead: warning:", "err")} ${option} ${printable(concern)}\n`);
  if (postgres.password !== null) printError(`${paint.warning("fairlead: warning:", "err")} ${option} ${VISIBLE}\n`);
  return { kind: "database", url: shownUrl(named), postgres };
}

const VISIBLE =
  "has a password, which all users of this machine can see in the process list; use PGPASSWORD, PGPASSFILE or outbox.url of a config instead";

function shown(place: Place): string {
  return place.kind === "file" ? place.path : place.url;
}

type Result = Exclude<Awaited<ReturnType<typeof copyBetween>>, Complaint>;
type About = { readonly from: string; readonly to: string; readonly took: Ms };
type ByDestination = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** How many deliveries of each destination are in each state. */
function byDestination({ totals }: Result): ByDestination {
  const found = Map.groupBy(totals.deliveries, ({ destination }) => destination);
  const rows = [...found].map(([name, counts]): [string, Record<string, number>] => [
    name,
    Object.fromEntries(counts.map(({ state, count }) => [state, count])),
  ]);
  return new Map(rows.sort(([one], [other]) => (one < other ? -1 : 1)));
}

function toWords(result: Result, { from, to, took }: About): string {
  const rows = [...byDestination(result)].map(([name, counts]) => [
    `  ${printable(name)}`,
    ...STATES.map((state) => String(counts[state] ?? 0)),
  ]);
  return [
    `Copied ${printable(from)} to ${printable(to)}: ${result.totals.events} ${result.totals.events === 1 ? "event" : "events"} in ${formatDuration(took)}.`,
    ...(rows.length > 0 ? ["Both have the same deliveries:"] : []),
    ...(rows.length > 0 ? [table(["  destination", ...STATES], rows)] : []),
    `Now set the outbox of the config to ${printable(to)}, and start the daemon.`,
    `Never start a daemon with ${printable(from)} again: it would send the waiting deliveries twice.`,
  ].join("\n");
}

function toJson(result: Result, { from, to, took }: About): object {
  const { totals, rows, resumed } = result;
  const deliveries = Object.fromEntries(byDestination(result));
  return { from, to, tookMs: took, events: totals.events, rows, resumed, deliveries };
}
