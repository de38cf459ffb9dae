import assert from "node:assert/strict";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import type { Filter } from "../../src/model/filter.ts";
import { load } from "../config/world.ts";

/** A config file with one destination, which has these keys. */
export function configWith(keys: object): string {
  const crm = { webhooks: [{ url: "https://crm.example.com" }], ...keys };
  return stringify(
    { sources: { website: { writeKey: "abc" } }, destinations: { crm } },
    { aliasDuplicateObjects: false },
  );
}

/** The filter of a destination, as a config file has it. */
export function filterOf(keys: string): Filter {
  const { config, problems } = load(configWith(parse(keys)));
  const errors = problems.filter(({ severity }) => severity === "error");
  return config?.destinations[0]?.filter ?? assert.fail(JSON.stringify(errors));
}

const FIELDS = [
  ...["type", "event", "userId", "timestamp", "properties.a", "properties.a.b", "properties.0", "context.ip"],
  ...["traits.__proto__", "properties.constructor", "properties.a\\.b", "properties.token", "properties.toJSON"],
];
const scalar = fc.oneof(
  fc.constantFrom<string | number | boolean>("a", "", "7", 7, -0.5, true, "2026-01-31", "12345678901234567890", "${X"),
  fc.string({ maxLength: 6 }),
);
const pattern = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "*", "\\", "?"), minLength: 1, maxLength: 5 }),
  fc.string({ maxLength: 6 }),
);
const order = fc.oneof(fc.integer(), fc.constantFrom("2026-01-31", "2026-01-31T12:00:00Z"));
const tests = fc.record(
  {
    not: fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })),
    gt: order,
    gte: order,
    lt: order,
    lte: order,
    exists: fc.boolean(),
    matches: fc.oneof(pattern, fc.array(pattern, { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const field = fc.oneof({ weight: 2, arbitrary: scalar }, fc.array(scalar, { maxLength: 3 }), tests);

/** A `where`, which is mostly one that loads. */
export const anyWhere: fc.Arbitrary<Record<string, unknown>> = fc.letrec<{ map: Record<string, unknown> }>((tie) => ({
  map: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    fc.dictionary(fc.constantFrom(...FIELDS), field, { minKeys: 1, maxKeys: 3, noNullPrototype: true }),
    fc.record({ not: tie("map") }),
    fc.record({ any: fc.array(tie("map"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ all: fc.array(tie("map"), { minLength: 1, maxLength: 3 }) }),
  ),
})).map;
