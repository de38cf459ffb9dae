import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import type { GenericSchema } from "valibot";
import { loadConfig } from "../../src/config/load.ts";
import { configSchema } from "../../src/config/schema.ts";
import { shapeOf } from "../../src/config/shape.ts";
import { worldOf } from "./world.ts";

const EXAMPLE = readFileSync(new URL("../../config.example.yaml", import.meta.url), "utf8");

describe("config.example.yaml", () => {
  it("loads as it is, without any environment", () => {
    const { config, problems } = load(EXAMPLE);
    assert.deepEqual(problems, []);
    assert.equal(config?.sources[0]?.writeKey.reveal(), "change-me");
  });

  it("shows every key of the schema, set or commented out", () => {
    const lines = EXAMPLE.split("\n");
    const missing = keysOf(configSchema).filter((key) => !lines.some((line) => keyOf(line) === key));
    assert.deepEqual(missing, []);
  });

  it("sets what it sets to the default", () => {
    const { config } = load(EXAMPLE);
    const { config: defaults } = load(
      "sources: { website: { writeKey: a } }\ndestinations: { crm: { webhooks: [{ url: 'http://a' }] } }",
    );
    assert.deepEqual(settings(config), settings(defaults));
  });

  it("stays valid when everything that is commented out is set", () => {
    const full = EXAMPLE.replace(/^( +)# (token|sources|types|Authorization|sharedSecret):/gm, "$1$2:");
    const { config, problems } = loadConfig({
      file: "config.yaml",
      text: full,
      resolve: worldOf({
        env: { ADMIN_TOKEN: "a" },
        files: { "/etc/fairlead/crm-token": "b" },
        credentials: { "crm-secret": "c" },
      }),
    });
    assert.deepEqual(problems, []);
    assert.equal(config?.admin.token?.reveal(), "a");
    assert.deepEqual(config?.destinations[0]?.types, ["identify", "track"]);
    assert.equal(config?.destinations[0]?.webhooks[0]?.headers[1]?.[1].reveal(), "Bearer b");
    assert.equal(config?.destinations[0]?.sharedSecrets[0]?.reveal(), "c");
  });
});

describe("the schema", () => {
  it("describes every key", () => {
    assert.deepEqual(undescribed(configSchema), []);
  });
});

function load(text: string) {
  return loadConfig({ file: "config.yaml", text, resolve: worldOf() });
}

function settings(config: ReturnType<typeof load>["config"]) {
  assert.ok(config);
  const { sources, destinations, ...rest } = config;
  const { webhooks: _, ...destination } = destinations[0] ?? assert.fail();
  return { ...rest, destination, enabled: sources[0]?.enabled };
}

function keyOf(line: string): string | undefined {
  return /^\s*(?:# )?(?:- )?(\w+):/.exec(line)?.[1];
}

/** Every key of the schema, those under names chosen by the operator and in lists too. */
function keysOf(schema: GenericSchema): string[] {
  return entriesOf(schema).flatMap(([key, value]) => [key, ...keysOf(value)]);
}

function undescribed(schema: GenericSchema): string[] {
  return entriesOf(schema).flatMap(([key, value]) => [...(isDescribed(value) ? [] : [key]), ...undescribed(value)]);
}

function isDescribed(schema: GenericSchema): boolean {
  const { pipe = [] } = schema as { pipe?: readonly { readonly type: string }[] };
  return pipe.some(({ type }) => type === "description");
}

function entriesOf(schema: GenericSchema): [string, GenericSchema][] {
  const shape = shapeOf(schema);
  if (shape.kind === "map") return Object.entries(shape.entries);
  if (shape.kind === "names") return entriesOf(shape.value);
  return shape.kind === "list" ? entriesOf(shape.item) : [];
}
