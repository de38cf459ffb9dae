import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { type Hook, startPlace } from "../binary/receiver.ts";
import { PATIENCE } from "../binary/waiting.ts";
import type { Daemon } from "../binary/world.ts";
import { settled, statusOf } from "./observe.ts";

const SECOND = 1_000;
const KB = 1_024;
/** How long; in seconds. */
const LENGTH = Number(process.env.SOAK_SECONDS ?? 600);
/** Calls are sent in groups, each after so long. */
const EVERY = 100;
const GROUP = 10;
/** The receiver is down for a while, again and again. */
const OUTAGE_EVERY = 60 * SECOND;
const OUTAGE = 5 * SECOND;

/** How many idle connections Bun keeps. */
const KEPT_CONNECTIONS = 64;

/** What is in use at one moment. */
type Sample = { readonly memoryKb: number; readonly descriptors: number; readonly logKb: number };

function sample({ process: { pid } }: Daemon, log: string): Sample {
  const [, resident] = /^VmRSS:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return {
    memoryKb: Number(resident),
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    logKb: (statSync(log, { throwIfNoEntry: false })?.size ?? 0) / KB,
  };
}

function median(samples: readonly Sample[], of: keyof Sample): number {
  const values = samples.map((one) => one[of]).sort((a, b) => a - b);
  return Math.round(values[Math.floor(values.length / 2)] ?? 0);
}

/** How it went, for whoever has to find out why. */
function tenths(samples: readonly Sample[], of: keyof Sample): string {
  const length = samples.length / 10;
  const parts = Array.from({ length: 10 }, (_, nth) => samples.slice(nth * length, (nth + 1) * length));
  return parts.map((part) => median(part, of)).join(" ");
}

/** Refuses one in fifty when it comes for the first time, and everything during an outage. */
function answersSince(startedAt: number): (hook: Hook) => number {
  return ({ nth, sent, at }) => {
    // For the first time while it still warms up.
    const isDown = (at - startedAt + OUTAGE_EVERY / 2) % OUTAGE_EVERY < OUTAGE;
    return isDown || (sent === 1 && nth % 50 === 0) ? 503 : 200;
  };
}

/** Sends calls at a steady rate, and looks at the daemon every second. Answers who was acknowledged, and what was seen. */
async function run(daemon: Daemon, log: string): Promise<{ ids: ReadonlySet<string>; samples: readonly Sample[] }> {
  const ids = new Set<string>();
  const samples: Sample[] = [];
  const startedAt = performance.now();
  for (let group = 0; group * EVERY < LENGTH * SECOND; group += 1) {
    await wait(Math.max(0, startedAt + group * EVERY - performance.now()));
    const calls = Array.from({ length: GROUP }, async (_, nth) => {
      const messageId = `m-${group}-${nth}`;
      const call = { userId: `u${nth}`, event: "Soak", messageId, properties: { text: "x".repeat(200) } };
      const response = await daemon.call("/v1/track", call);
      await response.text();
      assert.equal(response.status, 200);
      ids.add(messageId);
    });
    await Promise.all(calls);
    if (group % 10 === 0) samples.push(sample(daemon, log));
  }
  return { ids, samples };
}

/**
 * The last third is compared with the first, each by its median: single samples go up and down with the garbage
 * collector and the checkpoints. What comes before is the warm-up, in which the heap finds its size and connections
 * are opened. Between the two medians lie 36,000 calls in ten minutes, of which each has a right to the 8 bytes of its
 * messageId.
 */
function assertFlat(all: readonly Sample[]): void {
  const samples = all.slice(Math.floor(all.length / 10));
  const third = Math.floor(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const seen = (of: keyof Sample): string => `${of}: first third ${median(first, of)}, last third ${median(last, of)}`;
  for (const of of ["memoryKb", "descriptors", "logKb"] as const) console.log(`${of} by tenths: ${tenths(all, of)}`);
  const grown = (of: keyof Sample): number => median(last, of) - median(first, of);
  // A kilobyte that each call leaves behind would be 36 MB; of runs that leave nothing, the medians were 12 MB apart at most.
  assert.ok(grown("memoryKb") < 24 * KB, seen("memoryKb"));
  // As many connections to the receiver are kept as were under way at once after any outage so far, which may be a late one.
  const mostDescriptors = (all[0]?.descriptors ?? 0) + KEPT_CONNECTIONS;
  assert.ok(median(last, "descriptors") <= mostDescriptors, `${seen("descriptors")}; at most ${mostDescriptors}`);
  // SQLite begins it anew after 1,000 pages, 4 MB.
  assert.ok(median(last, "logKb") < 8 * KB, seen("logKb"));
}

describe(`${LENGTH} seconds at a hundred calls a second, with a receiver that fails now and then`, () => {
  const patient = { timeout: LENGTH * SECOND + 4 * PATIENCE };
  it("leave memory, descriptors and the write-ahead log as they were, and every call delivered", patient, async () => {
    await using place = await startPlace(answersSince(Date.now()));
    const { receiver, w, daemon } = place;
    const { ids, samples } = await run(daemon, w.path("fairlead.db-wal"));
    await receiver.all(ids);
    await settled(daemon);
    assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: ids.size, failed: 0, expired: 0 });
    assertFlat(samples);
  });
});
