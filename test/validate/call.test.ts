import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CALL_TYPES, type CallType } from "../../src/model/event.ts";
import { eventOf, faultOf, RECEIVED_AT } from "./make.ts";

const NOW = "2026-11-20T12:00:00.000Z";
const TRACK = { type: "track", userId: "u1", event: "E" };

describe("a valid call", () => {
  it("becomes an event of one shape, with what the server adds", () => {
    assert.deepEqual(eventOf(TRACK), {
      ...{ type: "track", messageId: "fl-new", ownId: true, userId: "u1", event: "E" },
      ...{ anonymousId: undefined, previousId: undefined, groupId: undefined, name: undefined, category: undefined },
      ...{ channel: undefined, properties: undefined, traits: undefined, context: undefined, integrations: undefined },
      ...{ timestamp: NOW, originalTimestamp: undefined, sentAt: undefined, receivedAt: RECEIVED_AT },
    });
  });

  it("keeps all that is its own", () => {
    const own = {
      ...{ userId: "u1", anonymousId: "a1", previousId: "p1", groupId: "g1", event: "E", name: "N", category: "C" },
      ...{ channel: "server", messageId: "m1", properties: { p: 1 }, traits: { t: 1 }, context: { c: 1 } },
      integrations: { All: true },
    };
    const event = eventOf({ ...own, type: "track" });
    for (const [key, value] of Object.entries(own)) assert.deepEqual(event[key as keyof typeof own], value, key);
    assert.equal(event.ownId, false);
  });

  it("may have unknown fields", () => {
    eventOf({ ...TRACK, version: 7, _metadata: [], writeKey: 1, receivedAt: "whenever", "": null });
  });

  it("has the type that the path says, whatever it says itself", () => {
    assert.equal(eventOf({ ...TRACK, type: "page" }, { type: "track" }).type, "track");
    assert.equal(eventOf({ userId: "u1", event: "E" }, { type: "track" }).type, "track");
  });

  it("keeps keys that have a meaning in JavaScript as the data that they are", () => {
    const text = '{"__proto__":{"x":1},"constructor":"c","prototype":null}';
    const event = eventOf({ ...TRACK, properties: JSON.parse(text), context: JSON.parse(text) }, { context: { a: 1 } });
    assert.equal(JSON.stringify(event.properties), text);
    assert.equal(JSON.stringify(event.context), `{"a":1,${text.slice(1)}`);
    assert.equal(Object.getPrototypeOf(event.context), Object.prototype);
  });

  it("takes nothing from a __proto__ that a client sent", () => {
    const call = JSON.parse('{"type":"track","event":"E","__proto__":{"userId":"u1"}}');
    assert.equal(faultOf(call).code, "missing_id");
  });
});

describe("an explicit null", () => {
  it("means absent, in every field", () => {
    const nothing = {
      ...{ messageId: null, anonymousId: null, previousId: null, groupId: null, name: null, category: null },
      ...{ channel: null, timestamp: null, originalTimestamp: null, sentAt: null },
      ...{ properties: null, traits: null, context: null, integrations: null },
    };
    assert.deepEqual(eventOf({ ...TRACK, ...nothing }), eventOf(TRACK));
  });

  it("is not an id, an event's name or a type", () => {
    assert.equal(faultOf({ ...TRACK, userId: null }).code, "missing_id");
    assert.equal(faultOf({ ...TRACK, event: null }).code, "missing_event");
    assert.equal(faultOf({ ...TRACK, type: null }).code, "unknown_type");
  });
});

describe("a field of the wrong type", () => {
  const wrong: Readonly<Record<string, readonly unknown[]>> = {
    "a string": [7, true, [], {}, ["E"]],
    "an object": ["{}", 7, true, [[]], [{}]],
    "a string, or a whole number": [true, [], {}, ["u"], 2 ** 53, -(2 ** 53), 1e300],
  };
  const fields = {
    "a string": ["type", "event", "name", "category", "channel", "timestamp", "originalTimestamp", "sentAt"],
    "an object": ["properties", "traits", "context", "integrations"],
    "a string, or a whole number": ["messageId", "userId", "anonymousId", "previousId", "groupId"],
  };
  for (const [expected, names] of Object.entries(fields)) {
    for (const name of names) {
      it(`is refused by its name: ${name} must be ${expected}`, () => {
        for (const value of wrong[expected] ?? []) {
          const { code, message } = faultOf({ ...TRACK, [name]: value });
          assert.equal(code, "invalid_call");
          assert.ok(message.startsWith(`${name} must be ${expected} (got `), message);
        }
      });
    }
  }

  it("is described, and not quoted: it may be personal", () => {
    assert.match(faultOf({ ...TRACK, traits: "Ada Lovelace" }).message, /\(got a string\)$/);
    assert.match(faultOf({ ...TRACK, name: ["Ada Lovelace"] }).message, /\(got an array\)$/);
    assert.match(faultOf({ ...TRACK, name: { first: "Ada" } }).message, /\(got an object\)$/);
    assert.match(faultOf({ ...TRACK, name: true }).message, /\(got a boolean\)$/);
    assert.match(faultOf({ ...TRACK, userId: 2 ** 53 }).message, /\(got a number out of range\)$/);
  });

  it("is refused in the context of a batch too: it is not merged with", () => {
    assert.match(faultOf({ ...TRACK, context: [1] }, { context: { a: 1 } }).message, /^context must be an object/);
    assert.match(faultOf({ ...TRACK, context: 7 }, { integrations: { All: true } }).message, /^context must be/);
  });
});

