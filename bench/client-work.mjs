// One measurement of the client library, in a process of its own, on any runtime. Prints what it measured as JSON.
//
// Usage: node client-work.mjs <module of the library> <what> <url of a server>
import { mkdtempSync, rmSync } from "node:fs";
import process from "node:process";

const [module = "", what = "", url = ""] = process.argv.slice(2);
const { Analytics } = await import(module);

/** 400 bytes as JSON, like the events of the other rows. */
const PROPERTIES = {
  ...{ orderId: "o-1815", total: 36.5, currency: "EUR", coupon: null, items: 3 },
  ...{ products: ["ß-1", "ß-2", "ß-3"], campaign: "spring", referrer: "https://example.com/a/b/c" },
};
const WARMUP = 20_000;
const CALLS = 200_000;

const measures = { overhead, rate, memory, spool };
console.log(JSON.stringify(await measures[what]()));

function callOf(nth) {
  return { userId: `user-${nth % 1000}`, event: "Order Completed", properties: PROPERTIES };
}

/** What a call costs its caller, beside the same without a client: writing the call as JSON. No request is waited for. */
async function overhead() {
  // A queue that always has room, and a network that takes no time.
  const answer = { status: 200, statusText: "OK", headers: { get: () => null }, text: async () => '{"success":true}' };
  const analytics = new Analytics("key", { fetch: async () => answer, queue: { limit: 10_000_000 }, flushAt: 20 });
  const track = (nth) => analytics.track(callOf(nth));
  let bytes = 0;
  const write = (nth) => {
    bytes += JSON.stringify({ type: "track", ...callOf(nth) }).length;
  };
  await each(WARMUP, track);
  await each(WARMUP, write);
  const call = await each(CALLS, track);
  const json = await each(CALLS, write);
  await analytics.close();
  return { call, json, bytes: Math.round(bytes / (CALLS + WARMUP)) };
}

/** In microseconds, of which each turn of the loop has twenty: what runs between turns is not the caller's. */
async function each(count, run) {
  let spent = 0;
  for (let nth = 0; nth < count; nth += 20) {
    const began = performance.now();
    for (let one = 0; one < 20; one += 1) void run(nth + one);
    spent += performance.now() - began;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return (spent / count) * 1_000;
}

/** Calls that are taken by a server, per second, with so many in a request. */
async function rate() {
  const rates = {};
  for (const flushAt of [1, 20, 100, 1_000]) {
    const calls = flushAt === 1 ? CALLS / 20 : CALLS;
    await deliver(calls / 10, flushAt);
    const began = performance.now();
    await deliver(calls, flushAt);
    rates[flushAt] = (calls / (performance.now() - began)) * 1_000;
  }
  return rates;
}

async function deliver(calls, flushAt) {
  let lost = 0;
  const options = { endpoint: url, flushAt, queue: { limit: 10_000, whenFull: "block" }, onError: () => (lost += 1) };
  const analytics = new Analytics("key", options);
  for (let nth = 0; nth < calls; nth += 1) await analytics.track(callOf(nth));
  await analytics.close({ timeout: 600_000 });
  if (lost > 0) throw new Error(`${lost} calls were lost`);
}

/** What a server that is down costs: memory in MB, before and after so many calls with the usual queue, and with a long one. */
async function memory() {
  const before = resident();
  const usual = await queue({ limit: 10_000 });
  const long = await queue({ limit: CALLS });
  return { before, usual, long };
}

/** What a spool costs, by the policy of its syncs, beside none: the caller's time, calls a second, and memory with the server down. */
async function spool() {
  const without = await outage(undefined);
  const interval = await spooled("interval", CALLS);
  const always = await spooled("always", CALLS / 20);
  return { without, interval, always };
}

async function spooled(fsync, calls) {
  // Beside the library: a temporary folder may be in memory.
  const directory = mkdtempSync(new URL("../../spool-", module).pathname);
  const result = await outage({ directory, fsync, maxBytes: 2 ** 30 }, calls);
  rmSync(directory, { recursive: true });
  return result;
}

async function outage(spool, calls = CALLS) {
  let lost = 0;
  const fetch = () => Promise.reject(new Error("connection refused"));
  const analytics = new Analytics("key", { fetch, spool, onError: () => (lost += 1) });
  const began = performance.now();
  let spent = 0;
  for (let nth = 0; nth < calls; nth += 20) {
    const start = performance.now();
    const made = Array.from({ length: 20 }, (_, one) => analytics.track(callOf(nth + one)));
    spent += performance.now() - start;
    await Promise.all(made);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const rate = (calls / (performance.now() - began)) * 1_000;
  globalThis.gc?.();
  globalThis.Bun?.gc(true);
  const mb = resident();
  await analytics.close({ timeout: 0 });
  return { call: (spent / calls) * 1_000, rate, mb, lost };
}

async function queue({ limit }) {
  let lost = 0;
  const fetch = () => Promise.reject(new Error("connection refused"));
  const analytics = new Analytics("key", { fetch, queue: { limit }, onError: () => (lost += 1) });
  for (let nth = 0; nth < CALLS; nth += 1) {
    void analytics.track(callOf(nth));
    if (nth % 1_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  globalThis.gc?.();
  globalThis.Bun?.gc(true);
  const mb = resident();
  const { undelivered } = await analytics.close({ timeout: 0 });
  return { mb, lost, kept: undelivered.length };
}

function resident() {
  return process.memoryUsage().rss / 2 ** 20;
}
