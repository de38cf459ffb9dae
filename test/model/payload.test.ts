import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ownPayload, payloadFor, specifiedBody, storedBody, storedBodyFor } from "../../src/model/payload.ts";

describe("the stored body of an event", () => {
  it("is the specification's alone, if no destination has another", () => {
    assert.equal(storedBody('{"a":1}', []), '{"a":1}');
    assert.equal(payloadFor('{"a":1}', "slack"), '{"a":1}');
    assert.equal(ownPayload('{"a":1}', "slack"), null);
  });

  it("is one line of JSON with all of them", () => {
    const stored = storedBody('{"a":1}', [["slack", '{"text":"x"}']]);
    assert.equal(stored, '[7,{"a":1},"slack",12,{"text":"x"}]');
    assert.deepEqual(JSON.parse(stored), [7, { a: 1 }, "slack", 12, { text: "x" }]);
  });

  it("gives each destination back what is its own, and others the specification's", () => {
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom<unknown>('","slack",2,{}', ["a", 1], "[7,{}]", "🌍"));
    const name = fc.stringMatching(/^[\w.-]{1,20}$/);
    const payloads = fc.uniqueArray(fc.tuple(name, value), { selector: ([one]) => one, maxLength: 4 });
    fc.assert(
      fc.property(fc.dictionary(fc.string(), value, { noNullPrototype: true }), payloads, (body, payloads) => {
        const written = JSON.stringify(body);
        const all = payloads.map(([one, payload]) => [one, JSON.stringify(payload)] as const);
        const stored = storedBody(written, all);
        assert.equal(specifiedBody(stored), written);
        assert.equal(payloadFor(stored, "no-such"), written);
        for (const [one, payload] of all) {
          assert.equal(payloadFor(stored, one), payload);
          const alone = storedBodyFor(stored, one);
          assert.deepEqual([alone, payloadFor(alone, one)], [storedBody(written, [[one, payload]]), payload]);
        }
        assert.equal(storedBodyFor(stored, "no-such"), written);
        assert.ok(!stored.includes("\n"));
      }),
    );
  });
});
