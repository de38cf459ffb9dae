import assert from "node:assert/strict";
import fc from "fast-check";
import { createTryCall } from "../../src/accept/try-call.ts";
import { explainYaml } from "../../src/config/explain.ts";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { isFault } from "../../src/model/fault.ts";
import { parsePattern } from "../../src/model/filter.ts";
import { matches } from "../../src/route/filter.ts";
import { NOW, worldOf } from "../config/world.ts";
import { makeSource } from "../flow/make.ts";
import { anyWhere, configWith } from "../route/make.ts";
import { fuzz } from "./fuzz.ts";

type Input = {
  readonly events: readonly string[];
  readonly where: unknown;
  readonly sample: string;
  readonly call: unknown;
};

const text = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "*", "!", "\\", ".", "$", "{"), maxLength: 10 }),
  fc.string({ maxLength: 8 }),
);
const call = fc.record(
  {
    type: fc.constantFrom("track", "page", "identify", "alias", "x"),
    userId: text,
    event: text,
    timestamp: fc.constantFrom("2026-01-31T00:00:00Z", "5", ""),
    properties: fc.dictionary(fc.constantFrom("a", "b", "0", "token"), fc.jsonValue({ maxDepth: 2 })),
    traits: fc.jsonValue({ maxDepth: 2 }),
    context: fc.jsonValue({ maxDepth: 2 }),
    integrations: fc.jsonValue({ maxDepth: 1 }),
  },
  { requiredKeys: [] },
);

fuzz<Input>({
  name: "filters",
  input: fc.record({
    events: fc.array(text, { maxLength: 4 }),
    where: fc.oneof({ weight: 4, arbitrary: anyWhere }, { weight: 1, arbitrary: fc.jsonValue() }),
    sample: fc.constantFrom("0.001%", "50%", "100%", "10"),
    call: fc.oneof({ weight: 4, arbitrary: call }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) }),
  }),
  runs: 600,
  start: () => ({ holds }),
});

/** A config or errors with a place; what is explained means the same; and each call has an answer for each destination. */
function holds({ events, where, sample, call }: Input): void {
  for (const one of events) holdsOfPattern(one, events.join(""));
  const loaded = load(configWith({ events, where, sample }));
  const { config, problems } = loaded;
  assert.equal(
    config === null,
    problems.some(({ severity }) => severity === "error"),
  );
  for (const problem of problems) assert.match(formatProblem(problem), /^config\.yaml:\d+:\d+: /);
  if (config === null) return;
  const again = load(explainYaml(loaded, "config.yaml"));
  if (!JSON.stringify(where).includes("properties.token")) {
    assert.deepEqual(again.config?.destinations[0]?.filter, config.destinations[0]?.filter);
  }
  const results = createTryCall({ config: () => config, clock: { wall: () => NOW } })(makeSource(), call);
  if (isFault(results)) return;
  assert.equal(results.length, 1);
  for (const { gets, rule, why } of results) assert.ok(gets === (rule === null) && why !== "");
}

/** Compared with the plain way, which tries every length that a star may have. */
function holdsOfPattern(written: string, text: string): void {
  const pattern = parsePattern(written);
  if (pattern.length < 6) assert.equal(matches(pattern, text), matchesPlainly(pattern, text));
}

function matchesPlainly([piece = "", ...rest]: readonly string[], text: string): boolean {
  if (rest.length === 0) return text === piece;
  if (!text.startsWith(piece)) return false;
  for (let at = piece.length; at <= text.length; at += 1) if (matchesPlainly(rest, text.slice(at))) return true;
  return false;
}

function load(written: string) {
  return loadConfig({ file: "config.yaml", text: written, resolve: worldOf({}), now: NOW });
}
