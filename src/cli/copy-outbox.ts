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
import { type Complaint, complain, type Done, EXIT, type ExitCode, examples, table, wrongUsage } from "./command.ts";
import { CONFIG_OPTION, readOutbox } from "./config-file.ts";
import type { copyBetween, Ends, Place } from "./copy-ends.ts";
import { onInterrupt, openProgressBar } from "./progress.ts";

/** `fairlead copy-outbox`: moves the outbox from a file to a database, or back. */
export function declareCopyOutbox(program: Command, done: Done): void {
  program
    .command("copy-outbox")
    .description(
      "copy the outbox from an SQLite file to PostgreSQL, or back; an interrupted copy is continued. No daemon may run",
    )
    .option("--from <outbox>", "the outbox to copy: a file, or postgres://… (else that of the config)")
    .option("--to <outbox>", "where to: a new file, or postgres://… (else the outbox of the config)")
    .option(...CONFIG_OPTION)
    .option("--json", "print what was copied as JSON")
    .addHelpText("after", HELP)
    .action((options: CopyOptions) => done(copy(options)));
}

const HELP = `${examples(
  "fairlead copy-outbox --from /var/lib/fairlead/fairlead.db",
  "fairlead copy-outbox --from fairlead.db --to postgres://fairlead@db.example.com/fairlead?sslmode=verify-full",
  "fairlead copy-outbox --to /var/lib/fairlead/fairlead.db",
)}

Stop all daemons first. If it is interrupted, run it again: it goes on where it was.
Everything goes along: events with their numbers, deliveries and their attempts, the
messageIds of the last 24 hours, pauses, deletions, suppressed users, audiences.

The arguments of a process are visible to all users of the machine. Keep the password
out of them: in the config (outbox.url), in PGPASSWORD, or in the file of PGPASSFILE.`;

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
  const result = await ways.copyBetween(ends, {
    clock,
    pid: process.pid,
    signal: interrupt.signal,
    stepped: ({ done, total, began: before }) =>
      bar.show({ done, total, began: { done: before, share: before / total }, elapsed: clock.now() - began }),
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
      "name the outbox to copy with --from, or where to copy it with --to; the config has the other one",
    );
  }
  const from = findPlace("--from", options.from, options.config);
  if ("code" in from) return from;
  const to = findPlace("--to", options.to, options.config);
  if ("code" in to) return to;
  if (from.kind === "file" && to.kind === "database") return { way: "out", from, to };
  if (from.kind === "database" && to.kind === "file") return { way: "back", from, to };
  const instead = from.kind === "file" ? "fairlead backup copies a file" : "pg_dump copies a database";
  const message = `${shown(from)} and ${shown(to)} are of one kind: one has to be a file, and the other a database; ${instead}`;
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
  if (concern !== null) printError(`fairlead: warning: ${option} ${concern}\n`);
  if (postgres.password !== null) printError(`fairlead: warning: ${option} ${VISIBLE}\n`);
  return { kind: "database", url: shownUrl(named), postgres };
}

const VISIBLE =
  "has a password, which all users of this machine can see in the list of processes: put it into PGPASSWORD or PGPASSFILE, or name a config with outbox.url";

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
    `Copied ${printable(from)} to ${printable(to)}: ${result.totals.events} events in ${formatDuration(took)}.`,
    ...(rows.length > 0 ? ["Both were counted, and have the same deliveries:"] : []),
    ...(rows.length > 0 ? [table([["  destination", ...STATES], ...rows])] : []),
    `Now let the config name ${printable(to)}, and start. Start no daemon with ${printable(from)} any more: it would send`,
    "again what waits there.",
  ].join("\n");
}

function toJson(result: Result, { from, to, took }: About): object {
  const { totals, rows, resumed } = result;
  const deliveries = Object.fromEntries(byDestination(result));
  return { from, to, tookMs: took, events: totals.events, rows, resumed, deliveries };
}
