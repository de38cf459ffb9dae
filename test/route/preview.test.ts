import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createTryCall } from "../../src/accept/try-call.ts";
import type { Destination } from "../../src/model/config.ts";
import type { Event } from "../../src/model/event.ts";
import { preview } from "../../src/route/preview.ts";
import { makeConfig, makeDestination, makeSource } from "../flow/make.ts";
import { makeEvent, RECEIVED_AT } from "../model/make.ts";
import { filterOf } from "./make.ts";

describe("a preview", () => {
  const why = (keys: string, event: Partial<Event> = {}, more: Partial<Destination> = {}): string => {
    const destination = makeDestination({ filter: keys === "" ? null : filterOf(keys), ...more });
    return preview(makeEvent(event), "website", [destination])[0]?.why ?? "";
  };

  it("says what was found and what is wanted", () => {
    const table: readonly [where: string, properties: object, why: string][] = [
      ["properties.a: { gte: 100 }", { a: 42 }, "properties.a is 42: at least 100 is wanted"],
      ["properties.a: { gte: 1, lt: 100 }", { a: 142 }, "properties.a is 142: less than 100 is wanted"],
      ["properties.a: { gt: 1 }", {}, "properties.a is missing: more than 1 is wanted"],
      ["properties.a: 7", { a: "7" }, 'properties.a is "7": 7 is wanted'],
      ["properties.a: [DE, AT, CH]", { a: "FR" }, 'properties.a is "FR": "DE", "AT" or "CH" is wanted'],
      ["properties.a: { not: b }", { a: "b" }, 'properties.a is "b": anything but "b" is wanted'],
      ["properties.a: { exists: true }", {}, "properties.a is missing: any value is wanted"],
      ["properties.a: { exists: false }", { a: 1 }, "properties.a is 1: no value is wanted"],
      ["properties.a: { matches: 'x*' }", { a: 1 }, "properties.a is 1: text that matches x* is wanted"],
      [
        "properties.a: { lte: 2026-01-31 }",
        { a: "2026-02-01" },
        'properties.a is "2026-02-01": a time until 2026-01-31 is wanted',
      ],
      [
        "properties.a: { gt: 1, lt: 3 }",
        { a: [0, 5] },
        "properties.a is [0,5]: more than 1 and less than 3 is wanted of one of its items",
      ],
      [
        "any: [{ properties.a: 1 }, { properties.b: 1 }]",
        { a: 2 },
        "none of `any` is met (properties.a is 2: 1 is wanted; properties.b is missing: 1 is wanted)",
      ],
      ["not: { properties.a: 1, userId: u1 }", { a: 1 }, 'properties.a is 1; userId is "u1": `not` leaves that out'],
      [
        "not: { any: [{ properties.a: 1 }, { properties.b: 1 }] }",
        { b: 1 },
        "properties.b is 1: `not` leaves that out",
      ],
      ["not: { not: { properties.a: 1 } }", {}, "`not` leaves it out"],
    ];
    for (const [where, properties, expected] of table) {
      assert.equal(why(`where: { ${where} }`, { properties: properties as Event["properties"] }), expected);
    }
  });

  it("names the pattern that decides", () => {
    const events = 'events: [Order *, Cart *, "!Order Viewed"]';
    assert.equal(why(events, { event: "Order Viewed" }), 'event is "Order Viewed", which matches !Order Viewed');
    assert.equal(why(events, { event: "Signed Up" }), 'event is "Signed Up", which matches none of Order *, Cart *');
  });

  it("has a reason for each of the other rules", () => {
    assert.equal(why("", {}, { enabled: false }), "it is disabled");
    assert.equal(why("", {}, { sources: ["app", "shop"] }), "the source is website: app or shop is wanted");
    assert.equal(why("", {}, { types: ["page"] }), "type is track: page is wanted");
    assert.equal(why("", { integrations: { crm: false } }), "the call's `integrations` disable it");
    const old = { timestamp: "2001-01-01T00:00:00.000Z" };
    assert.match(why("", old, { historical: "skip" }), /^timestamp is 2001\S+: the call was more than a day old/);
    assert.match(why("sample: 0.001%"), /^this user is at \d+(\.\d+)?% of all: less than 0\.001% is wanted$/);
  });

  it("says what a call meets that gets there", () => {
    assert.equal(why(""), "no rule excludes it");
    assert.equal(why("where: { userId: u1 }\nevents: ['*']\nsample: 100%"), "it meets `events`, `where` and `sample`");
    assert.equal(why("events: [a]", { type: "page" }), "no rule excludes it");
  });

  it("cuts long values, and not through a character", () => {
    const reason = why("where: { properties.a: 1 }", { properties: { a: `${"x".repeat(98)}🙂🙂` } });
    assert.equal(reason, `properties.a is "${"x".repeat(98)}…: 1 is wanted`);
  });

  it("of an example call checks it first, as a call that comes now", () => {
    const config = makeConfig({ destinations: [makeDestination({ historical: "skip" })] });
    const tryCall = createTryCall({ config: () => config, clock: { wall: () => RECEIVED_AT } });
    assert.deepEqual(tryCall(makeSource(), { type: "page", userId: 5 }), [
      { destination: "crm", gets: true, rule: null, why: "no rule excludes it", body: null },
    ]);
    const refused = tryCall(makeSource(), { type: "track", userId: "u1" });
    assert.equal("code" in refused && refused.code, "missing_event");
    assert.equal("code" in tryCall(makeSource(), null), true);
  });
});
