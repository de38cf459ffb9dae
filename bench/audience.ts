/** What it costs to sync a large audience: how fast its calls are made, and how long calls from outside wait meanwhile. */
import type { Server } from "./contender.ts";
import { type Bench, type Kind, kindOf, warmUp, withServer } from "./run.ts";
import { percentile } from "./statistics.ts";
import { type Measured, watch } from "./watch.ts";

/** `idle`: nothing but the calls from outside. `first`: everybody is new. `change`: one in a hundred has changed since. */
export type Sync = "idle" | "first" | "change";

const PER_SECOND = 200;
/** At a steady pace each call needs a free connection, also those that come while something takes long. */
const CONNECTIONS = 256;
/** In ms. */
const LOOK_EVERY = 100;

export function measureAudience(sync: Sync, bench: Bench): Promise<Measured> {
  const { members, seconds } = bench.amounts;
  return withServer("fairlead", bench, async (server) => {
    const kind = { ...kindOf(server, "none"), connections: CONNECTIONS, eventsPerRequest: 1 };
    await warmUp(kind, bench);
    if (sync === "change") await syncAll(server, { users: members, from: 0 }, bench);
    return watch(server, bench, async () => {
      let isDone = sync === "idle";
      const from = sync === "change" ? members / 200 : 0;
      const syncing = isDone ? null : syncAll(server, { users: members, from }, bench).finally(() => (isDone = true));
      const latencies: number[] = [];
      do latencies.push(...(await pace(kind, seconds, bench)));
      while (!isDone);
      const p = { p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
      return { ...p, ...(await syncing) };
    });
  });
}

async function pace(kind: Kind, seconds: number, bench: Bench): Promise<readonly number[]> {
  return (await bench.load.ask("pace", { ...kind, perSecond: PER_SECOND, seconds })).latencies;
}

type List = { readonly users: number; readonly from: number };

/** Sends the list, and waits until all that it changes is in the outbox, and then until it has arrived. */
async function syncAll({ adminPort }: Server, list: List, bench: Bench) {
  const url = `http://127.0.0.1:${adminPort}/api/sources/bench/audiences/spenders`;
  await bench.receiver.ask("expect", { requests: Number.POSITIVE_INFINITY });
  const startedAt = performance.now();
  const headers = { "Content-Type": "text/csv" };
  const response = await fetch(url, { method: "PUT", headers, body: bodyOf(list), duplex: "half" } as RequestInit);
  const { added, removed } = (await response.json()) as { added: number; removed: number };
  const answeredAt = performance.now();
  await until(async () => {
    const { audience } = (await (await fetch(url)).json()) as { audience: { lastSync: { state: string } } };
    return audience.lastSync.state === "finished";
  });
  await until(async () => (await bench.receiver.ask("count")).requests >= added + removed);
  const seconds = (performance.now() - startedAt) / 1_000;
  const changes = added + removed;
  const answeredSeconds = (answeredAt - startedAt) / 1_000;
  return { changes, answeredSeconds, seconds, changesPerSecond: changes / seconds };
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await Bun.sleep(LOOK_EVERY);
}

/** A line for each user, in no order. */
function bodyOf({ users, from }: List): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = from;
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode("userId\n")),
    pull(controller) {
      const end = Math.min(at + 1_000, from + users);
      let text = "";
      for (; at < end; at += 1) text += `${userOf(at)}\n`;
      if (text === "") controller.close();
      else controller.enqueue(encoder.encode(text));
    },
  });
}

/** Neighbours are far from each other in the order of the store. */
function userOf(nth: number): string {
  const scattered = (nth * 2_654_435_761) % 2 ** 32;
  return `${scattered.toString(16).padStart(8, "0")}-0000-4000-8000-${nth.toString(16).padStart(12, "0")}`;
}
