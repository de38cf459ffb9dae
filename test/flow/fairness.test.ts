import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource } from "./make.ts";
import type { Behaviour, Sent } from "./network.ts";

type Name = "flood" | "shop";

const RATE = 50;
const CONFIG: DaemonOptions["config"] = {
  sources: [
    makeSource({ name: "flood", writeKey: new Secret("flood-key") }),
    makeSource({ name: "shop", writeKey: new Secret("shop-key") }),
  ],
  destinations: [makeDestination({ rate: { requests: RATE, per: SECOND, burst: RATE } })],
};

async function send(d: TestDaemon, name: Name, count: number): Promise<void> {
  const authorization = `Basic ${btoa(`${name}-key:`)}`;
  for (let left = count; left > 0; left -= 500) {
    const batch = Array.from({ length: Math.min(left, 500) }, () => ({ type: "track", userId: name, event: "E" }));
    await d.ask("/v1/batch", { batch }, { authorization });
  }
  await d.clock.rest();
}

/** Whose webhooks were sent, in their order. */
function order({ sent }: TestDaemon): readonly string[] {
  return sent.map(({ body }) => JSON.parse(body).userId);
}

function count(order: readonly string[], name: Name): number {
  return order.filter((one) => one === name).length;
}

function downFor(seconds: number): (sent: Sent) => Behaviour {
  return ({ at }) => (at - START < seconds * SECOND ? 503 : 200);
}

describe("sources that share a destination", () => {
  it("do not wait for another one's flood", async () => {
    await using d = await startDaemon({ config: CONFIG });
    await send(d, "flood", 5_000);
    await d.clock.advance("2s");
    for (let n = 1; n <= 20; n += 1) {
      await send(d, "flood", RATE);
      await send(d, "shop", 1);
      await d.clock.advance("100ms");
      assert.equal(count(order(d), "shop"), n);
    }
  });

  it("take turns after an outage and a restart, although one has far more to send", SLOW, async () => {
    const before = await startDaemon({ config: CONFIG, answers: downFor(60) });
    await send(before, "flood", 5_000);
    await send(before, "shop", 500);
    await send(before, "flood", 5_000);
    await using d = await before.crash({ config: CONFIG, answers: downFor(60) });
    await d.clock.advance("65s");
    const since = d.sent.length;
    await d.clock.advance("10s");
    const sent = order(d).slice(since);
    // A few are for retries.
    assert.equal(sent.length, 10 * RATE);
    assert.ok(Math.abs(count(sent, "shop") - count(sent, "flood")) < RATE);
  });
});