describe("an empty list in the place of an object, as PHP writes it,", () => {
  for (const field of ["properties", "traits", "context", "integrations"]) {
    it(`counts as an empty object: ${field}`, () => {
      for (const type of ["track", "page", "identify"]) {
        assert.deepEqual(eventOf({ ...TRACK, type, [field]: [] }), eventOf({ ...TRACK, type, [field]: {} }));
      }
    });
  }

  it("lays nothing over the envelope's", () => {
    const envelope = { context: { a: 1 }, integrations: { All: false } };
    const { context, integrations } = eventOf({ ...TRACK, context: [], integrations: [] }, envelope);
    assert.deepEqual({ context, integrations }, envelope);
  });
});

describe("what is no call", () => {
  const kinds = { null: null, "an array": [], "a string": "track", "a boolean": true, nothing: undefined };
  for (const [kind, value] of Object.entries(kinds)) {
    it(`is refused: ${kind}`, () => {
      const { code, message } = faultOf(value);
      assert.deepEqual(
        { code, message },
        { code: "invalid_call", message: `a call must be a JSON object (got ${kind})` },
      );
    });
  }

  it("is a call of an unknown type", () => {
    const sentence = "type must be one of identify, track, page, screen, group, alias (got ";
    assert.equal(faultOf({ userId: "u1" }).message, `${sentence}nothing)`);
    assert.equal(faultOf({ type: "Track", userId: "u1" }).message, `${sentence}"Track")`);
    assert.equal(faultOf({ type: "", userId: "u1" }).message, `${sentence}"")`);
    assert.equal(faultOf({ type: "x".repeat(500), userId: "u1" }).message, `${sentence}"${"x".repeat(40)}")`);
    assert.equal(faultOf({ type: "constructor", userId: "u1" }).code, "unknown_type");
  });

  it("is a deletion: only the operator's API makes those", () => {
    assert.equal(faultOf({ type: "delete", userId: "u1" }).code, "unknown_type");
  });
});

describe("an envelope's context and integrations", () => {
  const envelope = { context: { library: "go", locale: "de" }, integrations: { All: false } };

  it("lie under each call's own, key by key", () => {
    const event = eventOf(
      { ...TRACK, context: { locale: "en", ip: "192.0.2.1" }, integrations: { crm: true } },
      envelope,
    );
    assert.deepEqual(event.context, { library: "go", locale: "en", ip: "192.0.2.1" });
    assert.deepEqual(event.integrations, { All: false, crm: true });
  });

  it("stand alone where a call has none, or null", () => {
    for (const call of [TRACK, { ...TRACK, context: null, integrations: null }]) {
      const event = eventOf(call, envelope);
      assert.deepEqual(event.context, envelope.context);
      assert.deepEqual(event.integrations, envelope.integrations);
    }
  });

  it("may be one without the other", () => {
    const own = { ...TRACK, context: { ip: "192.0.2.1" } };
    const event = eventOf(own, { integrations: { All: false } });
    assert.deepEqual(event.context, { ip: "192.0.2.1" });
    assert.deepEqual(event.integrations, { All: false });
  });

  it("are not changed by a call", () => {
    eventOf({ ...TRACK, context: { locale: "en" } }, envelope);
    assert.deepEqual(envelope, { context: { library: "go", locale: "de" }, integrations: { All: false } });
  });
});

describe("the traits of a page", () => {
  it("become its properties, as the Go client means them", () => {
    const event = eventOf({ type: "page", userId: "u1", traits: { url: "https://example.com/", title: "A" } });
    assert.deepEqual(event.properties, { url: "https://example.com/", title: "A" });
    assert.equal(event.traits, undefined);
  });

  it("lie under the properties, when it has both", () => {
    const event = eventOf({ type: "page", userId: "u1", traits: { title: "A", x: 1 }, properties: { title: "B" } });
    assert.deepEqual(event.properties, { title: "B", x: 1 });
    assert.equal(event.traits, undefined);
  });

  it("are only a page's: every other call keeps its own", () => {
    for (const type of CALL_TYPES.filter((one) => one !== "page")) {
      const event = eventOf({ type, userId: "u1", groupId: "g", previousId: "p", event: "E", traits: { t: 1 } });
      assert.deepEqual([event.traits, event.properties], [{ t: 1 }, undefined], type);
    }
  });
});

describe("the traits of an identify call", () => {
  const context = { traits: { name: "Ada" }, a: 1 };

  it("may be in its context, as RudderStack's clients have them, and are then in both places", () => {
    const event = eventOf({ type: "identify", userId: "u1", context });
    assert.deepEqual([event.traits, event.context], [context.traits, context]);
  });

  it("are its own where it has some", () => {
    assert.deepEqual(eventOf({ type: "identify", userId: "u1", traits: {}, context }).traits, {});
  });

  it("are not those in the context of another call, nor anything but an object", () => {
    assert.equal(eventOf({ type: "group", userId: "u1", groupId: "g", context }).traits, undefined);
    assert.equal(eventOf({ type: "identify", userId: "u1", context: { traits: "Ada" } }).traits, undefined);
  });
});

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
      ...{ code: "message_id_too_long", message: "messageId must be shorter than 100 characters" },
    });
  });
});
