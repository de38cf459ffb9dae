import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { makeTypes } from "../../src/cli/types.ts";
import { beginCommand, SLOW } from "./run.ts";

function typesOf(plan: unknown): string {
  const made = makeTypes(JSON.stringify(plan), "plan.json");
  assert.ok(made.ok, made.ok ? "" : made.why);
  return made.text.slice(made.text.indexOf("\n\n") + 2);
}

/** The type that is made of the schema of a property. */
function typeOf(schema: unknown, more: object = {}): string {
  const text = typesOf({ events: { E: { properties: { p: schema }, required: ["p"] } }, ...more });
  return /^ {4}readonly p: ([\s\S]*?);\n {2}\};/m.exec(text)?.[1]?.replace(/\n {4}/g, "\n") ?? text;
}

function refusal(text: string): string {
  const made = makeTypes(text, "plan.json");
  return made.ok ? assert.fail(made.text) : made.why;
}

const PLAN = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  events: {
    "Order Completed": {
      description: "When the payment is confirmed.",
      type: "object",
      properties: {
        total: { type: "number", description: "With tax.\nIn the order's currency." },
        coupon: { type: "string" },
        at: { type: "string", format: "date-time" },
        lines: { type: "array", items: { $ref: "#/$defs/order-line" } },
      },
      required: ["total", "lines"],
    },
    "Logged Out": null,
    Searched: {},
  },
  traits: { properties: { email: { type: "string" }, plan: { enum: ["free", "pro"] } }, required: ["email"] },
  groupTraits: { properties: { "seats used": { type: "integer" } } },
  $defs: {
    "order-line": {
      type: "object",
      properties: { sku: { type: "string" }, parts: { type: "array", items: { $ref: "#/$defs/order-line" } } },
      required: ["sku"],
    },
  },
};

const TYPES = `// Written by \`fairlead types plan.json\`. Change the plan instead, and run it again.

export type Events = {
  /** When the payment is confirmed. */
  readonly "Order Completed": {
    /**
     * With tax.
     * In the order's currency.
     */
    readonly total: number;
    readonly coupon?: string | undefined;
    readonly at?: string | Date | undefined;
    readonly lines: readonly OrderLine[];
  };
  readonly "Logged Out": undefined;
  readonly Searched: { readonly [key: string]: unknown };
};

export type Traits = {
  readonly email: string;
  readonly plan?: "free" | "pro" | undefined;
};

export type GroupTraits = {
  readonly "seats used"?: number | undefined;
};

export type OrderLine = {
  readonly sku: string;
  readonly parts?: readonly OrderLine[] | undefined;
};
`;

