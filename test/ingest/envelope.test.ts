import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readBatch, readCall } from "../../src/ingest/receive.ts";
import { isFault } from "../../src/model/fault.ts";
import { makeCaller } from "../validate/make.ts";

const received = {
  numbers: "checked",
  maxCall: 32_768,
  receivedAt: 1_000,
  caller: makeCaller(),
  newId: () => "fl-1",
} as const;

function batchOf(body: unknown) {
  const envelope = readBatch(body, received);
  return isFault(envelope) ? assert.fail(envelope.message) : envelope;
}

describe("the envelope of a batch", () => {
  it("gives its calls what they have in common", () => {
    const common = { context: { a: 1 }, integrations: { All: false }, sentAt: "2026-11-20T12:00:00Z" };
    const { calls, arrival } = batchOf({ batch: [1, null], ...common, writeKey: "k", sequence: 7 });
    assert.deepEqual(calls, [1, null]);
    assert.deepEqual(
      { context: arrival.context, integrations: arrival.integrations, sentAt: arrival.sentAt, type: arrival.type },
      { ...common, type: null },
    );
    assert.equal(arrival.receivedAt, 1_000);
  });

  it("may have nothing to give, or nothing of the right type", () => {
    for (const value of [undefined, null, 7, "x", [], {}]) {
      const { arrival } = batchOf({ batch: [], context: value, integrations: value });
      assert.deepEqual([arrival.context, arrival.integrations], [null, null]);
    }
    for (const sentAt of [undefined, null, 7, {}]) assert.equal(batchOf({ batch: [], sentAt }).arrival.sentAt, null);
  });

  it("may hold no calls: clients send that when they have nothing to say", () => {
    assert.deepEqual(batchOf({ batch: null }).calls, []);
    assert.deepEqual(batchOf({ batch: [] }).calls, []);
  });

  it("is refused without a batch in it", () => {
    const bodies: readonly (readonly [unknown, string])[] = [
      [{}, "batch must be an array of calls (got nothing)"],
      [{ batch: {} }, "batch must be an array of calls (got an object)"],
      [{ batch: "[]" }, "batch must be an array of calls (got a string)"],
      [[], "a batch must be a JSON object (got an array)"],
      [null, "a batch must be a JSON object (got null)"],
      ["x", "a batch must be a JSON object (got a string)"],
    ];
    for (const [body, message] of bodies) {
      assert.deepEqual(readBatch(body, received), { code: "invalid_request", message });
    }
  });
});

describe("a body that is one call", () => {
  it("is of the type of its path, and has nothing in common with others", () => {
    const { calls, arrival } = readCall({ a: 1 }, "track", received);
    assert.deepEqual(calls, [{ a: 1 }]);
    assert.equal(arrival.type, "track");
    assert.deepEqual([arrival.context, arrival.integrations, arrival.sentAt], [null, null, null]);
  });
});
