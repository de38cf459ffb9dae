import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EVENT_FIELDS, parseTemplate } from "../../src/config/template.ts";
import { parseExactly } from "../../src/model/json.ts";
import { MOST_RENDERED } from "../../src/model/template.ts";
import { render } from "../../src/webhook/template.ts";

const FIELDS = parseExactly(`{
  "event": "Order <Completed>", "user": "u1", "timestamp": "2026-07-31T12:00:00.123Z",
  "properties": { "total": 12.5, "id": 12345678901234567890, "Order Total": 5, "list": [{"n": 1}], "note": null,
    "a.b": "dotted", "price": "7.125", "huge": 1e300 }
}`) as object;

function rendered(template: unknown, fields = FIELDS): unknown {
  return JSON.parse(text(template, fields));
}

function text(template: unknown, fields = FIELDS): string {
  const parsed = parseTemplate(template, EVENT_FIELDS);
  assert.ok("template" in parsed, JSON.stringify(parsed));
  return render(parsed.template, fields).text;
}

/** What one text of a template becomes. */
function one(written: string): unknown {
  return (rendered([written]) as unknown[])[0];
}

describe("a template", () => {
  it("keeps what has no references", () => {
    const template = { a: [1, -2.5, true, false, {}, [], { b: "x }} | y" }], "": "é\n" };
    assert.equal(text(template), JSON.stringify(template));
  });

  it("may be a list", () => {
    assert.deepEqual(rendered([{ labels: { user: "{{ user }}" } }]), [{ labels: { user: "u1" } }]);
  });

  it("keeps the type of a value that stands alone, and every digit", () => {
    const template = { total: "{{ properties.total }}", id: "{{properties.id}}", list: "{{properties.list}}" };
    assert.equal(text(template), '{"total":12.5,"id":12345678901234567890,"list":[{"n":1}]}');
  });

  it("makes text of values within text", () => {
    assert.equal(one("{{ user }} paid {{ properties.total }}!"), "u1 paid 12.5!");
    assert.equal(one("#{{ properties.id }} {{ properties.list }}"), '#12345678901234567890 [{"n":1}]');
  });

  it("reads keys with spaces and dots, items of lists, and their number", () => {
    assert.equal(one("{{ properties.Order Total }}"), 5);
    assert.equal(one("{{ properties.a\\.b }}"), "dotted");
    assert.equal(one("{{ properties.list.0.n }}"), 1);
    assert.equal(one("{{ properties.list.length }}"), 1);
  });

  it("has null, or no text, for what is missing", () => {
    assert.equal(one("{{ properties.none }}"), null);
    assert.equal(one("{{ properties.note }}"), null);
    assert.equal(one("a{{ properties.none.deeper }}b"), "ab");
    assert.equal(one("{{ properties.toString }}"), null);
    assert.equal(one("{{ properties.none | number: 2 | escape }}"), null);
  });

  it("takes a default in place of what is missing", () => {
    assert.equal(one("{{ properties.none | default: 0 }}"), 0);
    assert.equal(one("{{ properties.none | default: true }}"), true);
    assert.equal(one("{{ properties.none | default: 'a | b' }}"), "a | b");
    assert.equal(one('{{ properties.none | number: 1 | default: "none" }}'), "none");
    assert.equal(one("{{ properties.total | default: 0 }}"), 12.5);
  });

  it("writes times for people, in a zone", () => {
    assert.equal(one("{{ timestamp | time }}"), "2026-07-31 12:00:00 UTC");
    assert.equal(one("{{ timestamp | time: Europe/Berlin }}"), "2026-07-31 14:00:00 +02:00");
    assert.equal(one('{{ timestamp | time: "-03:30" }}'), "2026-07-31 08:30:00 -03:30");
    assert.equal(one("{{ timestamp | time: Europe/Lisbon }}"), "2026-07-31 13:00:00 +01:00");
    assert.equal(one("{{ timestamp | unix }}"), 1_785_499_200);
    assert.equal(one("{{ event | time }}"), "Order <Completed>");
  });

  it("writes numbers with decimals", () => {
    assert.equal(one("{{ properties.total | number: 2 }}"), "12.50");
    assert.equal(one("{{ properties.price | number: 0 }}"), "7");
    assert.equal(one("{{ properties.id | number: 2 }}"), "12345678901234567890.00");
    assert.equal(one("{{ properties.huge | number: 2 }}"), 1e300);
    assert.equal(one("{{ user | number: 2 }}"), "u1");
  });

  it("makes text, JSON, and what Slack takes as text", () => {
    assert.equal(one("{{ properties.total | text }}"), "12.5");
    assert.equal(one("{{ event | json }}"), '"Order <Completed>"');
    assert.equal(one("{{ properties.list | json }}"), '[{"n":1}]');
    assert.equal(one("{{ event | escape }}"), "Order &lt;Completed&gt;");
    assert.equal(one("{{ event | truncate: 6 }}"), "Order…");
    assert.equal(rendered(["{{ event | truncate: 3 }}"], { event: "a😀b😀" })?.toString(), "a…");
  });

  it("has a text in quotes for braces that are meant", () => {
    assert.equal(one('{{ "{{" }} name }}'), "{{ name }}");
    assert.equal(one("{{ '{{ user }}' }}"), "{{ user }}");
  });
});

