import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { inWrittenOrder } from "../../../src/cli/verify/key-order.ts";
import { writeBody } from "../../../src/webhook/body.ts";
import { anyEvent } from "../../model/make.ts";

describe("the order of a body's keys", () => {
  it("is restored for every event, however its keys were mixed", () => {
    fc.assert(
      fc.property(anyEvent, fc.infiniteStream(fc.nat()), (event, numbers) => {
        const body = writeBody(event);
        const mixed = Object.entries(JSON.parse(body))
          .map((entry) => ({ entry, at: numbers.next().value }))
          .toSorted((one, other) => one.at - other.at)
          .map(({ entry }) => entry);
        const found = inWrittenOrder(Object.fromEntries(mixed));
        assert.equal(found ?? JSON.stringify(Object.fromEntries(mixed)), body);
      }),
    );
  });

  it("leaves what is in order, and what is no body, as it is", () => {
    assert.equal(inWrittenOrder({ version: 1, type: "track", timestamp: "t" }), null);
    assert.equal(inWrittenOrder({ type: "toString", version: 1 }), null);
    assert.equal(inWrittenOrder({ b: 1, a: 2 }), null);
  });

  it("puts keys that are none of Fairlead's last", () => {
    const found = inWrittenOrder({ extra: 1, type: "delete", userId: "u1" });
    assert.equal(found, '{"type":"delete","userId":"u1","extra":1}');
  });
});