describe("the types of a tracking plan", () => {
  it("have its events, traits and the schemas that it refers to, with their descriptions", () => {
    const made = makeTypes(JSON.stringify(PLAN), "plan.json");
    assert.equal(made.ok && made.text, TYPES);
  });

  for (const [schema, type] of [
    [{ type: "integer", minimum: 1 }, "number"],
    [{ type: ["string", "null"] }, "string | null"],
    [{ const: "a\nb" }, '"a\\nb"'],
    [{ enum: [1, "x", null, true] }, '1 | "x" | null | true'],
    [{ type: "array" }, "readonly unknown[]"],
    [{ type: "array", items: { type: ["string", "number"] } }, "readonly (string | number)[]"],
    [{ items: { items: { type: "string" } } }, "readonly (readonly string[])[]"],
    [{ prefixItems: [{ type: "string" }, { type: "number" }], items: false }, "readonly (string | number)[]"],
    [{ anyOf: [{ type: "string" }, { type: "string" }, { type: "null" }] }, "string | null"],
    [{ oneOf: [{ type: "object" }, true] }, "unknown"],
    [{ type: "object" }, "{ readonly [key: string]: unknown }"],
    [{ type: "object", additionalProperties: { type: "number" } }, "{ readonly [key: string]: number }"],
    [
      { properties: { a: {} }, additionalProperties: true },
      "{\n  readonly a?: unknown;\n  readonly [key: string]: unknown;\n}",
    ],
    [{ required: ["a-b"] }, '{\n  readonly "a-b": unknown;\n}'],
    [true, "unknown"],
    [false, "never"],
    [{}, "unknown"],
    [{ minLength: 3, "x-owner": "shop" }, "unknown"],
    [
      { allOf: [{ required: ["a"] }, { required: ["b"] }] },
      "{\n  readonly a: unknown;\n} & {\n  readonly b: unknown;\n}",
    ],
  ] as const) {
    it(`make of ${JSON.stringify(schema)} ${JSON.stringify(type)}`, () => {
      assert.equal(typeOf(schema), type);
    });
  }

  it("give each reference a name of its own", () => {
    const $defs = { events: { type: "string" }, Events: { type: "number" }, "2nd": { type: "null" } };
    const refs = Object.keys($defs).map((name) => ({ $ref: `#/$defs/${name}` }));
    const text = typesOf({ events: { E: { properties: { p: { anyOf: refs } } } }, $defs });
    assert.match(text, /readonly p\?: Events2 \| Events3 \| Type2nd \| undefined;/);
    assert.match(text, /export type Events3 = number;/);
  });

  it("leave the names of the language alone", () => {
    const at = { type: "string", format: "date-time" };
    const properties = { at, day: { $ref: "#/$defs/date" }, more: { $ref: "#/$defs/record" } };
    const $defs = { date: { type: "string" }, record: { type: "null" } };
    const text = typesOf({ events: { E: { properties } }, $defs });
    assert.match(text, /readonly at\?: string \| Date \| undefined;\s+readonly day\?: Date2 \| undefined;/);
    assert.match(text, /export type Record2 = null;/);
  });

  it("cannot be left by what a plan says", () => {
    const text = typesOf({
      events: { '"; evil': { description: "*/ evil /*\u2028evil", properties: { "a\nb": { enum: ['"; evil'] } } } },
    });
    const comments = /\/\*\*[\s\S]*?\*\//g;
    const strings = /"(?:[^"\\\n]|\\.)*"/g;
    assert.ok(!text.replace(comments, "").replace(strings, '""').includes("evil"), text);
  });

  it("are those of Segment's and RudderStack's plans as well", () => {
    const total = { type: "object", properties: { total: { type: "number" } }, required: ["total"] };
    const call = { type: "object", properties: { properties: total, context: {} } };
    const traits = { type: "object", properties: { traits: { properties: { email: { type: "string" } } } } };
    const listed = [
      { type: "TRACK", key: "Paid", version: 1, jsonSchema: call },
      { type: "IDENTIFY", jsonSchema: traits },
    ];
    const named = { events: [{ name: "Paid", description: "d", rules: call }], identify: traits };
    const types = "export type Events = {\n  readonly Paid: {\n    readonly total: number;\n  };\n};\n\n";
    const ofUsers = "export type Traits = {\n  readonly email?: string | undefined;\n};\n";
    assert.equal(typesOf({ name: "Shop", rules: listed }), types + ofUsers);
    assert.equal(typesOf({ rules: named }), types.replace("  readonly Paid", "  /** d */\n  readonly Paid") + ofUsers);
  });
});

describe("a tracking plan that cannot be used", () => {
  it("has all of its faults reported, each with its place", () => {
    const text = `{
  "events": {
    "Order Completed": {
      "properties": {
        "total": { "type": "numbr" },
        "coupon": "string"
      },
      "requird": ["total"]
    },
    "Paid": { "properties": { "in": { "$ref": "#/$defs/Mony" } } },
    "Sent": { "type": "string" }
  },
  "trait": {},
  "$defs": { "Money": {} }
}`;
    assert.equal(
      refusal(text),
      `plan.json:5:28: events["Order Completed"].properties.total.type: is not a type of JSON Schema (got "numbr"): did you mean "number"?
          "total": { "type": "numbr" },
                             ^
plan.json:6:19: events["Order Completed"].properties.coupon: must be a schema: an object, true or false (got "string")
          "coupon": "string"
                    ^
plan.json:8:7: events["Order Completed"].requird: is not a keyword of JSON Schema: did you mean "required"?
        "requird": ["total"]
        ^
plan.json:10:47: events.Paid.properties.in.$ref: refers to nothing (got "#/$defs/Mony"): did you mean "Money"?
      "Paid": { "properties": { "in": { "$ref": "#/$defs/Mony" } } },
                                                ^
plan.json:11:23: events.Sent.type: must be "object": calls have objects here (got "string")
      "Sent": { "type": "string" }
                        ^
plan.json:13:3: trait: is not a key of a plan: did you mean traits?
    "trait": {},
    ^`,
    );
  });

  for (const [text, expected] of [
    ["[]", "plan.json must be a JSON object"],
    ['{"events":', "plan.json:1:11: is not JSON"],
    ["{}", 'plan.json:1:1: the plan has no "events"'],
    ['{"events":[]}', "plan.json:1:11: events: must have a schema for each name of an event (got [])"],
    ['{"events":{"E":{"properties":[]}}}', "plan.json:1:30: events.E.properties: must have a schema for each property"],
    ['{"events":{"E":{"required":"a"}}}', "plan.json:1:28: events.E.required: must be a list"],
    ['{"events":{"E":{"anyOf":[]}}}', "plan.json:1:25: events.E.anyOf: must be a list that is not empty"],
    ['{"events":{"E":{"$ref":"http://x"}}}', "plan.json:1:24: events.E.$ref: must refer to this plan"],
    ['{"events":{"E":7}}', "plan.json:1:16: events.E: must be a schema"],
    ['{"rules":7}', "plan.json:1:10: rules: must be a list of rules, or an object"],
    ['{"rules":[{"type":"TRACK"}]}', "rules[0].rules: the rule has no event name"],
  ] as const) {
    it(`is refused: ${text}`, () => {
      assert.ok(refusal(text).includes(expected), refusal(text));
    });
  }
});

