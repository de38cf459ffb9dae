import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Destination } from "../../src/model/config.ts";
import type { Event } from "../../src/model/event.ts";
import { parseField, parsePattern, writePattern } from "../../src/model/filter.ts";
import { parseExactly } from "../../src/model/json.ts";
import { filterRule, matches } from "../../src/route/filter.ts";
import { preview } from "../../src/route/preview.ts";
import { route } from "../../src/route/route.ts";
import { load } from "../config/world.ts";
import { makeDestination } from "../flow/make.ts";
import { anyEvent, makeEvent } from "../model/make.ts";
import { anyWhere, configWith, filterOf } from "./make.ts";

function rule(keys: string, event: Partial<Event> = {}): string | null {
  return filterRule(makeEvent(event), "crm", filterOf(keys));
}

/** Which of some events meet a `where`. */
function met(where: string, ...properties: readonly object[]): readonly boolean[] {
  return properties.map((one) => rule(`where: { ${where} }`, { properties: one as Event["properties"] }) === null);
}

describe("the events that a destination takes", () => {
  const track = (events: string, event: string) => rule(`events: [${events}]`, { event });

  it("are those of which a pattern matches the whole name, with its case", () => {
    assert.equal(track("Order *, Signed Up", "Order Completed"), null);
    assert.equal(track("Order *, Signed Up", "Signed Up"), null);
    for (const other of ["Signed Up Again", "signed up", "Reorder x", "Order", ""]) {
      assert.equal(track("Order *, Signed Up", other), "event_not_selected", other);
    }
  });

  it("are none that a negation matches, wherever it stands", () => {
    for (const events of ['Order *, "!Order Viewed"', '"!Order Viewed", Order *']) {
      assert.equal(track(events, "Order Viewed"), "event_not_selected");
      assert.equal(track(events, "Order Completed"), null);
    }
  });

  it("are all others, if there are only negations", () => {
    assert.equal(track('"!Debug *"', "Debug Shown"), "event_not_selected");
    assert.equal(track('"!Debug *"', "Order Completed"), null);
  });

  it("do not count for calls of other types, which have no such name", () => {
    assert.equal(rule("events: [Order *]", { type: "page", name: "Home" }), null);
    assert.equal(rule("events: [Order *]", { type: "identify" }), null);
  });
});

