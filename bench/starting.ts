/** How long it takes from the start of the process until a call is acknowledged, and what a server needs that has nothing to do. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Contender, Server } from "./contender.ts";
import { BATCH } from "./measure.ts";
import { now } from "./processes.ts";
import { WRITE_KEY } from "./requests.ts";
import { type Bench, kindOf, withServer } from "./run.ts";
import { median } from "./statistics.ts";
import { memoryOf } from "./usage.ts";
import { type Measured, watch } from "./watch.ts";

/** One takes so little time that another program's hiccup would be most of it. */
const STARTS = 5;
/** In ms: for what a start leaves to be done later, which is no idling. */
const SETTLING = 2_000;

/** With an empty store, and with nothing to do but to say its version. */
export async function measureStart(contender: Contender, bench: Bench): Promise<Measured> {
  await bench.receiver.ask("expect", { requests: STARTS });
  const { values, ...others } = await startAgain(contender, bench);
  if (contender !== "fairlead") return { ...others, values };
  return {
    ...others,
    values: { ...values, versionMs: median(Array.from({ length: STARTS }, () => runVersion(bench))) },
  };
}

function runVersion({ fairlead }: Bench): number {
  const startedAt = now();
  const { success } = Bun.spawnSync([...fairlead, "version"]);
  if (!success) throw new Error("fairlead version has failed");
  return now() - startedAt;
}

/** With the events of `million` waiting, as their receiver is away: after a kill, and after an end. */
export async function measureWaiting(bench: Bench): Promise<Measured> {
  const { million } = bench.amounts;
  const data = mkdtempSync(join(bench.folder, "bench-waiting-"));
  const ended = { ...bench, data, endBy: "SIGTERM" } as const;
  await bench.receiver.ask("leave");
  try {
    await withServer("fairlead", { ...bench, data, endBy: "SIGKILL" }, async (server) => {
      const kind = { ...kindOf(server, "none"), eventsPerRequest: BATCH };
      await bench.load.ask("flood", { ...kind, requests: million / BATCH });
    });
    const { acknowledgedMs: afterKillMs } = await withServer("fairlead", ended, untilAcknowledged);
    const { values, ...others } = await startAgain("fairlead", ended);
    return { ...others, values: { ...values, afterKillMs } };
  } finally {
    await bench.receiver.ask("comeBack", { requests: Number.POSITIVE_INFINITY });
    rmSync(data, { recursive: true });
  }
}

/** The median of several starts, and what the last of them, and other programs, use right after it. */
async function startAgain(contender: Contender, bench: Bench): Promise<Measured> {
  const starts: Start[] = [];
  for (let nth = 1; nth < STARTS; nth += 1) starts.push(await withServer(contender, bench, untilAcknowledged));
  return withServer(contender, bench, async (server) => {
    starts.push(await untilAcknowledged(server));
    return watch(server, bench, async () => {
      await Bun.sleep(SETTLING);
      return { ...medianOf(starts), memory: memoryOf(server) };
    });
  });
}

/** Since the start of the process. `readyMs`: until it said where it listens. */
type Start = { readonly readyMs: number; readonly acknowledgedMs: number };

async function untilAcknowledged({ port, startedAt }: Server): Promise<Start> {
  const readyMs = now() - startedAt;
  const headers = { Authorization: `Basic ${btoa(`${WRITE_KEY}:`)}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ type: "track", userId: "user", event: "Started" });
  const response = await fetch(`http://127.0.0.1:${port}/v1/track`, { method: "POST", headers, body });
  if (!response.ok) throw new Error(`the first call was answered ${response.status}`);
  return { readyMs, acknowledgedMs: now() - startedAt };
}

function medianOf(starts: readonly Start[]): Start {
  const of = (part: keyof Start): number => median(starts.map((start) => start[part]));
  return { readyMs: of("readyMs"), acknowledgedMs: of("acknowledgedMs") };
}

/** Processor time in percent of one core, and memory, of a server to which nothing has been sent since its start. */
export function measureIdle(contender: Contender, bench: Bench): Promise<Measured> {
  const { idle } = bench.amounts;
  return withServer(contender, bench, async (server) => {
    await Bun.sleep(SETTLING);
    return watch(server, bench, async (cpu) => {
      await Bun.sleep(idle * 1_000);
      return { cpuPercent: (cpu() / idle) * 100, memory: memoryOf(server) };
    });
  });
}
