import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Event } from "../../src/model/event.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { anyEvent, makeEvent } from "../model/make.ts";

const TIME = '"timestamp":"2026-11-20T12:00:00.000Z"';
/** What follows on every call. */
const TAIL = '"messageId":"m1","receivedAt":"2026-11-20T12:00:00.000Z"}';

describe("the body of each kind (SPEC.md 2.2)", () => {
  it("page: version type userId properties timestamp context", () => {
    const properties = { path: "/a", referrer: "", title: "A", url: "https://example.com/a" };
    bodyIs(
      { type: "page", properties, context: { ip: "192.0.2.1" } },
      '{"version":1,"type":"page","userId":"u1",' +
        '"properties":{"path":"/a","referrer":"","title":"A","url":"https://example.com/a"},' +
        `${TIME},"context":{"ip":"192.0.2.1"},${TAIL}`,
    );
  });

  it("screen: version type userId name timestamp context", () => {
    bodyIs(
      { type: "screen", name: "Home", context: { device: { model: "X", type: "ios" } } },
      '{"version":1,"type":"screen","userId":"u1","name":"Home",' +
        `${TIME},"context":{"device":{"model":"X","type":"ios"}},${TAIL}`,
    );
  });

  it("identify: version type userId traits timestamp context", () => {
    bodyIs(
      { type: "identify", traits: { plan: "pro", age: 7 } },
      `{"version":1,"type":"identify","userId":"u1","traits":{"plan":"pro","age":7},${TIME},"context":{},${TAIL}`,
    );
  });

  it("track: version type userId event properties timestamp context", () => {
    bodyIs(
      { type: "track", event: "Bought", properties: { price: 9.5 } },
      '{"version":1,"type":"track","userId":"u1","event":"Bought","properties":{"price":9.5},' +
        `${TIME},"context":{},${TAIL}`,
    );
  });

  it('alias: version type "Previous ID" "User ID" timestamp context, and no userId', () => {
    bodyIs(
      { type: "alias", previousId: "anon", userId: "u1" },
      `{"version":1,"type":"alias","Previous ID":"anon","User ID":"u1",${TIME},"context":{},${TAIL}`,
    );
  });

  it("group: version type groupId userId traits timestamp context", () => {
    bodyIs(
      { type: "group", groupId: "g1", traits: { "total billed": 830 } },
      '{"version":1,"type":"group","groupId":"g1","userId":"u1","traits":{"total billed":830},' +
        `${TIME},"context":{},${TAIL}`,
    );
  });

  it("delete: type userId timestamp, and nothing else, whatever the event holds", () => {
    const event = { ...full("delete"), userId: "u1", timestamp: "2026-11-20T12:00:00.000Z" };
    assert.equal(writeBody(event), `{"type":"delete","userId":"u1",${TIME}}`);
  });
});

describe("a call that had little", () => {
  it("has no userId when it is anonymous", () => {
    bodyIs(
      { type: "track", event: "E", userId: undefined, anonymousId: "a1" },
      '{"version":1,"type":"track","event":"E","properties":{},' + `${TIME},"context":{},"anonymousId":"a1",${TAIL}`,
    );
  });

  it("has empty objects where its type has one of its own, and its context", () => {
    const empty = {
      page: `{"version":1,"type":"page","userId":"u1","properties":{},${TIME},"context":{},${TAIL}`,
      screen: `{"version":1,"type":"screen","userId":"u1",${TIME},"context":{},${TAIL}`,
      identify: `{"version":1,"type":"identify","userId":"u1","traits":{},${TIME},"context":{},${TAIL}`,
    } as const;
    for (const type of ["page", "screen", "identify"] as const) bodyIs({ type }, empty[type]);
  });
});

