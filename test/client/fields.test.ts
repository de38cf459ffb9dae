import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Analytics, InvalidCallError, memoryTransport } from "../../src/client/analytics.ts";
import { createFieldCheck } from "../../src/client/fields.ts";
import type { CallType } from "../../src/model/event.ts";
import { startClient } from "./world.ts";

function told(type: CallType, call: object): string | undefined {
  const lines: string[] = [];
  createFieldCheck((line) => lines.push(line))(type, call);
  assert.ok(lines.length <= 1);
  return lines[0];
}

describe("a field that a call does not have", () => {
  for (const [type, field, hint] of [
    ["track", "propertes", "did you mean properties?"],
    ["track", "userID", "did you mean userId?"],
    ["track", "traits", "did you mean properties?"],
    ["identify", "properties", "did you mean traits?"],
    ["group", "groupid", "did you mean groupId?"],
    ["alias", "prevId", "its fields are userId, previousId, context, integrations, timestamp, messageId"],
    ["screen", "anonymousID", "did you mean anonymousId?"],
  ] as const) {
    it(`is told, with the nearest name: ${field} of ${type}`, () => {
      assert.equal(
        told(type, { [field]: 1 }),
        `analytics: ${type} has no field "${field}", which is left out: ${hint}`,
      );
    });
  }

  it("is told once for each type of call, and the call is made", async () => {
    const c = startClient({ deaf: true });
    for (let nth = 0; nth < 3; nth += 1) void c.track("E", { props: { a: 1 } });
    void c.call("page", { userId: "u", props: {} });
    assert.equal((await c.client.flush()).delivered.length, 4);
    assert.deepEqual(
      c.lines.map((line) => line.slice(0, 38)),
      ['analytics: track has no field "props",', 'analytics: page has no field "props", '],
    );
  });

  it("is told before the call is refused for what is missing", () => {
    const c = startClient();
    assert.throws(() => void c.call("identify", { userID: "u" }), InvalidCallError);
    assert.match(c.lines.join("\n"), /identify has no field "userID", which is left out: did you mean userId\?$/);
  });

  it("is none of those that calls have, or that reports give back", async () => {
    const { fetch } = memoryTransport(() => 400);
    const first = new Analytics("key", { fetch, onError() {} });
    const who = {
      userId: "u",
      anonymousId: "a",
      context: {},
      integrations: {},
      timestamp: new Date(0),
      messageId: "m",
    };
    void first.track({ ...who, event: "E", properties: {} });
    void first.page({ ...who, name: "n", category: "c", properties: {}, traits: {} });
    void first.group({ ...who, groupId: "g", traits: {} });
    const { lost } = await first.close();
    const c = startClient();
    for (const { call } of lost) void c.call(call.type, call);
    assert.deepEqual([lost.length, c.lines], [3, []]);
  });

  it("cannot fill the memory, nor the terminal", () => {
    const lines: string[] = [];
    const check = createFieldCheck((line) => lines.push(line));
    for (let nth = 0; nth < 1_000; nth += 1) check("track", { [`field ${nth}`]: 1 });
    assert.equal(lines.length, 100);
    assert.equal((told("track", { [`\u001b[2J${"x".repeat(10_000)}`]: 1 }) ?? "").length < 300, true);
  });
});
