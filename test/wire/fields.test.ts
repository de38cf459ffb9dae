import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rejectionList, retriedDelivery } from "../../src/wire/deliveries.ts";
import { isReceived } from "../../src/wire/fields.ts";

const FROM = { address: "203.0.113.7", userAgent: null, origin: null };
const CALL = {
  at: "2026-02-03T04:05:06.007Z",
  source: "website",
  type: null,
  messageId: "m1",
  code: "missing_event",
  message: "a track call needs an event",
  count: 1,
  from: FROM,
  request: "POST /v1/track",
  sample: "{}",
};

describe("an answer of a daemon", () => {
  it("is understood as it is documented", () => {
    assert.ok(isReceived(rejectionList, { rejected: [] }));
    assert.ok(isReceived(rejectionList, { rejected: [CALL, CALL] }));
  });

  it("may have keys and words that only a newer daemon knows, and wider ranges", () => {
    const newer = { ...CALL, code: "wrong_weather", count: -0.5, at: "+012026-02-03", weather: "wet" };
    assert.ok(isReceived(rejectionList, { rejected: [{ ...newer, from: { ...FROM, port: 1 } }], constructor: 1 }));
    assert.ok(isReceived(retriedDelivery, { success: true, id: "1-a", did: "postponed" }));
  });

  it("has every key, with a value of its type", () => {
    const { sample: _, ...rest } = CALL;
    const calls = [null, "call", [], rest, { ...CALL, sample: null }, { ...CALL, source: 5 }, { ...CALL, count: "1" }];
    const all = [...calls, { ...CALL, code: 5 }, { ...CALL, from: { ...FROM, address: 5 }, more: 1 }];
    for (const call of all) assert.ok(!isReceived(rejectionList, { rejected: [CALL, call] }), JSON.stringify(call));
    for (const other of [null, undefined, [], "", 5, {}, { rejected: {} }, { success: false, code: "internal" }]) {
      assert.ok(!isReceived(rejectionList, other), JSON.stringify(other));
    }
  });
});
