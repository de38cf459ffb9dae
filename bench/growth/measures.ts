/**
 * What an event costs at one number of rows. A process of its own for each measurement, which has done as much as every
 * other when the clock starts: one that has filled the store itself would be the warmer the more rows there are.
 */
import type { Server } from "../contender.ts";
import { arrival, checkSample, type Tools } from "../run.ts";
import { cpuSecondsOf } from "../usage.ts";
import { flood, type Store, type Use, wholeRows, withCopy, withStore } from "./stores.ts";
import type { MeasureName, Variation } from "./variations.ts";

export type Amounts = {
  /** Of rows in the store, fewest first. */
  readonly levels: readonly number[];
  /** Rows that come or go before the clock starts, and while it runs. */
  readonly warmup: number;
  readonly measured: number;
  readonly rounds: number;
};

/** What an event has cost once. */
export type Cost = {
  /** In the store when the measurement began, without the warm-up. */
  readonly rows: number;
  /** Of processor time of the server, all threads, for an event with all its deliveries. */
  readonly micros: number;
  readonly eventsPerSecond: number;
};

export type Growing = { readonly variation: Variation; readonly amounts: Amounts; readonly tools: Tools };

/** In turn for each number of rows, so that a machine that is slow for a while is so for all. */
export async function measureCosts(
  measure: MeasureName,
  stores: readonly Store[],
  growing: Growing,
): Promise<readonly Cost[]> {
  const costs: Cost[] = [];
  if (measure === "drained") for (const store of stores) costs.push(...(await drain(store, growing)));
  else
    for (let round = 0; round < growing.amounts.rounds; round += 1)
      for (const store of round % 2 === 0 ? stores : stores.toReversed())
        costs.push(await takeMore(measure, store, growing));
  return costs;
}

/** A store that what is measured would make a good deal larger is copied before. */
function takeMore(measure: "taken" | "kept", store: Store, { variation, amounts, tools }: Growing): Promise<Cost> {
  const { warmup, measured } = amounts;
  const delivered = measure === "kept";
  const use: Use = { variation, receiver: delivered ? "there" : "away", tools };
  const withRows = store.rows < (warmup + measured) * 20 ? withCopy : withStore;
  return withRows(store, use, async (server) => {
    await take(warmup, server);
    if (!delivered) await settled(server);
    return timed(server, wholeRows(measured, variation), () => take(measured, server));
  });

  async function timed(server: Server, rows: number, work: () => Promise<void>): Promise<Cost> {
    const clock = startClock(server);
    await work();
    return clock.stop(store.rows, rows / variation.destinations);
  }

  async function take(rows: number, server: Server): Promise<void> {
    const expected = wholeRows(rows, variation);
    await tools.receiver.ask("expect", { requests: expected });
    await flood(server, rows, use);
    if (delivered) checkSample(await arrival(expected, tools));
  }
}

/** Delivers all that waits, and looks at what the first of it costs, if enough is left meanwhile. */
async function drain(store: Store, { variation, amounts, tools }: Growing): Promise<readonly Cost[]> {
  const { warmup, measured, rounds } = amounts;
  const use: Use = { variation, receiver: "there", tools };
  await tools.receiver.ask("expect", { requests: warmup });
  return withStore(store, use, async (server) => {
    const costs: Cost[] = [];
    if (store.rows > (warmup + rounds * measured) * 1.1) {
      await arrival(warmup, tools);
      for (let round = 0; round < rounds; round += 1) {
        // What comes between the last look and this one is not counted.
        await tools.receiver.ask("expect", { requests: measured });
        const clock = startClock(server);
        await arrival(measured, tools);
        costs.push(clock.stop(store.rows, measured / variation.destinations));
      }
    }
    await drained(server);
    return costs;
  });
}

function startClock(server: Server) {
  const startedAt = performance.now();
  const before = cpuSecondsOf(server);
  return {
    stop(rows: number, events: number): Cost {
      const micros = ((cpuSecondsOf(server) - before) / events) * 1_000_000;
      return { rows, micros, eventsPerSecond: (events / (performance.now() - startedAt)) * 1_000 };
    },
  };
}

/** In ms. */
const LOOK_EVERY = 200;
/** In cores: what is left of a server that only probes now and then. */
const QUIET = 0.1;
const MOST_LOOKS = 50;

/** Until the lanes of all destinations are closed: the attempts that close them are no part of what a call costs. */
async function settled(server: Server): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1) {
    const before = cpuSecondsOf(server);
    await Bun.sleep(LOOK_EVERY);
    if (cpuSecondsOf(server) - before < (QUIET * LOOK_EVERY) / 1_000) return;
  }
}

async function drained({ adminPort }: Server): Promise<void> {
  for (;;) {
    const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    const waiting = metrics.match(/^fairlead_deliveries\{.*state="waiting".*\} \d+$/gm) ?? [];
    if (waiting.length > 0 && waiting.every((line) => line.endsWith(" 0"))) return;
    await Bun.sleep(LOOK_EVERY);
  }
}
