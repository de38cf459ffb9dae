import assert from "node:assert/strict";
import fc from "fast-check";
import { createTryCall } from "../../src/accept/try-call.ts";
import { explainYaml } from "../../src/config/explain.ts";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { EVENT_FIELDS, parseTemplate } from "../../src/config/template.ts";
import { isFault } from "../../src/model/fault.ts";
import { parseExactly } from "../../src/model/json.ts";
import { payloadFor, specifiedBody, storedBody } from "../../src/model/payload.ts";
import { MOST_RENDERED } from "../../src/model/template.ts";
import { render } from "../../src/webhook/template.ts";
import { NOW, worldOf } from "../config/world.ts";
import { makeSource } from "../flow/make.ts";
import { configWith } from "../route/make.ts";
import { fuzz } from "./fuzz.ts";

type Input = { readonly template: unknown; readonly call: unknown };

const path = fc.constantFrom(
  ...["event", "user", "properties", "properties.a", "properties.a.b", "properties.0", "properties.a.length"],
  ...[
    "traits.__proto__",
    "properties.constructor",
    "timestamp",
    "properties.Order Total",
    "properties.a\\.b",
    "evnt",
    "",
  ],
);
const format = fc.constantFrom(
  ...[
    "default: 0",
    "default: 'x | }}'",
    'default: "{{"',
    "default: tru",
    "time",
    "time: Europe/Berlin",
    "time: '+02:00'",
  ],
  ...[
    "time: Mars",
    "unix",
    "number: 2",
    "number: 0",
    "number",
    "truncate: 3",
    "truncate: 0",
    "text",
    "json",
    "escape",
    "",
  ],
);
const reference = fc
  .tuple(path, fc.array(format, { maxLength: 3 }), fc.constantFrom("}}", "}}", "}}", "}", ""))
  .map(([at, formats, end]) => `{{ ${[at, ...formats].join(" | ")} ${end}`);
const piece = fc.oneof(
  { weight: 4, arbitrary: reference },
  fc.string({ unit: fc.constantFrom("a", "{", "}", "|", '"', "'", ":", "\\", "\n", "\ud83d", "é", "$"), maxLength: 6 }),
  fc.constantFrom('{{ "{{" }}', "{{ '\"' }}", " "),
);
const text = fc.oneof(
  { weight: 3, arbitrary: reference },
  fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join("")),
);
const template = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    text,
    fc.constantFrom<unknown>(0, -1.5, 1e300, true, 2 ** 60),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(fc.constantFrom("a", "__proto__", "token", "{{a}}", "toJSON"), fc.string({ maxLength: 4 })),
      tie("value"),
      {
        maxKeys: 4,
        noNullPrototype: true,
      },
    ),
  ),
})).value;

const call = fc.record(
  {
    type: fc.constantFrom("track", "page", "identify", "alias", "group"),
    userId: fc.string({ maxLength: 8 }),
    groupId: fc.constant("g"),
    previousId: fc.constant("p"),
    event: fc.oneof(fc.string({ maxLength: 8 }), fc.constant("<!channel> & \ud83d")),
    timestamp: fc.constantFrom("2026-01-31T00:00:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"),
    properties: fc.dictionary(
      fc.constantFrom("a", "b", "0", "Order Total", "a.b", "toJSON"),
      fc.jsonValue({ maxDepth: 2 }),
    ),
    traits: fc.jsonValue({ maxDepth: 2 }),
  },
  { requiredKeys: ["type", "event", "groupId", "previousId", "userId"] },
);

fuzz<Input>({
  name: "templates",
  input: fc.record({ template: fc.oneof({ weight: 6, arbitrary: template }, fc.jsonValue()), call }),
  runs: 1_500,
  start: () => ({ holds }),
});

/** A config or errors with a place; what is explained means the same; and what is made of a call is compact JSON. */
function holds({ template, call }: Input): void {
  holdsOfRendering(template, call);
  const loaded = load(configWith({ body: { template } }));
  const { config, problems } = loaded;
  assert.equal(
    config === null,
    problems.some(({ severity }) => severity === "error"),
  );
  for (const problem of problems) assert.match(formatProblem(problem), /^config\.yaml:\d+:\d+: /);
  if (config === null) return;
  const again = load(explainYaml(loaded, "config.yaml"));
  if (!JSON.stringify(template).includes("token")) {
    assert.deepEqual(again.config?.destinations[0]?.template, config.destinations[0]?.template);
  }
  const results = createTryCall({ config: () => config, clock: { wall: () => NOW } })(makeSource(), call);
  if (!isFault(results)) assertCompact(results[0]?.body ?? "");
}

function holdsOfRendering(template: unknown, fields: unknown): void {
  const parsed = parseTemplate(template, EVENT_FIELDS);
  if (!("template" in parsed) || typeof fields !== "object" || fields === null) return;
  const { text } = render(parsed.template, fields);
  assertCompact(text);
  const stored = storedBody("{}", [
    ["a", "[]"],
    ["crm", text],
  ]);
  assert.deepEqual([payloadFor(stored, "crm"), specifiedBody(stored)], [text, "{}"]);
}

function assertCompact(text: string): void {
  assert.ok(text.length <= MOST_RENDERED);
  assert.equal(JSON.stringify(parseExactly(text)), text);
}

function load(written: string) {
  return loadConfig({ file: "config.yaml", text: written, resolve: worldOf({}), now: NOW });
}