describe("a pattern", () => {
  it("has stars for any run of characters, and \\* for a star itself", () => {
    const table: readonly [pattern: string, text: string, matches: boolean][] = [
      ["a*", "a", true],
      ["*", "", true],
      ["**a**", "bab", true],
      ["a*a", "a", false],
      ["a*b*c", "abbc", true],
      ["a*bc*c", "abc", false],
      ["\\*", "*", true],
      ["\\*", "x", false],
      ["5\\\\*", "5\\7", true],
      ["a.c", "abc", false],
      ["*🙂", "a🙂", true],
    ];
    for (const [pattern, text, expected] of table) {
      assert.equal(matches(parsePattern(pattern), text), expected, `${pattern} ${text}`);
    }
  });

  const piece = fc.string({ unit: fc.constantFrom("a", "b", "*", "\\", "."), maxLength: 8 });

  it("matches what the same regular expression matches", () => {
    fc.assert(
      fc.property(piece, piece, (written, text) => {
        const pattern = parsePattern(written);
        const source = pattern.map((one) => RegExp.escape(one)).join("[^]*");
        assert.equal(matches(pattern, text), new RegExp(`^${source}$`).test(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it("matches its own text, with anything for its stars", () => {
    fc.assert(
      fc.property(piece, piece, (written, between) => {
        const pattern = parsePattern(written);
        assert.ok(matches(pattern, pattern.join(between)));
      }),
    );
  });

  it("is written as it can be read again", () => {
    fc.assert(
      fc.property(piece, (written) => {
        const pattern = parsePattern(written);
        assert.deepEqual(parsePattern(writePattern(pattern)), pattern);
      }),
    );
  });

  it("does not take longer the more stars it has", () => {
    const pattern = parsePattern("*a*a*a*a*a*a*a*b");
    assert.equal(matches(pattern, "a".repeat(30_000)), false);
  });
});

describe("a field", () => {
  it("is found by its path; a backslash keeps a dot in a key", () => {
    assert.deepEqual(parseField("properties.a.b"), ["properties", "a", "b"]);
    assert.deepEqual(parseField("properties.a\\.b"), ["properties", "a.b"]);
    assert.deepEqual(met("'properties.a\\.b.c': 1", { "a.b": { c: 1 } }, { a: { b: { c: 1 } } }), [true, false]);
  });

  it("is not one that every object has", () => {
    assert.deepEqual(met("properties.toString: { exists: true }", {}, { toString: 1 }), [false, true]);
    assert.deepEqual(met("properties.a.length: { exists: true }", { a: "text" }, { a: [1] }), [false, true]);
  });

  it("may be any of the call, and null is as good as none", () => {
    assert.equal(rule("where: { userId: u1 }"), null);
    assert.equal(rule("where: { context.page.path: /a }", { context: { page: { path: "/a" } } }), null);
    assert.equal(rule("where: { userId: u2 }"), "condition_not_met");
    assert.equal(rule("where: { anonymousId: { exists: false } }"), null);
    assert.deepEqual(met("properties.a: { exists: true }", { a: null }, { a: 0 }, { a: "" }, { a: [] }), [
      false,
      true,
      true,
      true,
    ]);
  });
});

describe("a condition", () => {
  it("by a value or several is met by one of the same type: 7 is not '7'", () => {
    assert.deepEqual(met("properties.a: 7", { a: 7 }, { a: "7" }, { a: 7.0 }, {}), [true, false, true, false]);
    assert.deepEqual(met("properties.a: [DE, true, 1.5]", { a: "DE" }, { a: true }, { a: 1.5 }, { a: "true" }), [
      true,
      true,
      true,
      false,
    ]);
  });

  it("by order compares numbers with numbers, and times with times, and nothing else", () => {
    assert.deepEqual(met("properties.a: { gte: 100 }", { a: 100 }, { a: 99.9 }, { a: "100" }, {}), [
      true,
      false,
      false,
      false,
    ]);
    assert.deepEqual(met("properties.a: { gt: 1, lt: 3 }", { a: 1 }, { a: 2 }, { a: 3 }), [false, true, false]);
    assert.deepEqual(met("properties.a: { lte: -1 }", { a: -1 }, { a: 0 }), [true, false]);
    const since = "properties.a: { gte: 2026-01-31T00:00:00Z }";
    assert.deepEqual(met(since, { a: "2026-01-31T01:00:00+01:00" }, { a: "2026-01-30" }, { a: "soon" }, { a: 9e15 }), [
      true,
      false,
      false,
      false,
    ]);
    assert.equal(rule("where: { timestamp: { gt: 2026-11-19 } }"), null);
    assert.deepEqual(met("properties.a: { lt: 2026-01-01T12:00 }", { a: "2026-01-01T11:59:59" }, { a: "5" }), [
      true,
      false,
    ]);
  });

  it("by a pattern is met by text alone", () => {
    const where = "properties.a: { matches: ['*@example.com', 'x*'] }";
    assert.deepEqual(met(where, { a: "u@example.com" }, { a: "xyz" }, { a: "u@example.org" }, { a: 5 }, {}), [
      true,
      true,
      false,
      false,
      false,
    ]);
  });

  it("that negates values is met by what is not there as well", () => {
    assert.deepEqual(met("properties.a: { not: [1, 2] }", { a: 1 }, { a: 3 }, { a: "1" }, {}), [
      false,
      true,
      true,
      true,
    ]);
  });

  it("is met by a list if one of its items meets it, all of it; a negation only if none is such a value", () => {
    assert.deepEqual(met("properties.a: b", { a: ["a", "b"] }, { a: [] }, { a: [["b"]] }), [true, false, false]);
    assert.deepEqual(met("properties.a: { gt: 1, lt: 3 }", { a: [0, 2] }, { a: [0, 5] }), [true, false]);
    assert.deepEqual(met("properties.a: { not: b }", { a: ["a", "b"] }, { a: ["a"] }, { a: [] }), [false, true, true]);
    assert.deepEqual(met("properties.a: { gt: 1, not: 9 }", { a: [2, 9] }, { a: [2, 3] }), [false, true]);
  });

  it("on an integer that is too long for a number goes by its digits", () => {
    const event = (a: string) => ({ properties: parseExactly(`{"a":${a}}`) as Event["properties"] });
    const of = (where: string, a: string) => rule(`where: { properties.a: ${where} }`, event(a));
    assert.equal(of("'12345678901234567890'", "12345678901234567890"), null);
    assert.equal(of("'12345678901234567890'", "12345678901234567891"), "condition_not_met");
    assert.equal(of("'12345678901234567890'", '"12345678901234567890"'), null);
    assert.equal(of("{ gt: 1e19 }", "12345678901234567890"), null);
    assert.equal(of("{ not: '12345678901234567890' }", "12345678901234567890"), "condition_not_met");
    assert.equal(
      rule("where: { properties.a.rawJSON: { exists: true } }", event("12345678901234567890")),
      "condition_not_met",
    );
  });

  it("of several needs all of them; any, all and not combine them", () => {
    assert.deepEqual(met("properties.a: 1, properties.b: 2", { a: 1, b: 2 }, { a: 1 }), [true, false]);
    assert.deepEqual(met("any: [{ properties.a: 1 }, { properties.b: 2 }]", { a: 1 }, { b: 2 }, {}), [
      true,
      true,
      false,
    ]);
    assert.deepEqual(met("not: { properties.a: 1, properties.b: 2 }", { a: 1, b: 2 }, { a: 1 }), [false, true]);
    assert.deepEqual(met("all: [{ properties.a: 1 }, { not: { properties.b: 2 } }]", { a: 1 }, { a: 1, b: 2 }), [
      true,
      false,
    ]);
  });

  it("can be for some types of calls only", () => {
    const where = "where: { any: [{ type: { not: track } }, { properties.total: { gte: 100 } }] }";
    assert.equal(rule(where, { type: "identify" }), null);
    assert.equal(rule(where, { properties: { total: 99 } }), "condition_not_met");
    assert.equal(rule(where, { properties: { total: 100 } }), null);
  });
});

describe("a sample", () => {
  const USERS = 20_000;
  const takenOf = (share: string, destination = "crm"): ReadonlySet<string> => {
    const filter = filterOf(`sample: ${share}`);
    const users = Array.from({ length: USERS }, (_, nth) => `user-${nth}`);
    return new Set(users.filter((userId) => filterRule(makeEvent({ userId }), destination, filter) === null));
  };

  it("takes its share of users, up to what chance allows", () => {
    for (const share of [1, 10, 50, 90]) {
      const [taken, expected] = [takenOf(`${share}%`).size, (USERS * share) / 100];
      // Five standard deviations: by chance, this fails once in two million.
      assert.ok(Math.abs(taken - expected) < 5 * Math.sqrt(expected * (1 - share / 100)), `${share}%: ${taken}`);
    }
    assert.equal(takenOf("100%").size, USERS);
  });

  it("takes all calls of a user or none, and those of a larger one include those of a smaller one", () => {
    const filter = filterOf("sample: 30%");
    for (const userId of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const rules = ["m1", "m2", "m3"].map((messageId) => filterRule(makeEvent({ userId, messageId }), "crm", filter));
      assert.equal(new Set(rules).size, 1);
    }
    assert.ok(takenOf("10%").isSubsetOf(takenOf("30%")));
  });

  it("is another one for each destination", () => {
    const both = takenOf("50%").intersection(takenOf("50%", "lake")).size;
    assert.ok(Math.abs(both - USERS / 4) < 5 * Math.sqrt((USERS * 3) / 16), `${both} are in both`);
  });

  it("stays the same in other versions: a user in it today is in it tomorrow", () => {
    assert.deepEqual([...takenOf("0.05%")], STABLE);
  });

  it("goes by the anonymous user without a user, and by the message without either", () => {
    const filter = filterOf("sample: 50%");
    const of = (event: Partial<Event>) => filterRule(makeEvent({ userId: undefined, ...event }), "crm", filter);
    const [inside = ""] = takenOf("50%");
    assert.equal(of({ anonymousId: inside, messageId: "m1" }), null);
    const messages = Array.from({ length: 1_000 }, (_, nth) => of({ messageId: `m${nth}` }));
    assert.ok(Math.abs(messages.filter((one) => one === null).length - 500) < 5 * Math.sqrt(250));
  });
});

const STABLE = [2019, 2063, 2491, 2507, 5031, 7598, 9449, 9684, 11565, 13448, 15310, 16054, 16784, 17679].map(
  (nth) => `user-${nth}`,
);

describe("filters in routing", () => {
  const filter = filterOf("events: [Order *]\nwhere: { properties.total: { gte: 100 } }");
  const destinations = [makeDestination({ name: "a", filter }), makeDestination({ name: "b" })];

  it("are asked for every event, after the other rules", () => {
    const ask = (event: Partial<Event>, more: Partial<Destination> = {}) =>
      route(makeEvent(event), "website", [
        makeDestination({ ...destinations[0], ...more }),
        makeDestination({ name: "b" }),
      ]);
    const [large, small] = [{ properties: { total: 100 } }, { properties: { total: 1 } }];
    assert.deepEqual(ask({ event: "Order Completed", ...large }), { deliverTo: ["a", "b"], skipped: [] });
    assert.deepEqual(ask({ event: "Order Completed", ...small }), {
      deliverTo: ["b"],
      skipped: [{ destination: "a", rule: "condition_not_met" }],
    });
    assert.deepEqual(ask(large).skipped, [{ destination: "a", rule: "event_not_selected" }]);
    assert.deepEqual(ask(large, { enabled: false }).skipped, [{ destination: "a", rule: "destination_disabled" }]);
  });

  it("decide about each event by itself, whatever came before it", () => {
    for (let times = 0; times < 2; times += 1) {
      const takers = (total: number) =>
        route(makeEvent({ event: "Order X", properties: { total } }), "website", destinations).deliverTo;
      assert.deepEqual(takers(100), ["a", "b"]);
      assert.deepEqual(takers(99), ["b"]);
    }
  });

  it("do not keep a deletion away: the user's data may have gone there", () => {
    assert.deepEqual(route(makeEvent({ type: "delete" }), "website", destinations).deliverTo, ["a", "b"]);
  });

  it("never throw, whatever the event and the condition, and the preview says the same as routing", () => {
    fc.assert(
      fc.property(anyWhere, anyEvent, (where, event) => {
        const { config } = load(configWith({ where, events: ["a*", "!ab"], sample: "50%" }));
        if (config === null) return;
        const { deliverTo, skipped } = route(event, "website", config.destinations);
        const previewed = preview(event, "website", config.destinations);
        assert.deepEqual(
          previewed.filter(({ gets }) => gets).map(({ destination }) => destination),
          deliverTo,
        );
        assert.deepEqual(
          previewed.flatMap(({ destination, rule }) => (rule === null ? [] : [{ destination, rule }])),
          skipped,
        );
        assert.ok(previewed.every(({ why }) => why !== "" && why.length < 20_000));
      }),
      { numRuns: 500 },
    );
  });
});
