import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config } from "../../src/model/config.ts";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination } from "./make.ts";
import { type Behaviour, REFUSED, type Sent } from "./network.ts";

const HOUR = 3_600_000;
/** A receiver of these tests takes a tenth of a second to answer. */
const OK: Behaviour = { status: 200, after: 100 };

async function callMany(d: TestDaemon, count: number, event = "E"): Promise<void> {
  for (let left = count; left > 0; left -= 2_000) {
    const batch = Array.from({ length: Math.min(2_000, left) }, () => ({ type: "track", userId: "u1", event }));
    await d.call("/v1/batch", { batch });
  }
}

/** How many requests began at each moment, in order. */
function waves(sent: readonly Sent[]): readonly number[] {
  return [...Map.groupBy(sent, ({ at }) => at).values()].map(({ length }) => length);
}

/** The largest number of requests that were under way at one moment, if each took so long. */
function mostAtOnce(sent: readonly Sent[], takes: (sent: Sent) => number): number {
  const changes = sent.flatMap((one) => [
    { at: one.at, by: 1 },
    { at: one.at + takes(one), by: -1 },
  ]);
  let now = 0;
  return Math.max(...changes.sort((a, b) => a.at - b.at || a.by - b.by).map(({ by }) => (now += by)));
}

function countSettled(d: TestDaemon, destination: string, state: string): number {
  const settled = d.told.filter(({ what, args: [delivery] }) => {
    return what === "settled" && (delivery as { destination: string }).destination === destination;
  });
  return settled.filter(({ args }) => (args[1] as { state: string }).state === state).length;
}

describe("a receiver that comes back after an hour", () => {
  it("is met with a ramp, and then gets all that waits at full speed", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ at }) => (at < back ? REFUSED : OK) });
    const back = d.clock.now() + HOUR;
    await callMany(d, 20_000);
    await d.clock.advance("1h");
    const before = d.sent.length;
    assert.ok(before < 40, `${before} requests in an hour`);
    while (d.sent.length === before) await d.clock.advance("1s");
    // Full speed is 640 a second.
    await d.clock.advance("33s");
    const [probe, ...ramp] = waves(d.sent.slice(before));
    await d.clock.advance("2s");
    assert.equal(countSettled(d, "crm", "delivered"), 20_000);
    assert.deepEqual([probe, ...ramp.slice(0, 5)], [1, 4, 8, 16, 32, 64]);
    assert.equal(Math.max(...ramp), 64);
    assert.equal(new Set(d.sent.slice(before).map(({ body }) => JSON.parse(body).messageId)).size, 20_000);
  });
});

describe("retries and first attempts", () => {
  /** A daemon that has just started, with so many retries that are all due. */
  async function startWithRetries(count: number): Promise<TestDaemon> {
    // One in four is taken, so that the lane stays open.
    const first = await startDaemon({ answers: ({ nth }) => (nth % 4 === 0 ? 200 : 500) });
    await callMany(first, Math.ceil((count * 4) / 3), "old");
    await first.clock.advance("500ms");
    const d = await first.crash({ answers: () => OK });
    d.clock.skip("1h");
    return d;
  }

  it("share the slots: a quarter is for retries", SLOW, async () => {
    await using d = await startWithRetries(1_500);
    await callMany(d, 1_500, "new");
    await d.clock.advance("2s");
    const full = [...Map.groupBy(d.sent, ({ at }) => at).values()].filter(({ length }) => length === 64);
    const retries = full.map((wave) => wave.filter(({ body }) => JSON.parse(body).event === "old").length);
    assert.ok(full.length >= 10, `${full.length} full waves`);
    assert.ok(
      retries.every((count) => count === 15 || count === 16),
      `${retries}`,
    );
  });

  it("leave their part to each other when they do not need it", SLOW, async () => {
    await using d = await startWithRetries(1_000);
    await d.clock.advance("2s");
    assert.equal(Math.max(...waves(d.sent)), 64);
  });
});

describe("destinations that all hang at once", () => {
  const names = Array.from({ length: 20 }, (_, nth) => `sick-${nth}`);
  const urlOf = (name: string): string => `https://${name}.example.com/`;
  const destinations = [...names, "healthy"].map((name) => makeDestination({ name, urls: [urlOf(name)] }));

  /** Their lanes have grown to all their slots before. */
  async function startSick(): Promise<TestDaemon> {
    const d = await startDaemon({
      config: { destinations },
      answers: ({ url, at }) => (url !== urlOf("healthy") && at >= hangFrom ? "hang" : OK),
    });
    let hangFrom = Number.POSITIVE_INFINITY;
    await callMany(d, 500);
    await d.clock.advance("10s");
    assert.equal(d.sent.length, 21 * 500);
    hangFrom = d.clock.now();
    return d;
  }

  it("have at most 200 attempts in the whole daemon", SLOW, async () => {
    await using d = await startSick();
    const before = d.sent.length;
    await callMany(d, 500);
    await d.clock.advance("1m");
    const most = mostAtOnce(d.sent.slice(before), ({ url }) => (url === urlOf("healthy") ? 100 : 5_000));
    assert.ok(most > 150 && most <= 200, `${most} at once`);
  });

  it("leave slots to a healthy one from the first second on", SLOW, async () => {
    await using d = await startSick();
    await callMany(d, 500);
    const countSent = () => d.sent.filter(({ url }) => url === urlOf("healthy")).length;
    const before = countSent();
    for (let second = 1; second <= 4; second += 1) {
      await d.clock.advance("1s");
      const taken = countSent() - before;
      assert.ok(taken >= 30 * second, `${taken} in ${second} s`);
    }
  });
});

describe("four dead webhooks of five", () => {
  const FIFTH = "https://hook5.example.com/";
  const DEAD: Readonly<Record<string, Behaviour>> = {
    "https://hook1.example.com/": "hang",
    "https://hook2.example.com/": "hang",
    "https://hook3.example.com/": REFUSED,
    "https://hook4.example.com/": 503,
  };
  const five = { destinations: [makeDestination({ urls: [...Object.keys(DEAD), FIFTH] })] };
  const fifthAlone = { destinations: [makeDestination({ urls: [FIFTH] })] };

  /** How many are delivered in five seconds, of more than that, after five in which the dead were well, or not. */
  async function deliveredInFiveSeconds(config: Partial<Config>, dead: "always" | "now"): Promise<number> {
    await using d = await startDaemon({
      config,
      answers: ({ url, at }) => (at >= deadFrom ? (DEAD[url] ?? OK) : OK),
    });
    const deadFrom = d.clock.now() + (dead === "always" ? 0 : 5_000);
    await callMany(d, 500);
    await d.clock.advance("5s");
    await callMany(d, 4_000);
    const before = countSettled(d, "crm", "delivered");
    await d.clock.advance("5s");
    return countSettled(d, "crm", "delivered") - before;
  }

  it("take nothing from the rate of the fifth", SLOW, async () => {
    const alone = await deliveredInFiveSeconds(fifthAlone, "always");
    assert.ok(alone >= 3_000, `${alone} alone`);
    for (const dead of ["always", "now"] as const) {
      const beside = await deliveredInFiveSeconds(five, dead);
      assert.ok(beside >= 0.9 * alone, `${beside} of ${alone}, dead ${dead}`);
    }
  });
});
