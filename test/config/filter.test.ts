import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parse } from "yaml";
import { explainYaml, listSettings } from "../../src/config/explain.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { anyWhere, configWith } from "../route/make.ts";
import { FILE, load, told } from "./world.ts";

const HEAD =
  "sources: { website: { writeKey: abc } }\ndestinations:\n  crm:\n    webhooks: [{ url: https://a.example.com }]\n";

/** What is said of the keys of a destination, from its name on. */
function toldOf(keys: string): readonly string[] {
  const indented = keys.replace(/^/gm, "    ");
  return told(load(`${HEAD}${indented}\n`)).map((line) => line.replace("destinations.crm.", ""));
}

/** The same of a `where`. */
function toldOfWhere(where: string): readonly string[] {
  return toldOf(`where: { ${where} }`);
}

describe("the patterns of a destination's events", () => {
  it("are a list of text, with bounds", () => {
    assert.deepEqual(toldOf("events: [Order *, '!Order Viewed']"), []);
    assert.deepEqual(toldOf("events: Order *"), ['error events must be a list, as in [a, b] (got "Order *")']);
    assert.deepEqual(toldOf("events: []"), [
      "error events must have a pattern: leave it out for all (got an empty list)",
    ]);
    assert.deepEqual(toldOf("events: ['']"), ['error events[0] must not be empty (got "")']);
    assert.deepEqual(toldOf("events: ['!']"), ['error events[0] must not be empty (got "!")']);
    assert.deepEqual(toldOf("events: [5]"), ["error events[0] must be text: put it in quotes (got 5)"]);
    assert.deepEqual(toldOf(`events: ["${"*a".repeat(8)}"]`), []);
    assert.match(toldOf(`events: ["${"*a".repeat(9)}"]`).join(), /^error events\[0\] must have at most 8 stars/);
    assert.deepEqual(toldOf(`events: ["${"a".repeat(256)}"]`), []);
    assert.match(
      toldOf(`events: ["${"a".repeat(257)}"]`).join(),
      /^error events\[0\] must have at most 256 characters/,
    );
    const many = (count: number) => Array.from({ length: count }, (_, nth) => `a${nth}`).join(", ");
    assert.deepEqual(toldOf(`events: [${many(100)}]`), []);
    assert.deepEqual(toldOf(`events: [${many(101)}]`), [
      "error events may have at most 100 entries (got a list of 101)",
    ]);
  });

  it("may be names that begin with a dollar sign", () => {
    assert.deepEqual(toldOf("events: [$pageview, $IDENTIFY]"), []);
  });

  it("are doubted if no track call comes here", () => {
    const noEffect = "warning events has no effect: `types` exclude track calls, and other calls have no event name";
    assert.deepEqual(toldOf("types: [page, identify]\nevents: [a]"), [noEffect]);
    assert.deepEqual(toldOf("types: [page, track]\nevents: [a]"), []);
  });

  it("are doubted if nothing passes them, or if one of them does nothing", () => {
    const nothing = "warning events selects no track call: patterns with ! exclude every name";
    assert.deepEqual(toldOf("events: ['!*']"), [nothing]);
    assert.deepEqual(toldOf("events: [Order *, Cart, '!Order*', '!Ca*t']"), [nothing]);
    assert.deepEqual(toldOf("events: [Order *, Cart, '!Order*']"), [
      "warning events[0] has no effect: a pattern with ! excludes all of these names",
    ]);
    assert.deepEqual(toldOf("events: [Order *, '!Oder Viewed']"), [
      "warning events[1] has no effect: no pattern without ! selects this name",
    ]);
    assert.deepEqual(toldOf("events: ['!Order Viewed', '!Cart *']"), []);
    assert.deepEqual(toldOf("events: [Order *, '!Order * *', '!* Viewed']"), []);
  });
});

