import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { callKey, parseCall, type ReceivedCall } from "../../../src/client/receive/calls.ts";
import { CALL_TYPES, type Event } from "../../../src/model/event.ts";
import { writeBody } from "../../../src/webhook/body.ts";
import { anyEvent, makeEvent } from "../../model/make.ts";

/** What each type needs, as the daemon makes sure at its door. */
const NEEDED = { userId: "u1", groupId: "g1", previousId: "before", event: "Signed Up" };

function bodyOf(event: Partial<Event>): Record<string, unknown> {
  return JSON.parse(writeBody(makeEvent({ ...NEEDED, ...event })));
}

function parse(body: object): ReceivedCall {
  const parsed = parseCall(JSON.stringify(body));
  assert.equal(parsed.kind, "call", JSON.stringify(parsed));
  return parsed.kind === "call" ? parsed.call : assert.fail();
}

function messageOf(body: unknown): string {
  const parsed = parseCall(typeof body === "string" ? body : JSON.stringify(body));
  return parsed.kind === "malformed" ? parsed.message : assert.fail(`it was taken: ${JSON.stringify(body)}`);
}

describe("parseCall", () => {
  it("takes every body that Fairlead writes, as text and as bytes, with all its keys", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const body = writeBody({ ...event, ...NEEDED });
        const expected = { kind: "call", call: JSON.parse(body) };
        assert.deepEqual(parseCall(body), expected);
        assert.deepEqual(parseCall(Buffer.from(body)), expected);
      }),
    );
  });

  it("makes each type known to the compiler, with the keys that it has", () => {
    const alias = parse(bodyOf({ type: "alias" }));
    assert.equal(alias.type === "alias" && `${alias["Previous ID"]} is ${alias["User ID"]}`, "before is u1");
    const track = parse(bodyOf({ type: "track", properties: { total: 36.5 } }));
    assert.equal(track.type === "track" && track.event.toUpperCase(), "SIGNED UP");
    assert.equal(track.type === "track" && track.properties.total, 36.5);
    const group = parse(bodyOf({ type: "group" }));
    assert.equal(group.type === "group" && group.groupId.length, 2);
    const notice = parse(bodyOf({ type: "delete" }));
    assert.deepEqual(notice, { type: "delete", userId: "u1", timestamp: "2026-11-20T12:00:00.000Z" });
    // @ts-expect-error: a notice of deletion has no messageId.
    assert.equal(notice.type === "delete" && notice.messageId, undefined);
    // @ts-expect-error: an alias is about "User ID", and has no userId.
    assert.equal(alias.type === "alias" && alias.userId, undefined);
  });

  it("takes a call of an anonymous user", () => {
    const call = parse(bodyOf({ type: "page", userId: undefined, anonymousId: "a1" }));
    assert.equal(call.type === "page" && (call.userId ?? call.anonymousId), "a1");
  });

  it("takes keys that are not known yet, and keys that every object has", () => {
    const body = { ...bodyOf({ type: "identify" }), region: "eu", constructor: 1 };
    assert.deepEqual(parse(body), body);
  });

  it("refuses each key that is missing or of another kind, and names it", () => {
    for (const type of [...CALL_TYPES, "delete"] as const) {
      const body = bodyOf({ type });
      for (const key of Object.keys(body).filter((one) => one !== "type" && one !== "userId")) {
        const { [key]: _, ...rest } = body;
        assert.match(messageOf(rest), new RegExp(`^${key} must be .* \\(got nothing\\)$`));
        assert.match(messageOf({ ...body, [key]: [1] }), new RegExp(`^${key} must be .* \\(got an array\\)$`));
        assert.match(messageOf({ ...body, [key]: null }), new RegExp(`^${key} must be .* \\(got null\\)$`));
      }
    }
    assert.equal(messageOf({ ...bodyOf({}), userId: 5 }), "userId must be a string (got a number)");
    assert.equal(messageOf({ ...bodyOf({}), version: 2 }), "version must be 1 (got a number)");
    const { userId: _, ...anonymous } = bodyOf({ type: "delete" });
    assert.equal(messageOf(anonymous), "userId must be a string (got nothing)");
  });

  it("refuses other types, and a body that is no JSON", () => {
    for (const type of [undefined, null, 1, "", "toString", "__proto__", "Track"]) {
      assert.equal(messageOf({ ...bodyOf({}), type }), "type is not one of the seven types of webhook");
    }
    for (const text of ["", "{", "{}x", "undefined"]) assert.equal(messageOf(text), "the body is not JSON");
    for (const text of ["null", "[]", "1", '"a"']) assert.match(messageOf(text), /^the body must be an object/);
    assert.deepEqual(parseCall(new Uint8Array([0x22, 0xff, 0x22])), {
      kind: "malformed",
      message: "the body is not JSON",
    });
  });
});

describe("callKey", () => {
  it("is the same for the same call, and no other's", () => {
    const track = parse(bodyOf({ messageId: "m1" }));
    assert.equal(callKey(track), callKey(parse(JSON.parse(JSON.stringify(track)))));
    assert.notEqual(callKey(track), callKey(parse(bodyOf({ messageId: "m2" }))));
  });

  it("tells deletions apart by user and time, and lets no messageId pass for one", () => {
    const notice = parse(bodyOf({ type: "delete" }));
    assert.notEqual(callKey(notice), callKey(parse(bodyOf({ type: "delete", userId: "u2" }))));
    assert.notEqual(callKey(notice), callKey(parse(bodyOf({ type: "delete", timestamp: "2026-11-20T12:00:00.001Z" }))));
    assert.notEqual(callKey(notice), callKey(parse(bodyOf({ messageId: callKey(notice) }))));
  });
});
