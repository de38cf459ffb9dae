/**
 * Single calls at a steady pace beside a transaction that stays open. While it does, PostgreSQL cannot remove any row version
 * that it might see, so what is updated often grows: this shows whether that makes the daemon slower.
 */
import { type Curve, draw } from "../plot.ts";
import { arrival, CONNECTIONS } from "../run.ts";
import { median, percentile } from "../statistics.ts";
import { type Around, type Cluster, type Cost, startClock, withCluster } from "./daemons.ts";
import type { Base } from "./database.ts";
import type { PostgresOptions } from "./options.ts";

export type Minute = Cost & {
  /** Of acknowledgements, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** How long the server has executed statements for an event, in µs. */
  readonly statementMicros: number;
  /** Those with the most dead rows first. */
  readonly tables: readonly Table[];
};

/** `dead`: row versions that are no longer needed. `bytes`: with its indexes. */
type Table = { readonly name: string; readonly dead: number; readonly bytes: number };

export function measureLong(options: PostgresOptions, around: Around): Promise<readonly Minute[]> {
  return withCluster({ store: "postgres", daemons: 1 }, around, async (cluster) => {
    const { base } = cluster;
    if (!base) throw new Error("there is no database");
    // Code is compiled and connections are open when the first minute begins.
    await sendSteadily(cluster, options);
    const end = await base.holdOpen();
    try {
      return await measureMinutes(options, { cluster, base });
    } finally {
      await end();
    }
  });
}

async function measureMinutes(
  options: PostgresOptions,
  { cluster, base }: { readonly cluster: Cluster; readonly base: Base },
): Promise<readonly Minute[]> {
  const minutes: Minute[] = [];
  for (let nth = 1; nth <= options.minutes; nth += 1) {
    const before = await statementTime(base);
    const cost = await sendSteadily(cluster, options);
    const statementMicros = ((await statementTime(base)) - before) / (options.pace * options.minuteSeconds);
    const minute = { ...cost, statementMicros, tables: await readTables(base) };
    minutes.push(minute);
    console.error(`minute ${nth} of ${options.minutes}: ${writeMinute(minute)}`);
  }
  return minutes;
}

async function sendSteadily(
  cluster: Cluster,
  { pace, minuteSeconds }: PostgresOptions,
): Promise<Omit<Minute, "statementMicros" | "tables">> {
  const { servers, tools } = cluster;
  const events = pace * minuteSeconds;
  const kind = { port: servers[0]?.port ?? 0, connections: CONNECTIONS, ids: "random", eventsPerRequest: 1 } as const;
  await tools.receiver.ask("expect", { requests: events });
  const clock = await startClock(cluster);
  const startedAt = performance.now();
  const { latencies } = await tools.load.ask("pace", { ...kind, perSecond: pace, seconds: minuteSeconds });
  await arrival(events, tools);
  const cost = await clock.stop("single calls delivered", events, performance.now() - startedAt);
  return { ...cost, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
}

/** Of all sessions together, in µs. A session reports it when it is idle, a second late at most. */
async function statementTime(base: Base): Promise<number> {
  const [row] = await base.query<{ ms: number }>(
    "SELECT active_time AS ms FROM pg_stat_database WHERE datname = current_database()",
  );
  return (row?.ms ?? 0) * 1_000;
}

function readTables(base: Base): Promise<readonly Table[]> {
  return base.query<Table>(
    `SELECT relname AS name, n_dead_tup AS dead, pg_total_relation_size(relid) AS bytes
     FROM pg_stat_user_tables ORDER BY n_dead_tup DESC, bytes DESC`,
  );
}

function writeMinute({ p50, p99, daemonMicros, serverMicros, statementMicros, tables }: Minute): string {
  const some = tables.filter(({ dead }) => dead > 0);
  const rows = some.map(({ name, dead, bytes }) => `${name} ${dead} (${(bytes / 1_048_576).toFixed(1)} MB)`);
  const times = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, statements ${statementMicros.toFixed(0)} µs`;
  return `${times}, daemon ${daemonMicros.toFixed(0)} µs, server ${serverMicros.toFixed(0)} µs; dead rows: ${rows.join(", ")}`;
}

/** How much more an event may cost in the last third than in the first. */
const FLAT = 1.25;

const JUDGED = {
  "acknowledgement, p50": ({ p50 }: Minute) => p50,
  "processor time of the daemon": ({ daemonMicros }: Minute) => daemonMicros,
  "processor time of the server": ({ serverMicros }: Minute) => serverMicros,
  "time of statements": ({ statementMicros }: Minute) => statementMicros,
};

/** The last third of the minutes beside the first: medians. */
export function writeVerdict(minutes: readonly Minute[]): string {
  const third = Math.ceil(minutes.length / 3);
  const lines = Object.entries(JUDGED).map(([what, of]) => {
    const ratio = median(minutes.slice(-third).map(of)) / median(minutes.slice(0, third).map(of));
    return `${what}: ${ratio.toFixed(2)} of what it was (wanted ≤ ${FLAT}): ${ratio <= FLAT ? "flat" : "it grows"}`;
  });
  return [`beside a transaction that stays open for ${minutes.length} minutes`, ...lines].join("\n");
}

const COLOURS = ["#1f5fbf", "#d9730d", "#2e7d32"] as const;

export function drawMinutes(minutes: readonly Minute[], minuteSeconds: number): string {
  const most = (minutes.at(-1)?.tables ?? []).slice(0, COLOURS.length);
  const curve = (name: string, nth: number, of: (minute: Minute) => number): Curve => ({
    name,
    colour: COLOURS[nth] ?? "black",
    points: minutes.map((minute, at) => ({ x: at + 1, y: of(minute) })),
  });
  return draw({
    title: "Single calls at a steady pace beside a transaction that stays open",
    label: minuteSeconds === 60 ? "minutes since it began" : `spans of ${minuteSeconds} s since it began`,
    phases: [{ name: "", from: 0, to: minutes.length }],
    charts: [
      {
        label: "acknowledgement, ms",
        curves: [curve("p50", 0, ({ p50 }) => p50), curve("p99", 1, ({ p99 }) => p99)],
      },
      {
        label: "processor time, and time of statements, µs an event",
        curves: [
          curve("daemon", 0, ({ daemonMicros }) => daemonMicros),
          curve("PostgreSQL", 1, ({ serverMicros }) => serverMicros),
          curve("statements", 2, ({ statementMicros }) => statementMicros),
        ],
      },
      {
        label: "dead rows",
        curves: most.map(({ name }, nth) =>
          curve(name, nth, ({ tables }) => tables.find((one) => one.name === name)?.dead ?? 0),
        ),
      },
    ],
  });
}
