import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { anyObject, anyText } from "../model/make.ts";
import { SLOW } from "../slow.ts";
import { startDaemon } from "./daemon.ts";

const anyId = fc.oneof({ weight: 20, arbitrary: anyText }, fc.integer(), fc.jsonValue({ maxDepth: 1 }));
const anyTime = fc.constantFrom("2009-11-10", "0000-01-01T00:00:00+23:00", "9999-12-31T23:59:59-23:00", null, "soon");

/** A call that has a chance. What it says of integrations is left out, so that every one that is taken goes out. */
const likelyCall = fc.record(
  {
    type: fc.oneof(fc.constantFrom("track", "identify", "page"), anyText),
    ...{ userId: anyId, anonymousId: anyId, messageId: anyId, groupId: anyId, previousId: anyId },
    ...{ event: anyText, timestamp: anyTime },
    ...{ properties: anyObject, traits: anyObject, context: anyObject },
  },
  { requiredKeys: ["userId"] },
);
const batch = fc.record({
  batch: fc.array(fc.oneof({ weight: 9, arbitrary: likelyCall }, fc.jsonValue())),
  context: anyObject,
  sentAt: anyTime,
});
const anyBody = fc.oneof(
  { weight: 9, arbitrary: fc.oneof(likelyCall, batch).map((value) => JSON.stringify(value)) },
  fc.jsonValue().map((value) => JSON.stringify(value)),
  anyText,
);
const anyPath = fc.constantFrom(
  ...["/v1/track", "/v1/identify", "/v1/page/", "/v1/screen", "/v1/group", "/v1/alias", "/v1/batch", "/v1/batch"],
  ...["/", "/v1/%", "//v1/track", "/v1/track?x=%ff"],
);
const anyHeaders = fc.oneof(
  { weight: 5, arbitrary: fc.constant({}) },
  fc.constantFrom<Record<string, string>>(
    ...[{ "content-encoding": "gzip" }, { "content-encoding": "br" }, { "content-length": "1000000" }],
    ...[{ authorization: "" }, { authorization: "Basic !" }, { "content-type": "text/plain" }],
  ),
);

describe("whatever comes to the door", () => {
  it("is answered with a code, never a 500; and all that is taken is delivered", SLOW, async () => {
    await using d = await startDaemon();
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(anyPath, anyBody, anyHeaders, async (path, body, headers) => {
        const { status, json } = await d.ask(path, body, headers);
        assert.notEqual(status, 500);
        if (status !== 200) return assert.equal(FAULT_STATUS[json.code as FaultCode], status, JSON.stringify(json));
        accepted += Number(json.accepted);
      }),
      { numRuns: 1_000 },
    );
    assert.ok(accepted > 30, `only ${accepted} calls were taken`);
    await d.clock.rest();
    assert.equal(d.sent.length, accepted);
  });
});
