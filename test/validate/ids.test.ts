import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CALL_TYPES, type CallType } from "../../src/model/event.ts";
import { eventOf, faultOf } from "./make.ts";

/** A call that lacks nothing. */
const FULL = { userId: "u1", anonymousId: "a1", groupId: "g1", previousId: "p1", event: "E" };
const IDS = ["userId", "anonymousId", "groupId", "previousId", "messageId"] as const;

function without(type: CallType, ...keys: (keyof typeof FULL)[]): object {
  return { type, ...Object.fromEntries(Object.entries(FULL).filter(([key]) => !keys.some((one) => one === key))) };
}

describe("the ids that a call must have (SPEC.md 2.3)", () => {
  const EITHER = { code: "missing_id", message: "You must pass either an 'anonymousId' or 'userId'." };

  it("are there in a full one, of any type", () => {
    for (const type of CALL_TYPES) assert.equal(eventOf({ ...FULL, type }).type, type);
  });

  for (const type of ["identify", "track", "page", "screen", "group"] as const) {
    it(`are either of two for ${type}`, () => {
      eventOf(without(type, "userId"));
      eventOf(without(type, "anonymousId"));
      assert.deepEqual(faultOf(without(type, "userId", "anonymousId")), EITHER);
    });
  }

  it("are both, old and new, for alias", () => {
    eventOf(without("alias", "anonymousId"));
    assert.deepEqual(faultOf(without("alias", "previousId")), {
      ...{ code: "missing_previous_id", message: "You must pass a 'previousId'." },
    });
    assert.deepEqual(faultOf(without("alias", "userId")), {
      ...{ code: "missing_id", message: "You must pass a 'userId'." },
    });
  });

  it("are the group's too for group", () => {
    assert.deepEqual(faultOf(without("group", "groupId")), {
      ...{ code: "missing_group_id", message: "You must pass a 'groupId'." },
    });
  });

  it("are joined by the event's name for track", () => {
    assert.deepEqual(faultOf(without("track", "event")), { code: "missing_event", message: "You must pass 'event'." });
    assert.equal(faultOf({ ...FULL, type: "track", event: "" }).code, "missing_event");
  });

  it("are not there when they are empty", () => {
    assert.deepEqual(faultOf({ ...FULL, type: "page", userId: "", anonymousId: "" }), EITHER);
    assert.equal(faultOf({ ...FULL, type: "alias", previousId: "" }).code, "missing_previous_id");
    assert.equal(faultOf({ ...FULL, type: "group", groupId: "" }).code, "missing_group_id");
  });
});

describe("an id that is a number", () => {
  it("becomes a string, as the Ruby client needs it", () => {
    const numbers: readonly (readonly [number, string])[] = [
      ...[[0, "0"] as const, [7, "7"] as const, [-7, "-7"] as const, [1.5, "1.5"] as const],
      ...[[Number.MAX_SAFE_INTEGER, "9007199254740991"] as const],
    ];
    for (const [number, text] of numbers) {
      for (const id of IDS) assert.equal(eventOf({ ...FULL, type: "track", [id]: number })[id], text);
    }
  });

  it("is refused when it has lost digits on its way", () => {
    for (const id of IDS) {
      const { code, message } = faultOf({ ...FULL, type: "track", [id]: JSON.parse("12345678901234567890") });
      assert.equal(code, "invalid_call");
      assert.ok(message.startsWith(`${id} must be a string, or a whole number`), message);
    }
  });
});

describe("a messageId", () => {
  it("is the client's, and recognises a repeat", () => {
    const { messageId, ownId } = eventOf({ ...FULL, type: "track", messageId: "m1" });
    assert.deepEqual({ messageId, ownId }, { messageId: "m1", ownId: false });
  });

  it("is the server's when the client sent none, or an empty one", () => {
    for (const messageId of [undefined, null, ""]) {
      const event = eventOf({ ...FULL, type: "track", messageId }, { newId: () => "fl-7" });
      assert.deepEqual([event.messageId, event.ownId], ["fl-7", true]);
    }
  });

  it("is below 100 characters", () => {
    eventOf({ ...FULL, type: "track", messageId: "x".repeat(99) });
    assert.deepEqual(faultOf({ ...FULL, type: "track", messageId: "x".repeat(100) }), {
      ...{ code: "message_id_too_long", message: "messageId must be below 100 characters" },
    });
  });
});
