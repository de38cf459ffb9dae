import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCall, type CallOptions } from "../../../src/cli/send/call.ts";
import { CALL_TYPES, type CallType } from "../../../src/model/event.ts";
import { isFault } from "../../../src/model/fault.ts";
import { validateCall } from "../../../src/validate/call.ts";
import { makeArrival } from "../../validate/make.ts";

const newId = () => "send-1";

function build(type: CallType, options: CallOptions = {}) {
  return buildCall(type, { options, data: null, newId });
}

function buildFrom(type: CallType, text: string, options: CallOptions = {}) {
  return buildCall(type, { options, data: { text, from: "call.json" }, newId });
}

describe("a call of which nothing is said", () => {
  for (const type of CALL_TYPES) {
    it(`is a valid ${type}`, () => {
      const event = validateCall(build(type), makeArrival({ type }));
      assert.ok(!isFault(event));
      assert.equal(event.messageId, "send-1");
      assert.equal(event.userId, "fairlead-test");
    });
  }

  it("is recognisable as a test", () => {
    assert.deepEqual(build("track"), { userId: "fairlead-test", event: "Test Event", messageId: "send-1" });
    assert.deepEqual(build("alias"), {
      userId: "fairlead-test",
      previousId: "fairlead-test-before",
      messageId: "send-1",
    });
  });
});

describe("a call made of options", () => {
  it("has what they say, in the fields that clients use", () => {
    const options = { user: "u1", anonymous: "a1", timestamp: "2026-01-02T03:04:05Z", messageId: "m1" };
    assert.deepEqual(build("page", { ...options, name: "Home", category: "Shop", properties: '{"path":"/"}' }), {
      ...{ userId: "u1", anonymousId: "a1", timestamp: "2026-01-02T03:04:05Z", messageId: "m1" },
      ...{ name: "Home", category: "Shop", properties: { path: "/" } },
    });
    const objects = { traits: '{"plan":"pro"}', context: '{"ip":"1.2.3.4"}', integrations: '{"All":false}' };
    assert.deepEqual(build("group", { group: "g1", user: "u1", ...objects }), {
      ...{ groupId: "g1", userId: "u1", messageId: "send-1" },
      ...{ traits: { plan: "pro" }, context: { ip: "1.2.3.4" }, integrations: { All: false } },
    });
  });

  it("is about nobody else if it is anonymous", () => {
    assert.deepEqual(build("track", { anonymous: "a1" }), {
      anonymousId: "a1",
      event: "Test Event",
      messageId: "send-1",
    });
  });

  it("keeps an empty id, for the library to refuse", () => {
    assert.partialDeepStrictEqual(build("track", { user: "" }), { userId: "" });
  });

  it("refuses an option that this type does not have, and says which have it", () => {
    assert.equal(build("identify", { event: "x" }), "--event is for track, not for identify");
    assert.equal(build("track", { name: "x" }), "--name is for page, screen, not for track");
    const anonymous = "--anonymous is for identify, track, page, screen, group, not for alias";
    assert.equal(build("alias", { anonymous: "a1" }), anonymous);
    assert.equal(build("alias", { traits: "{}" }), "--traits is for identify, group, not for alias");
  });

  it("names the option whose JSON is wrong", () => {
    for (const [type, name, option] of [
      ["track", "properties", "--properties"],
      ["group", "traits", "--traits"],
      ["alias", "context", "--context"],
      ["screen", "integrations", "--integrations"],
    ] as const) {
      assert.match(String(build(type, { [name]: "{" })), new RegExp(`^${option}:1:2: is not JSON`));
    }
  });
});

describe("a call that comes whole", () => {
  it("is sent as it is, with a messageId if it has none", () => {
    assert.deepEqual(buildFrom("track", '{"event":"E","x":[1]}'), { event: "E", x: [1], messageId: "send-1" });
    assert.deepEqual(buildFrom("track", '{"messageId":"m1"}'), { messageId: "m1" });
    for (const none of ["null", '""']) {
      assert.deepEqual(buildFrom("track", `{"messageId":${none}}`), { messageId: "send-1" });
    }
  });

  it("lies below the options", () => {
    assert.deepEqual(buildFrom("track", '{"userId":"u1","event":"E"}', { user: "u2", messageId: "m2" }), {
      ...{ userId: "u2", event: "E", messageId: "m2" },
    });
  });

  it("may name its own type, but no other", () => {
    assert.partialDeepStrictEqual(buildFrom("page", '{"type":"page"}'), { type: "page" });
    const refusal = 'call.json has a call of type "page", not track';
    assert.equal(buildFrom("track", '{"type":"page"}'), refusal);
  });

  it("is refused with its place if it is not JSON", () => {
    assert.match(String(buildFrom("track", '{"a":1,\n}')), /^call\.json:2:1: is not JSON/);
  });
});
