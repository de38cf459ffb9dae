/**
 * Daemons that share a PostgreSQL beside one with SQLite, the statement that stores events by itself, and what becomes of
 * rates and rows beside a transaction that stays open. Run by `make bench BENCH=postgres`.
 */
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe } from "../machine.ts";
import { profiled } from "../profile.ts";
import { withTools } from "../run.ts";
import { median } from "../statistics.ts";
import { align } from "../table.ts";
import { type Appended, measureAppends, writeAppends } from "./appends.ts";
import { type Around, type Cost, type Crew, measureSetup, type Setup } from "./daemons.ts";
import { startPostgres } from "./database.ts";
import { type Linked, measureLinks, writeLinks } from "./link.ts";
import { drawMinutes, type Minute, measureLong, writeVerdict } from "./long.ts";
import { POSTGRES_USAGE, type PostgresOptions, readPostgresOptions } from "./options.ts";

export async function benchPostgres(argv: readonly string[]): Promise<void> {
  const options = readPostgresOptions(argv);
  if (options === "help") return console.log(POSTGRES_USAGE);
  await withTools(options, async (tools) => {
    const postgres = await startPostgres(tools.folder);
    try {
      await measureAndTell(options, { tools, postgres });
    } finally {
      await postgres.stop();
    }
  });
}

export type Sample = { readonly setup: Setup; readonly costs: readonly Cost[] };

async function measureAndTell(options: PostgresOptions, around: Around): Promise<void> {
  const { parts, out, minuteSeconds } = options;
  const samples = parts.includes("daemons") ? await measureDaemons(options, around) : [];
  const appended: readonly Appended[] = parts.includes("append") ? await measureAppends(options, around.postgres) : [];
  const linked: readonly Linked[] = parts.includes("link") ? await measureLinks(options, around) : [];
  const minutes: readonly Minute[] = parts.includes("long") ? await measureLong(options, around) : [];
  const about = describe(options);
  const tables = [
    samples.length > 0 ? writeCosts(samples) : "",
    appended.length > 0 ? writeAppends(appended) : "",
    linked.length > 0 ? writeLinks(linked) : "",
  ];
  console.log([about.text, around.postgres.about, ...tables].filter((text) => text !== "").join("\n\n"));
  if (minutes.length > 0) {
    const drawing = join(dirname(out), "bench-postgres.svg");
    writeFileSync(drawing, drawMinutes(minutes, minuteSeconds));
    console.log(`\n${writeVerdict(minutes)}\ndrawn in ${drawing}`);
  }
  const facts = { ...about.facts, postgres: around.postgres.about, options };
  writeFileSync(out, `${JSON.stringify({ ...facts, samples, appended, linked, minutes }, null, 2)}\n`);
}

/** In turn, and in every other round backwards, so that a machine that is slow for a while is so for all. */
async function measureDaemons(options: PostgresOptions, around: Around): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const setups = setupsOf(options);
  for (let round = 0; round < options.rounds; round += 1) {
    for (const setup of round % 2 === 0 ? setups : setups.toReversed()) {
      const costs = await measureSetup(setup, options.profile ? profiling(setup, around) : around, options);
      samples.push({ setup, costs });
      for (const cost of costs) console.error(`${nameOf(setup)}: ${writeCost(cost).join(", ")}`);
    }
  }
  return samples;
}

function setupsOf({ daemons }: PostgresOptions): readonly Setup[] {
  return (["none", "random"] as const).flatMap((ids) =>
    (["singles", "batches"] as const).flatMap((work) =>
      daemons.flatMap((count) =>
        (["sqlite", "postgres"] as const).map((store) => ({ store, daemons: count, work, ids })),
      ),
    ),
  );
}

function profiling(setup: Setup, { tools, postgres }: Around): Around {
  const { fairlead, folder } = profiled(`postgres ${setup.store} ${setup.daemons} ${setup.work} ${setup.ids}`);
  console.error(folder);
  return { tools: { ...tools, fairlead, endBy: "SIGTERM" }, postgres };
}

const STORES = { sqlite: "SQLite", postgres: "PostgreSQL" } as const;

function nameOf({ store, daemons }: Crew): string {
  return `${STORES[store]}, ${daemons} daemon${daemons === 1 ? "" : "s"}`;
}

const IDS_IN_TITLES = { none: "no messageId", random: "random messageIds", ordered: "ordered messageIds" } as const;

/** A table for each phase and kind of messageId: medians of the rounds. */
export function writeCosts(samples: readonly Sample[]): string {
  const all = samples.flatMap(({ setup, costs }) => costs.map((cost) => ({ setup, cost })));
  const tables = Map.groupBy(all, ({ setup, cost }) => `${cost.phase}, ${IDS_IN_TITLES[setup.ids]}`);
  return [...tables]
    .map(([title, some]) => {
      const rows = [...Map.groupBy(some, ({ setup }) => nameOf(setup))].map(
        ([name, rounds]) => [name, middleOf(rounds.map(({ cost }) => cost))] as const,
      );
      const base =
        rows.find(([name]) => name === nameOf({ store: "sqlite", daemons: 1 }))?.[1].eventsPerSecond ?? Number.NaN;
      const head = [title, "ratio", "events/s", "daemons", "server", "log", "transactions"];
      return align([
        head,
        ...rows.map(([name, cost]) => [name, (cost.eventsPerSecond / base).toFixed(2), ...writeCost(cost)]),
      ]);
    })
    .join("\n\n");
}

function middleOf(costs: readonly Cost[]): Cost {
  const [first] = costs;
  if (!first) throw new Error("nothing was measured");
  const entries = Object.entries(first).map(([name, value]) => [
    name,
    typeof value === "number" ? median(costs.map((cost) => Number(cost[name as keyof Cost]))) : value,
  ]);
  return Object.fromEntries(entries);
}

/** All but the rate are for an event. */
function writeCost({ eventsPerSecond, daemonMicros, serverMicros, walBytes, transactions }: Cost): readonly string[] {
  const database = [`${serverMicros.toFixed(1)} µs`, `${walBytes.toFixed(0)} B`, transactions.toFixed(4)];
  return [
    `${Math.round(eventsPerSecond).toLocaleString("en-US")} /s`,
    `${daemonMicros.toFixed(1)} µs`,
    ...(transactions === 0 ? ["–", "–", "–"] : database),
  ];
}