describe("a payload that would be too long", () => {
  it("has its long values cut", () => {
    const fields = { event: "x".repeat(10_000), properties: { list: ["y".repeat(10_000)] }, user: "u1" };
    const references = Array.from({ length: 97 }, () => "{{ event }}");
    const parsed = parseTemplate([...references, "{{ properties.list }}", "{{ user }}"], EVENT_FIELDS);
    assert.ok("template" in parsed);
    const { text, shortened } = render(parsed.template, fields);
    assert.ok(shortened && text.length <= MOST_RENDERED);
    const values: unknown = JSON.parse(text);
    assert.ok(Array.isArray(values));
    assert.deepEqual([values[0], ...values.slice(-2)], [`${"x".repeat(499)}…`, null, "u1"]);
  });
});

describe("what is wrong with a template", () => {
  const cases: readonly (readonly [template: unknown, message: string])[] = [
    ["{{ user }}", "must be a map or a list, which becomes the JSON of the payload"],
    [["{{ usr }}"], "has a field that is not known: did you mean user?"],
    [["{{ event.x }}"], "has a field that cannot be: event has nothing in it"],
    [["{{ properties..x }}"], "has a dot too many"],
    [["{{ }}"], "needs a field, as in {{ properties.total }}"],
    [["{{ event | nmber: 2 }}"], "has a format that is not known: did you mean number?"],
    [["{{ event | text: 2 }}"], "has something after text:, which takes nothing"],
    [["{{ event | number }}"], "needs how many decimals, from 0 to 20, as in number: 2"],
    [["{{ event | number: 21 }}"], "needs how many decimals, from 0 to 20, as in number: 2"],
    [["{{ event | truncate: 0 }}"], "needs how many characters, from 1 to 100000, as in truncate: 200"],
    [["{{ event | default: none }}"], 'needs a default in quotes, a number, true or false, as in default: "none"'],
    [["{{ timestamp | time: Mars }}"], 'has a time zone that is not known: write "UTC", "+02:00" or "Europe/Berlin"'],
    // Each doubles the backslashes of the one before.
    [["{{ event | json | text | json }}"], "has the format json twice in one reference"],
    [["{{ event | }}"], "needs a format after |: default, time, unix, number, truncate, text, json, escape"],
    [["{{ event"], "needs }} at the end of its reference"],
    [["{{ '{{' | text }}"], 'needs }} right after the text in quotes, as in {{ "{{" }}'],
    [["{{ event }} {{ usr }}"], "has a field that is not known: did you mean user? (reference 2 of the text)"],
    [[2 ** 60], "is too long for a number: put it in quotes"],
    [[Number.NaN], "must be a text, a number, true, false, a map or a list"],
    [{ "{{ user }}": 1 }, "is a key with {{ in it: references stand in values only"],
    [["x".repeat(20_000)], "is too long: at most 16 KB as JSON"],
    [Array.from({ length: 101 }, () => "{{user}}"), "has more than 100 references"],
  ];
  for (const [template, message] of cases) {
    it(`says: ${message} (${JSON.stringify(template).slice(0, 40)})`, () => {
      const parsed = parseTemplate(template, EVENT_FIELDS);
      assert.ok("faults" in parsed);
      assert.deepEqual(
        parsed.faults.map((fault) => fault.message),
        [message],
      );
    });
  }

  it("is told with its place", () => {
    const template = { blocks: [{ text: "{{ user }}" }, { text: "{{ usr }}" }] };
    const parsed = parseTemplate(template, EVENT_FIELDS);
    assert.deepEqual("faults" in parsed && parsed.faults.map(({ path }) => path), [["blocks", 1, "text"]]);
  });

  it("is told of one that is nested too deeply", () => {
    const deep = Array.from({ length: 30 }).reduce<unknown>((inside) => [inside], "x");
    const parsed = parseTemplate(deep, EVENT_FIELDS);
    assert.equal("faults" in parsed && parsed.faults[0]?.message, "is nested too deeply: at most 20 levels");
  });
});