describe("a sample", () => {
  it("is a percentage above 0 and up to 100", () => {
    for (const good of ["10%", "0.001%", "99.999%", "100%"]) assert.deepEqual(toldOf(`sample: ${good}`), [], good);
    const must = "error sample must be more than 0% and at most 100%, as in 10%";
    for (const bad of ["0%", "101%", "-1%", "10", "0.1", "10 %", "0.0001%", "ten%"]) {
      assert.deepEqual(
        toldOf(`sample: ${bad}`).map((line) => line.replace(/ \(got .*/, "")),
        [must],
        bad,
      );
    }
  });
});

describe("the conditions of a destination", () => {
  it("are about the fields of a call", () => {
    for (const field of ["userId", "properties.a", "properties.a.b.c", "context.ip", "traits.plan", "timestamp"]) {
      assert.deepEqual(toldOfWhere(`${field}: { exists: true }`), [], field);
    }
    const table: readonly [field: string, message: string][] = [
      ["propertys.a", "is not a field of a call: did you mean properties?"],
      ["userid", "is not a field of a call: did you mean userId?"],
      ["properties", "needs a field of it, as in properties.country"],
      ["event.name", "is not in a call: event has nothing in it"],
      ["properties..a", "has a dot too many"],
      ["properties.a.", "has a dot too many"],
    ];
    for (const [field, message] of table) {
      const [line = "", ...others] = toldOfWhere(`"${field}": 1`);
      assert.deepEqual([line.replace(/ \(got.*/, "").endsWith(` ${message}`), others], [true, []], line);
    }
    assert.match(toldOfWhere("receivedAt: 1").join(), /is not a field of a call: known are type, event, userId, /);
  });

  it("are values, lists of values, or maps of tests", () => {
    for (const good of ["a", "7", "-1.5", "true", "[a, 1, false]", "{ not: a, gt: 1 }", "{ matches: [a*, b] }"]) {
      assert.deepEqual(toldOfWhere(`properties.a: ${good}`), [], good);
    }
    const field = 'error where["properties.a"]';
    const values = "must be a text, a number, true or false, or a list of them";
    const table: readonly [condition: string, told: string][] = [
      ["[]", `${field} must have a value (got an empty list)`],
      ["[a, [b]]", `${field}[1] ${values} (got a list of 1)`],
      ["[a, { b: 1 }]", `${field}[1] ${values} (got a map)`],
      ["{ not: { a: 1 } }", `${field}.not ${values} (got a map)`],
      ["{}", `${field} must say what is wanted: not, gt, gte, lt, lte, exists, matches (got a map)`],
      ["{ atleast: 5 }", `${field}.atleast is not known: there are not, gt, gte, lt, lte, exists, matches (got 5)`],
      ["{ matche: a }", `${field}.matche is not known: did you mean matches? (got "a")`],
      ["{ gt: many }", `${field}.gt must be a number, or a time as 2026-01-31T00:00:00Z (got "many")`],
      ["{ gt: 2026-13-31 }", `${field}.gt must be a number, or a time as 2026-01-31T00:00:00Z (got "2026-13-31")`],
      ["{ gt: .nan }", `${field}.gt must be a number, or a time as 2026-01-31T00:00:00Z (got .nan)`],
      ["{ exists: yes }", `${field}.exists must be true or false (got "yes")`],
      ["{ matches: 5 }", `${field}.matches must be text with * for any characters (got 5)`],
      ["{ matches: [a, ''] }", `${field}.matches[1] must not be empty (got "")`],
      ["{ matches: [] }", `${field}.matches must have a pattern (got an empty list)`],
      ["12345678901234567890", `${field} is too long for a number: put it in quotes (got 12345678901234567890)`],
      ["[1, .inf]", `${field}[1] ${values} (got .inf)`],
      ["null", `${field} has no value: write one (in quotes if the word null is meant), or remove the key`],
    ];
    for (const [condition, expected] of table) {
      assert.deepEqual(toldOfWhere(`properties.a: ${condition}`), [expected], condition);
    }
  });

  it("are combined by any, all and not", () => {
    assert.deepEqual(toldOfWhere("any: [{ type: page }, { not: { all: [{ type: track }, { userId: a }] } }]"), []);
    assert.deepEqual(toldOfWhere("any: { type: page }"), [
      "error where.any must be a list of maps of conditions, as in any: [{ type: page }] (got a map)",
    ]);
    assert.deepEqual(toldOfWhere("all: []"), [
      "error where.all must be a list of maps of conditions, as in all: [{ type: page }] (got an empty list)",
    ]);
    assert.deepEqual(toldOfWhere("any: [type]"), [
      'error where.any[0] must be a map of conditions, as in properties.total: { gte: 100 } (got "type")',
    ]);
    assert.deepEqual(toldOf("where: {}"), ["error where has no conditions: write one, or remove the key (got a map)"]);
    assert.deepEqual(toldOf("where: [a]"), [
      "error where must be a map of conditions, as in properties.total: { gte: 100 } (got a list of 1)",
    ]);
  });

  it("have bounds, as they are asked for every event", () => {
    const nested = (depth: number) => `${"not: { ".repeat(depth - 1)}type: page${" }".repeat(depth - 1)}`;
    assert.deepEqual(toldOfWhere(nested(5)), []);
    assert.deepEqual(toldOfWhere(nested(6)), [
      "error where.not.not.not.not.not is nested too deeply: at most 5 levels (got a map)",
    ]);
    const fields = (count: number) => Array.from({ length: count }, (_, nth) => `properties.a${nth}: 1`).join(", ");
    assert.deepEqual(toldOfWhere(fields(100)), []);
    assert.deepEqual(toldOfWhere(fields(101)), [
      'error where["properties.a100"] is one too many: at most 100 conditions (got 1)',
    ]);
    const values = (count: number) => `properties.a: [${Array.from({ length: count }, (_, nth) => nth).join(", ")}]`;
    assert.deepEqual(toldOfWhere(values(1_000)), []);
    assert.deepEqual(toldOfWhere(values(1_001)), [
      'error where["properties.a"] must have at most 1000 values (got a list of 1001)',
    ]);
  });

  it("have all their faults reported, each with its place", () => {
    const text = `${HEAD}    where:\n      propertys.a: 1\n      any:\n        - type: page\n        - properties.b: { gt: x }\n`;
    assert.equal(
      load(text)
        .problems.map((one) => `${one.line}:${one.column} ${one.message}`)
        .join("\n"),
      [
        "6:20 is not a field of a call: did you mean properties? (got 1)",
        '9:31 must be a number, or a time as 2026-01-31T00:00:00Z (got "x")',
      ].join("\n"),
    );
  });

  it("may have aliases, but no tags, and no key twice", () => {
    assert.match(toldOfWhere("type: !x page").join(), /^error where\.type has a tag \(!\), which is not supported/);
    assert.deepEqual(toldOfWhere("all: [&paid { traits.plan: paid }, { not: { any: [*paid, { userId: u }] } }]"), []);
    assert.match(toldOfWhere("userId: a, anonymousId: *u").join(), /anonymousId is an alias \(\*\) without an anchor/);
    assert.match(toldOfWhere("userId: a, userId: b").join(), /^error where\.userId is set twice/);
  });

  it("are doubted if no call can meet them, or each one does", () => {
    const none = "warning where cannot be met: the destination gets no calls";
    for (const where of [
      ...["type: purchase", "properties.a: { gt: 5, lt: 5 }", "properties.a: { gte: 6, lte: 5 }"],
      ...["properties.a: { exists: false, gt: 5 }", "type: page, userId: { gt: 2, lt: 1 }"],
      ...["any: [{ type: a }, { type: b }]", "not: { type: [identify, track, page, screen, group, alias] }"],
    ]) {
      assert.deepEqual(toldOfWhere(where), [none], where);
    }
    assert.deepEqual(toldOf("types: [track]\nwhere: { type: page }"), [none]);
    const each = "warning where has no effect: every call that it is checked against meets it";
    assert.deepEqual(toldOfWhere("type: { not: purchase }"), [each]);
    assert.deepEqual(toldOf("types: [track]\nwhere: { type: track }"), [each]);
    for (const where of ["type: page", "properties.a: { gte: 5, lte: 5 }", "any: [{ type: a }, { userId: b }]"]) {
      assert.deepEqual(toldOfWhere(where), [], where);
    }
  });
});

describe("filters that are explained", () => {
  const explained = (keys: string) => explainYaml(load(`${HEAD}${keys.replace(/^/gm, "    ")}\n`), FILE);
  const keyOf = (keys: string, key: string) => parse(explained(keys)).destinations.crm[key];

  it("are shown as they are, each value with its line", () => {
    const where = 'where:\n  properties.total: { gte: 100 }\n  any: [{ type: [page, screen] }, { userId: "1" }]';
    assert.ok(
      explained(where).includes(
        [
          "    where:",
          "      properties.total:",
          "        gte: 100                    # config.yaml:6",
          "      any:",
          "        - type: [page, screen]      # config.yaml:7",
          '        - userId: "1"               # config.yaml:7',
        ].join("\n"),
      ),
      explained(where),
    );
    assert.deepEqual(keyOf("events: ['!a', 'b*']\nsample: 5%", "events"), ["!a", "b*"]);
    assert.equal(keyOf("events: ['!a', 'b*']\nsample: 5%", "sample"), "5%");
    const settings = listSettings(load(`${HEAD}    where: { context.country: [DE, AT] }\n`), FILE);
    assert.deepEqual(
      settings.find(({ path }) => path.includes("where")),
      {
        path: 'destinations.crm.where["context.country"]',
        value: ["DE", "AT"],
        from: `${FILE}:5`,
      },
    );
  });

  it("do not hide what only looks like a secret", () => {
    const url = { "context.page.url": { matches: "https://*@a.example/?token=*" } };
    assert.deepEqual(keyOf("where: { context.page.url: { matches: 'https://*@a.example/?token=*' } }", "where"), url);
    assert.deepEqual(keyOf("where: { properties.token: { exists: true }, properties.tokens: 5 }", "where"), {
      "properties.token": { exists: true },
      "properties.tokens": 5,
    });
  });

  it("hide what is a secret between the sender and this file", () => {
    for (const field of ["properties.token", "context.app.secret", "traits.Password"]) {
      assert.deepEqual(keyOf(`where: { ${field}: hush }`, "where"), { [field]: "***" });
      assert.deepEqual(keyOf(`where: { ${field}: { not: [hush, hush] } }`, "where"), {
        [field]: { not: ["***", "***"] },
      });
      const problems = load(`${HEAD}    where: { ${field}: { matches: hush, gt: hush } }\n`).problems;
      assert.doesNotMatch(problems.map(formatProblem).join("\n"), /hush/);
      assert.equal(problems.length, 1);
    }
    const fromFile = load(`${HEAD}    where: { userId: "\${file:/u}" }\n`, { files: { "/u": "hush" } });
    assert.doesNotMatch(explainYaml(fromFile, FILE), /hush/);
  });

  it("are a config again, which means the same", () => {
    let loaded = 0;
    fc.assert(
      fc.property(anyWhere, (where) => {
        const first = load(configWith({ where }));
        if (first.config === null || JSON.stringify(where).includes("properties.token")) return;
        loaded += 1;
        const again = load(explainYaml(first, FILE));
        assert.equal(JSON.stringify(again.config), JSON.stringify(first.config), JSON.stringify(again.problems));
      }),
      { numRuns: 300 },
    );
    assert.ok(loaded > 60, `only ${loaded} of 300 loaded: this test shows little`);
  });
});