describe("a call that had everything", () => {
  const HEAD = '"timestamp":"2026-11-20T11:00:00.000Z","context":{"c":1},"anonymousId":"a1","messageId":"m1"';
  const END =
    '"integrations":{"All":true},"originalTimestamp":"2026-11-20T10:00:00.000Z",' +
    '"receivedAt":"2026-11-20T12:00:00.000Z","sentAt":"2026-11-20T11:59:59.000Z","channel":"server"}';

  it("has it after the context, in one order, and each key once", () => {
    const bodies = {
      track:
        '{"version":1,"type":"track","userId":"u1","event":"E","properties":{"p":1},' +
        `${HEAD},"name":"N","category":"C","traits":{"t":1},${END}`,
      identify:
        '{"version":1,"type":"identify","userId":"u1","traits":{"t":1},' +
        `${HEAD},"name":"N","category":"C","properties":{"p":1},${END}`,
      page:
        '{"version":1,"type":"page","userId":"u1","properties":{"p":1},' +
        `${HEAD},"name":"N","category":"C","traits":{"t":1},${END}`,
      screen:
        '{"version":1,"type":"screen","userId":"u1","name":"N",' +
        `${HEAD},"category":"C","properties":{"p":1},"traits":{"t":1},${END}`,
      group:
        '{"version":1,"type":"group","groupId":"g1","userId":"u1","traits":{"t":1},' +
        `${HEAD},"name":"N","category":"C","properties":{"p":1},${END}`,
      alias:
        '{"version":1,"type":"alias","Previous ID":"p1","User ID":"u1",' +
        `${HEAD},"name":"N","category":"C","properties":{"p":1},"traits":{"t":1},${END}`,
    };
    for (const [type, body] of Object.entries(bodies)) assert.equal(writeBody(full(type as Event["type"])), body);
  });
});

describe("what a client sent", () => {
  it("keeps keys that have a meaning in JavaScript as the data that they are", () => {
    const properties = JSON.parse('{"__proto__":{"x":1},"constructor":"c","prototype":null,"toJSON":"t"}');
    const context = JSON.parse('{"__proto__":"y"}');
    const body = writeBody(makeEvent({ properties, context }));
    assert.ok(
      body.includes('"properties":{"__proto__":{"x":1},"constructor":"c","prototype":null,"toJSON":"t"}'),
      body,
    );
    assert.ok(body.includes('"context":{"__proto__":"y"}'), body);
  });

  it("keeps text of every script as it is, and half a pair as an escape, which UTF-8 can carry", () => {
    const body = writeBody(makeEvent({ event: "Grüße 世界 🙂 \u2028", userId: "\ud800", name: "\udc00x" }));
    assert.ok(body.includes('"event":"Grüße 世界 🙂 \u2028"'), body);
    assert.ok(body.includes('"userId":"\\ud800"'), body);
    assert.ok(body.includes('"name":"\\udc00x"'), body);
    assert.equal(Buffer.from(body).toString(), body);
  });

  it("gives the same text when it is parsed and written again, whatever it holds", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const body = writeBody(event);
        assert.equal(JSON.stringify(JSON.parse(body)), body);
        assert.equal(Buffer.from(body).toString(), body);
      }),
    );
  });

  it("never moves what receivers look for: version and type first, then the type's own up to the context", () => {
    fc.assert(
      fc.property(anyEvent, (event) => {
        const keys = Object.keys(JSON.parse(writeBody(event)));
        if (event.type === "delete")
          return assert.ok(keys.every((key) => ["type", "userId", "timestamp"].includes(key)));
        assert.deepEqual(keys.slice(0, 2), ["version", "type"]);
        assert.ok(keys.indexOf("timestamp") + 1 === keys.indexOf("context"));
        assert.ok(keys.indexOf("context") < keys.indexOf("messageId"));
        assert.equal(keys.includes("userId"), event.type !== "alias" && event.userId !== undefined);
      }),
    );
  });
});

function bodyIs(event: Partial<Event>, body: string): void {
  assert.equal(writeBody(makeEvent(event)), body);
}

function full(type: Event["type"]): Event {
  return {
    type,
    messageId: "m1",
    ownId: false,
    userId: "u1",
    anonymousId: "a1",
    previousId: "p1",
    groupId: "g1",
    event: "E",
    name: "N",
    category: "C",
    channel: "server",
    properties: { p: 1 },
    traits: { t: 1 },
    context: { c: 1 },
    integrations: { All: true },
    timestamp: "2026-11-20T11:00:00.000Z",
    originalTimestamp: "2026-11-20T10:00:00.000Z",
    sentAt: "2026-11-20T11:59:59.000Z",
    receivedAt: Date.UTC(2026, 10, 20, 12, 0, 0),
  };
}
