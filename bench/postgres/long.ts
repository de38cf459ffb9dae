/**
 * Single calls at a steady pace beside a transaction that stays open. While it does, PostgreSQL cannot remove any row version
 * that it might see, so what is updated often grows: this shows whether that makes the daemon slower.
 */
import { type Curve, draw } from "../plot.ts";
import { arrival, CONNECTIONS, type Tools } from "../run.ts";
import { median, percentile } from "../statistics.ts";
import { type Cluster, type Cost, startClock, withCluster } from "./daemons.ts";
import type { Base, Postgres } from "./database.ts";
import type { PostgresOptions } from "./options.ts";

export type Minute = Cost & {
  /** Of acknowledgements, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Row versions that are no longer needed, by table. */
  readonly dead: Readonly<Record<string, number>>;
};

type Around = { readonly tools: Tools; readonly postgres: Postgres };

export function measureLong(options: PostgresOptions, around: Around): Promise<readonly Minute[]> {
  return withCluster({ store: "postgres", daemons: 1 }, around, async (cluster) => {
    const { base } = cluster;
    if (!base) throw new Error("there is no database");
    // Code is compiled and connections are open when the first minute begins.
    await sendSteadily(cluster, options);
    const end = await base.holdOpen();
    const minutes: Minute[] = [];
    for (let nth = 1; nth <= options.minutes; nth += 1) {
      const minute = { ...(await sendSteadily(cluster, options)), dead: await deadRows(base) };
      minutes.push(minute);
      console.error(`minute ${nth} of ${options.minutes}: ${writeMinute(minute)}`);
    }
    await end();
    return minutes;
  });
}

async function sendSteadily(cluster: Cluster, { pace, minuteSeconds }: PostgresOptions): Promise<Omit<Minute, "dead">> {
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

async function deadRows(base: Base): Promise<Readonly<Record<string, number>>> {
  const rows = await base.query<{ name: string; dead: number }>(
    "SELECT relname AS name, n_dead_tup AS dead FROM pg_stat_user_tables WHERE n_dead_tup > 0 ORDER BY n_dead_tup DESC",
  );
  return Object.fromEntries(rows.map(({ name, dead }) => [name, dead]));
}

function writeMinute({ p50, p99, daemonMicros, serverMicros, dead }: Minute): string {
  const rows = Object.entries(dead).map(([table, count]) => `${table} ${count}`);
  const times = `p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms`;
  return `${times}, daemon ${daemonMicros.toFixed(0)} µs, server ${serverMicros.toFixed(0)} µs; dead rows: ${rows.join(", ")}`;
}

/** How much more an event may cost in the last third than in the first. */
const FLAT = 1.25;

const JUDGED = {
  "acknowledgement, p50": ({ p50 }: Minute) => p50,
  "processor time of the daemon": ({ daemonMicros }: Minute) => daemonMicros,
  "processor time of the server": ({ serverMicros }: Minute) => serverMicros,
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
  const most = Object.entries(minutes.at(-1)?.dead ?? {}).slice(0, COLOURS.length);
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
        label: "processor time, µs an event",
        curves: [
          curve("daemon", 0, ({ daemonMicros }) => daemonMicros),
          curve("PostgreSQL", 1, ({ serverMicros }) => serverMicros),
        ],
      },
      {
        label: "dead rows",
        curves: most.map(([table], nth) => curve(table, nth, ({ dead }) => dead[table] ?? 0)),
      },
    ],
  });
}
