import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { readExact, writeExact } from "../../src/client/exact.ts";
import { startClient } from "./world.ts";

const ID = 12345678901234567890n;

describe("an integer as bigint", () => {
  it("leaves as digits, wherever it stands, and as text where it is an id", async () => {
    const c = startClient();
    void c.call("track", { userId: ID, event: "E", properties: { order: ID, list: [{ small: 7n, below: -ID }] } });
    await c.client.flush();
    assert.match(c.arrived[0]?.text ?? "", /"userId":"12345678901234567890"/);
    assert.match(
      c.arrived[0]?.text ?? "",
      /"properties":{"order":12345678901234567890,"list":\[{"small":7,"below":-12345678901234567890}\]}/,
    );
  });

  it("comes back as it was made, in what is told of the call", async () => {
    const c = startClient({ answers: ({ nth }) => (nth === 1 ? 200 : 400) });
    const properties = { order: ID, text: `"${ID}, # and 5`, fraction: 0.12345678901234566, count: 3 };
    void c.track("E", { properties });
    await c.client.flush();
    void c.track("E", { properties });
    const { lost } = await c.client.flush();
    assert.deepEqual(c.delivered[0]?.properties, properties);
    assert.deepEqual(lost[0]?.call.properties, properties);
  });

  it("changes no other value of its call: what JSON makes of it, and any bigint beside", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.bigInt(), (value, big) => {
        const exact = writeExact({ value, big }, () => "6ba7b810-9dad-41d1-80b4-00c04fd430c8");
        const isNumber = BigInt.asIntN(54, big) === big && Number.isSafeInteger(Number(big));
        const read = readExact(exact) as unknown as { value: unknown; big: unknown };
        assert.deepEqual(read.big, isNumber ? Number(big) : big);
        assert.equal(exact.text, `{"value":${JSON.stringify(value)},"big":${big}}`);
      }),
    );
  });

  it("is a matter of bigints only: a number that is large stays a number", async () => {
    const c = startClient();
    void c.track("E", { properties: { value: 1e20 } });
    await c.client.flush();
    assert.deepEqual(c.delivered[0]?.properties, { value: 1e20 });
  });
});
