import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { InvalidCallError } from "../../src/client/errors.ts";
import { write } from "../../src/client/write.ts";
import type { CallType } from "../../src/model/event.ts";
import { parseTimestamp } from "../../src/validate/timestamps.ts";

const AT = "2026-11-20T12:00:00.000Z";
const WORLD = { wall: () => Date.parse(AT), uuid: () => "id-1" };
const HEAD = `"messageId":"id-1","timestamp":"${AT}"`;

function textOf(type: CallType, call: object): string {
  return write(type, call, WORLD).text;
}

function refusal(type: CallType, call: unknown): string {
  try {
    write(type, call, WORLD);
  } catch (error) {
    assert.ok(error instanceof InvalidCallError);
    return `${error.code}: ${error.message}`;
  }
  return "taken";
}

describe("the calls as they go out", () => {
  it("has identify with its traits", () => {
    const call = { userId: "019mr8mf4r", traits: { name: "Michael Bolton", friends: 42 } };
    assert.equal(
      textOf("identify", call),
      `{"type":"identify",${HEAD},"userId":"019mr8mf4r","traits":{"name":"Michael Bolton","friends":42}}`,
    );
  });

  it("has track with its event and properties", () => {
    const call = { userId: "u", anonymousId: "a", event: "Signed Up", properties: { plan: "Enterprise" } };
    assert.equal(
      textOf("track", call),
      `{"type":"track",${HEAD},"userId":"u","anonymousId":"a","event":"Signed Up","properties":{"plan":"Enterprise"}}`,
    );
  });

  it("has page with category and name, and sends its traits as properties, as the Go client does", () => {
    const call = { anonymousId: "a", category: "Docs", name: "Go", traits: { url: "https://x", own: 1 } };
    assert.equal(
      textOf("page", call),
      `{"type":"page",${HEAD},"anonymousId":"a","category":"Docs","name":"Go","properties":{"url":"https://x","own":1}}`,
    );
  });

  it("lets the properties of a page win over its traits", () => {
    const { properties } = JSON.parse(textOf("page", { userId: "u", traits: { a: 1, b: 1 }, properties: { b: 2 } }));
    assert.deepEqual(properties, { a: 1, b: 2 });
  });

  it("has screen with its name", () => {
    assert.equal(
      textOf("screen", { userId: "u", name: "Home", properties: { tab: 2 } }),
      `{"type":"screen",${HEAD},"userId":"u","name":"Home","properties":{"tab":2}}`,
    );
  });

  it("has group with its id and traits", () => {
    assert.equal(
      textOf("group", { userId: "u", groupId: 56, traits: { name: "Initech" } }),
      `{"type":"group",${HEAD},"userId":"u","groupId":"56","traits":{"name":"Initech"}}`,
    );
  });

  it("has alias with its two ids, and nothing of what other calls have", () => {
    const call = { userId: "new", previousId: "anon", anonymousId: "x", traits: { a: 1 } };
    assert.equal(textOf("alias", call), `{"type":"alias",${HEAD},"userId":"new","previousId":"anon"}`);
  });

  it("has what any call may have: a time of history, switches of destinations, context, and an id of its own", () => {
    const all = {
      messageId: "my-id",
      timestamp: "2012-12-02T00:30:12.984Z",
      context: { ip: "24.5.68.47" },
      integrations: { All: false, Mixpanel: true },
    };
    assert.equal(
      textOf("track", { userId: "u", event: "E", ...all }),
      '{"type":"track","messageId":"my-id","timestamp":"2012-12-02T00:30:12.984Z","userId":"u","event":"E",' +
        '"context":{"ip":"24.5.68.47"},"integrations":{"All":false,"Mixpanel":true}}',
    );
  });

  it("writes dates as ISO 8601, wherever they are", () => {
    const at = new Date("2009-11-10T23:00:00Z");
    const { timestamp, properties } = JSON.parse(
      textOf("track", { userId: "u", event: "E", timestamp: at, properties: { at, list: [at] } }),
    );
    assert.deepEqual(
      [timestamp, properties.at, properties.list],
      Array(3)
        .fill("2009-11-10T23:00:00.000Z")
        .with(2, ["2009-11-10T23:00:00.000Z"] as never),
    );
  });

  it("takes an object that says itself what its JSON is, once", () => {
    const inner = { shown: 2, toJSON: () => "not asked" };
    for (const [made, written] of [
      [{ hidden: 1, toJSON: (key: string) => ({ shown: key }) }, { shown: "properties" }],
      [{ toJSON: () => inner }, { shown: 2 }],
    ] as const) {
      for (const type of ["track", "page"] as const) {
        const { properties } = JSON.parse(textOf(type, { userId: "u", event: "E", properties: made }));
        assert.deepEqual(properties, written);
      }
    }
    const page = { userId: "u", traits: { toJSON: () => ({ a: 1 }) }, properties: { toJSON: () => ({ b: 1 }) } };
    assert.deepEqual(JSON.parse(textOf("page", page)).properties, { a: 1, b: 1 });
  });

  it("keeps a key named __proto__ as data", () => {
    const traits = JSON.parse('{"__proto__":{"a":1}}');
    assert.match(
      textOf("page", { userId: "u", traits, properties: { b: 1 } }),
      /"properties":\{"__proto__":\{"a":1\},"b":1\}/,
    );
  });
});

