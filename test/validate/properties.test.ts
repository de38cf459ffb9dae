import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FAULT_STATUS, isFault } from "../../src/model/fault.ts";
import { validateCall } from "../../src/validate/call.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { anyObject, anyText } from "../model/make.ts";
import { makeArrival } from "./make.ts";

const anyTime = fc.constantFrom(
  "2009-11-10T23:00:00Z",
  "2009-11-10T15:00:00.123456-0800",
  "0000-01-01",
  "9999-12-31",
  "",
);
const anyValue = fc.oneof(anyText, anyObject, anyTime, fc.jsonValue({ maxDepth: 2 }), fc.constant(null));

/** Calls that have a chance: known fields, mostly of the right type. */
const likelyCall = fc.record(
  {
    type: fc.oneof(fc.constantFrom("identify", "track", "page", "screen", "group", "alias"), anyValue),
    userId: fc.oneof({ weight: 5, arbitrary: anyText }, { weight: 1, arbitrary: anyValue }),
    anonymousId: fc.oneof(anyText, fc.integer()),
    groupId: anyText,
    previousId: anyText,
    event: anyText,
    messageId: anyText,
    timestamp: fc.oneof({ weight: 5, arbitrary: anyTime }, { weight: 1, arbitrary: anyValue }),
    originalTimestamp: anyTime,
    sentAt: anyTime,
    properties: fc.oneof({ weight: 5, arbitrary: anyObject }, { weight: 1, arbitrary: anyValue }),
    traits: anyObject,
    context: anyObject,
    integrations: fc.oneof({ weight: 5, arbitrary: anyObject }, { weight: 1, arbitrary: anyValue }),
  },
  { requiredKeys: [] },
);
const anyJson = fc
  .oneof({ weight: 4, arbitrary: likelyCall }, fc.jsonValue(), anyObject)
  .map((value) => JSON.stringify(value));
const anyArrival = fc.record({
  type: fc.constantFrom(null, "track" as const, "page" as const),
  context: fc.option(anyObject),
  integrations: fc.option(anyObject),
  sentAt: fc.option(anyTime),
});

describe("any JSON value", () => {
  it("gives an event or a fault with a code and a sentence, and never throws", () => {
    let events = 0;
    fc.assert(
      fc.property(anyJson, anyArrival, (text, arrival) => {
        const result = validateCall(JSON.parse(text), makeArrival(arrival));
        if (isFault(result)) {
          assert.ok(result.code in FAULT_STATUS && result.message.length > 10);
          return;
        }
        events += 1;
        const body = JSON.parse(writeBody(result));
        assert.match(body.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        assert.ok(result.userId || result.anonymousId);
      }),
      { numRuns: 500 },
    );
    assert.ok(events > 50, `only ${events} calls were valid`);
  });

  it("reaches the receiver as it was sent: properties, traits and context", () => {
    fc.assert(
      fc.property(anyObject, anyObject, anyObject, (properties, traits, context) => {
        const call = { type: "track", userId: "u1", event: "E", properties, traits, context };
        const result = validateCall(call, makeArrival());
        if (isFault(result)) return assert.fail(result.message);
        const body = JSON.parse(writeBody(result));
        const sent = JSON.parse(JSON.stringify({ properties, traits, context }));
        assert.deepEqual({ properties: body.properties, traits: body.traits, context: body.context }, sent);
      }),
    );
  });
});
