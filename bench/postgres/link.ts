/** One daemon and a PostgreSQL that is half a millisecond away, beside one that is near, and beside a SQLite file. */
import { join } from "node:path";
import { end, start } from "../processes.ts";
import { arrival, CONNECTIONS } from "../run.ts";
import { median, percentile } from "../statistics.ts";
import { align } from "../table.ts";
import { type Around, type Cost, measureSetup, type Setup, withCluster } from "./daemons.ts";
import type { Postgres } from "./database.ts";
import type { PostgresOptions } from "./options.ts";

/** What the link adds to a round trip, in µs; null: SQLite, without a link. */
const LINKS = [null, 0, 500] as const;

export type Linked = {
  readonly link: (typeof LINKS)[number];
  /** As it was measured, in ms. */
  readonly roundTrip: number;
  readonly costs: readonly Cost[];
  /** Of acknowledgements at a steady pace, in ms. */
  readonly p50: number;
  readonly p99: number;
};

/** In turn, and in every other round backwards. */
export async function measureLinks(options: PostgresOptions, around: Around): Promise<readonly Linked[]> {
  const measured: Linked[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    for (const link of round % 2 === 0 ? LINKS : LINKS.toReversed()) {
      const one = await measureLink(link, options, around);
      console.error(writeLinked(one).join(", "));
      measured.push(one);
    }
  }
  return measured;
}

async function measureLink(link: Linked["link"], options: PostgresOptions, { tools, postgres }: Around) {
  const slow = await openLink(link ?? 0, tools.folder, postgres);
  const around = { tools, postgres: slow.postgres };
  const crew = { store: link === null ? "sqlite" : "postgres", daemons: 1 } as const;
  try {
    const costs: Cost[] = [];
    for (const work of ["singles", "batches"] as const) {
      const setup: Setup = { ...crew, work, ids: "none" };
      costs.push(...(await measureSetup(setup, around, options)));
    }
    const latencies = await withCluster(crew, around, ({ servers }) => pace(servers[0]?.port ?? 0, options, around));
    const roundTrip = link === null ? 0 : await slow.postgres.roundTrip();
    return { link, roundTrip, costs, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
  } finally {
    await slow.close();
  }
}

/** The first half of the calls is for the compiler. */
async function pace(port: number, { pace, seconds }: PostgresOptions, { tools }: Around): Promise<readonly number[]> {
  const kind = { port, connections: CONNECTIONS, ids: "none", eventsPerRequest: 1 } as const;
  await tools.receiver.ask("expect", { requests: 2 * pace * seconds });
  const { latencies } = await tools.load.ask("pace", { ...kind, perSecond: pace, seconds: 2 * seconds });
  await arrival(2 * pace * seconds, tools);
  return latencies.slice(pace * seconds);
}

const SOURCE = join(import.meta.dir, "slow-link.c");
const SOCKET = ".s.PGSQL.5432";
const MICROS_IN_WAY = 2;

/** The same server, and a link on the way to it. */
async function openLink(micros: number, folder: string, postgres: Postgres) {
  const program = join(folder, "slow-link");
  const compiled = Bun.spawnSync(["cc", "-O2", "-o", program, SOURCE], { stdio: ["ignore", "inherit", "inherit"] });
  if (!compiled.success) throw new Error("the link needs a C compiler: apt install gcc libc6-dev");
  const place = join(folder, `link-${crypto.randomUUID().slice(0, 8)}`);
  Bun.spawnSync(["mkdir", place]);
  const command = [program, join(place, SOCKET), join(postgres.host, SOCKET), String(micros / MICROS_IN_WAY)];
  const child = start(command, { stdio: ["ignore", "pipe", "inherit"] });
  await (child.stdout as ReadableStream<Uint8Array>).getReader().read();
  return { postgres: postgres.by(place), close: () => end(child) };
}

export function writeLinks(measured: readonly Linked[]): string {
  const rows = LINKS.map((link) => middleOf(measured.filter((one) => one.link === link)));
  const head = ["one daemon", "round trip", "singles", "batches", "draining", "p50", "p99"];
  return align([head, ...rows.map(writeLinked)]);
}

function middleOf(some: readonly Linked[]): Linked {
  const [first] = some;
  if (!first) throw new Error("nothing was measured");
  const middle = (of: (one: Linked) => number): number => median(some.map(of));
  const costs = first.costs.map((cost, nth) => ({
    ...cost,
    eventsPerSecond: middle((one) => one.costs[nth]?.eventsPerSecond ?? Number.NaN),
  }));
  const [roundTrip, p50, p99] = [middle((one) => one.roundTrip), middle((one) => one.p50), middle((one) => one.p99)];
  return { link: first.link, costs, roundTrip, p50, p99 };
}

function writeLinked({ link, roundTrip, costs, p50, p99 }: Linked): readonly string[] {
  return [
    link === null ? "SQLite" : "PostgreSQL",
    link === null ? "–" : `${roundTrip.toFixed(2)} ms`,
    ...costs.map(({ eventsPerSecond }) => `${Math.round(eventsPerSecond).toLocaleString("en-US")} /s`),
    ...[p50, p99].map((time) => `${time.toFixed(2)} ms`),
  ];
}