describe("a call that breaks the rules", () => {
  const NO_ID = "missing_id: You must pass either an 'anonymousId' or 'userId'.";

  for (const [type, call, expected] of [
    ["identify", {}, NO_ID],
    ["identify", { userId: "", traits: {} }, NO_ID],
    ["track", { event: "E" }, NO_ID],
    ["track", { userId: "u" }, "missing_event: You must pass 'event'."],
    ["track", {}, "missing_event: You must pass 'event'."],
    ["page", { name: "Home" }, NO_ID],
    ["screen", { userId: null }, NO_ID],
    ["group", { userId: "u" }, "missing_group_id: You must pass a 'groupId'."],
    ["group", { groupId: "g" }, NO_ID],
    ["alias", { previousId: "p" }, "missing_id: You must pass a 'userId'."],
    ["alias", { userId: "u" }, "missing_previous_id: You must pass a 'previousId'."],
    ["alias", {}, "missing_id: You must pass a 'userId'."],
  ] as const) {
    it(`is refused with the words of the Go client: ${type} ${JSON.stringify(call)}`, () => {
      assert.equal(refusal(type, call), expected);
    });
  }

  for (const [call, expected] of [
    [undefined, 'track needs an object, such as { userId: "user-42" }'],
    ["u", "track must be an object (got a string)"],
    [{ userId: true, event: "E" }, "userId must be a string (got a boolean)"],
    [{ userId: 1.5, event: "E" }, "userId must be a string, a bigint, or a whole number of up to 15 digits (got 1.5)"],
    [
      { userId: 2 ** 53, event: "E" },
      "userId must be a string, a bigint, or a whole number of up to 15 digits (got 9007199254740992)",
    ],
    [{ userId: "u", event: 7 }, "event must be a string (got 7)"],
    [{ userId: "u", event: "E", properties: [] }, "properties must be an object (got an array)"],
    [{ userId: "u", event: "E", context: new Date() }, "context must be an object (got a Date)"],
  ] as const) {
    it(`is refused for what it is made of: ${expected}`, () => {
      assert.equal(refusal("track", call), `invalid_call: ${expected}`);
    });
  }

  for (const timestamp of ["yesterday", "2009-11", 1_257_894_000_000, new Date(Number.NaN), new Date(8.64e15)]) {
    it(`is refused for its timestamp: ${String(timestamp)}`, () => {
      assert.match(
        refusal("track", { userId: "u", event: "E", timestamp }),
        /^invalid_timestamp: timestamp must be a Date, or an ISO/,
      );
    });
  }

  it("is refused for a time that there is not, exactly where the server refuses it", () => {
    const two = (most: number): fc.Arbitrary<string> => fc.nat(most).map((one) => String(one).padStart(2, "0"));
    const year = fc.constantFrom("0000", "0004", "0099", "1900", "2000", "2023", "2024", "9999");
    const date = fc.tuple(year, two(14), two(33)).map((parts) => parts.join("-"));
    const zone = fc.constantFrom("", "Z", "z", " Z", "+00", "-08:00", "+2359", "+24:00", "-08:60", "+1");
    const time = fc.tuple(two(25), two(61), two(62), fc.constantFrom("", ".5", ",123456789", ".", ".1234567890"), zone);
    const text = fc.oneof(
      date,
      fc
        .tuple(date, fc.constantFrom("T", " ", "t", "_"), time)
        .map(([day, between, [hour, minute, second, rest, zone]]) => {
          return `${day}${between}${hour}:${minute}:${second}${rest}${zone}`;
        }),
    );
    const seen = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(text, (timestamp) => {
        const taken = refusal("track", { userId: "u", event: "E", timestamp }) === "taken";
        assert.equal(taken, parseTimestamp(timestamp) !== null);
        seen[taken ? "taken" : "refused"] += 1;
      }),
      {
        numRuns: 2_000,
        examples: [["2009-13-45T99:99:99Z"], ["2023-02-29"], ["2024-02-29"], ["2026-11-20T23:59:60Z"]],
      },
    );
    assert.ok(Math.min(seen.taken, seen.refused) > 50, JSON.stringify(seen));
  });

  for (const [what, value, got] of [
    ["gives a text as its JSON", { toJSON: () => "a text" }, "a string"],
    ["gives a list as its JSON", { toJSON: () => [1] }, "an array"],
    ["is a Map", new Map([["a", 1]]), "a Map"],
    ["is a Set", new Set([1]), "a Set"],
    ["is a Promise", Promise.resolve({}), "a Promise"],
  ] as const) {
    it(`is refused for an object that would not arrive as one: it ${what}`, () => {
      for (const [type, field] of [
        ["identify", "traits"],
        ["track", "properties"],
        ["page", "traits"],
        ["group", "context"],
        ["screen", "integrations"],
      ] as const) {
        const call = { userId: "u", event: "E", groupId: "g", [field]: value };
        assert.equal(refusal(type, call), `invalid_call: ${field} must be an object (got ${got})`);
      }
    });
  }

  it("is refused for a messageId of 100 characters, which the server would not take", () => {
    assert.equal(refusal("track", { userId: "u", event: "E", messageId: "x".repeat(99) }), "taken");
    assert.match(refusal("track", { userId: "u", event: "E", messageId: "x".repeat(100) }), /^message_id_too_long/);
  });

  it("is refused if it has no JSON: circles, and a toJSON that throws", () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const broken = {
      toJSON() {
        throw new Error("no");
      },
    };
    const call = { userId: "u", traits: broken };
    assert.equal(refusal("identify", call), "not_serialisable: traits cannot be written as JSON: no");
    for (const value of [circle, broken]) {
      assert.match(
        refusal("track", { userId: "u", event: "E", properties: { value } }),
        /^not_serialisable: the track call cannot be written as JSON: ./,
      );
    }
  });
});