describe("fairlead types", () => {
  it("prints a module that compiles, and with which the client checks calls", SLOW, async () => {
    const folder = await mkdtemp(join(tmpdir(), "fairlead-types-"));
    try {
      await writeFile(join(folder, "plan.json"), JSON.stringify(PLAN));
      const { code, out } = await beginCommand(["types", join(folder, "plan.json")]).ended;
      assert.equal(code, 0);
      await writeFile(join(folder, "plan.ts"), out);
      await writeFile(join(folder, "program.ts"), PROGRAM);
      assert.equal(compile(join(folder, "program.ts")), "");
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it("ends with 1 and prints no types if the plan has faults, and with 2 if there is none", SLOW, async () => {
    const plan = fileURLToPath(new URL("../../package.json", import.meta.url));
    const { code, out, err } = await beginCommand(["types", plan]).ended;
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^fairlead: .*package\.json:\d+:\d+: /);
    assert.equal((await beginCommand(["types", "/nowhere/plan.json"]).ended).code, 2);
  });
});

const ANALYTICS = JSON.stringify(fileURLToPath(new URL("../../src/client/analytics.ts", import.meta.url)));

const PROGRAM = `import { Analytics } from ${ANALYTICS};
import type { Events, GroupTraits, Traits } from "./plan.ts";
const { track, identify, group } = new Analytics<Events, Traits, GroupTraits>("key");
void track({ userId: "u", event: "Order Completed", properties: { total: 1, lines: [{ sku: "a" }], at: new Date() } });
void track({ userId: "u", event: "Logged Out" });
void track({ userId: "u", event: "Searched", properties: { query: "x" } });
void identify({ userId: "u", traits: { email: "ada@example.com" } });
void group({ userId: "u", groupId: "g" });
// @ts-expect-error: it has lines
void track({ userId: "u", event: "Order Completed", properties: { total: 1 } });
// @ts-expect-error: there is no such property
void track({ userId: "u", event: "Order Completed", properties: { total: 1, lines: [], cupon: "x" } });
// @ts-expect-error: it has no properties
void track({ userId: "u", event: "Logged Out", properties: { a: 1 } });
// @ts-expect-error: there is no such event
void track({ userId: "u", event: "Order Complete" });
// @ts-expect-error: there is no such plan
void identify({ userId: "u", traits: { email: "ada@example.com", plan: "gold" } });
`;

/** What the compiler finds wrong. */
function compile(path: string): string {
  const tsc = createRequire(import.meta.url).resolve("typescript/package.json");
  const options = "--strict --exactOptionalPropertyTypes --noEmit --module preserve --allowImportingTsExtensions";
  const types = ["--lib", "esnext", "--types", fileURLToPath(new URL("../../node_modules/bun-types", import.meta.url))];
  const before = typeof Bun === "undefined" ? ["run", "-A"] : [];
  const args = [
    ...before,
    join(tsc, "../bin/tsc"),
    ...options.split(" "),
    ...types,
    "--skipLibCheck",
    "--ignoreConfig",
    path,
  ];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  return stdout + stderr;
}
