import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import * as v from "valibot";
import { parse } from "yaml";
import { exampleConfig, wrapComments } from "../../packaging/config-example.ts";
import { flag, text } from "../../src/config/fields.ts";
import { key, shapeOf } from "../../src/config/key.ts";
import { loadConfig } from "../../src/config/load.ts";
import { configSchema } from "../../src/config/schema.ts";
import { CERTS, EXAMPLE_PEMS, KEY } from "./certificates.ts";
import { NOW, uncomment, worldOf } from "./world.ts";

const EXAMPLE = readFileSync(new URL("../../config.example.yaml", import.meta.url), "utf8");

describe("config.example.yaml", () => {
  it("is what the schema says", () => {
    assert.ok(EXAMPLE === exampleConfig(), "config.example.yaml differs from the schema: run `make example`");
  });

  it("loads as it is, without any environment", () => {
    const { config, problems } = load(EXAMPLE);
    assert.deepEqual(problems, []);
    assert.equal(config?.sources[0]?.writeKey.reveal(), "change-me");
  });

  it("begins with the line by which editors find the schema", () => {
    assert.match(EXAMPLE, /^# yaml-language-server: \$schema=fairlead\.schema\.json\n/);
  });

  it("shows every key of the schema, set or commented out", () => {
    assert.deepEqual(missing(configSchema, parse(uncomment(EXAMPLE))), []);
    assert.ok(missing(configSchema, { sources: { a: {} } }).includes("sources.a.writeKey"));
  });

  it("sets what it sets to the default", () => {
    const { config } = load(EXAMPLE);
    const { config: defaults } = load(
      "sources: { website: { writeKey: a } }\ndestinations: { crm: { webhooks: [{ url: 'http://a' }] } }",
    );
    assert.deepEqual(settings(config), settings(defaults));
  });

  const NONE = { ok: true, names: [] } as const;

  it("stays valid when everything that is commented out is set", () => {
    const found = (text: string) => ({ ok: true, text, worldReadable: false }) as const;
    const file = (path: string) => found(EXAMPLE_PEMS.get(path) ?? path);
    const resolve = { env: (name: string) => name, file, folder: () => NONE, credential: found };
    // Those that count for nothing beside others are not set together with them.
    const text = uncomment(EXAMPLE).replace(/^ {2}(path|freeDisk): .*\n/gm, "");
    const { config, problems } = loadConfig({ file: "config.yaml", text, resolve, now: NOW });
    assert.deepEqual(problems, []);
    assert.equal(config?.outbox.postgres?.password?.reveal(), "/etc/fairlead/db-password");
    assert.equal(config?.ingest.tls?.key.reveal(), KEY);
    assert.equal(config?.admin.token?.reveal(), "ADMIN_TOKEN");
    assert.equal(config?.admin.readToken?.reveal(), "ADMIN_READ_TOKEN");
    assert.deepEqual(config?.destinations[0]?.types, ["identify", "track"]);
    assert.equal(config?.destinations[0]?.webhooks[0]?.headers[1]?.[1].reveal(), "Bearer /etc/fairlead/crm-token");
    assert.equal(config?.destinations[0]?.webhooks[0]?.tls?.ca, CERTS.ca);
    assert.equal(config?.destinations[0]?.webhooks[0]?.tls?.key?.reveal(), KEY);
    assert.equal(config?.destinations[0]?.sharedSecrets[0]?.reveal(), "crm-secret");
  });

  it("fits into 120 columns, and ends in one newline", () => {
    assert.deepEqual(
      EXAMPLE.split("\n").filter((line) => line.length > 120),
      [],
    );
    assert.match(EXAMPLE, /\S\n$/);
  });
});

describe("exampleConfig", () => {
  it("comments out a key that has no default, with all that is in it", () => {
    const cert = key(text(), { description: "The certificate.", example: "cert.pem" });
    const strict = key(v.optional(flag(), true), { description: "Whether it is checked.", more: "Leave it so." });
    const tls = key(v.optional(v.strictObject({ cert, strict })), { description: "Serves HTTPS." });
    const [, section] = exampleConfig({ tls }).split("\n\n");
    assert.deepEqual(section?.split("\n"), [
      ...["# Serves HTTPS.", "# tls:", "#   # The certificate.", "#   cert: cert.pem"],
      ...["#   # Whether it is checked. Leave it so.", "#   strict: true", ""],
    ]);
    assert.deepEqual(parse(uncomment(section ?? "")), { tls: { cert: "cert.pem", strict: true } });
  });

  it("comments out only once what is in a section that is commented out", () => {
    const ca = key(v.optional(text()), { description: "Whom to trust.", example: "ca.pem", leftOut: "all" });
    const tls = key(v.optional(v.strictObject({ ca })), { description: "Speaks TLS.", leftOut: "plain" });
    const [, section] = exampleConfig({ tls }).split("\n\n");
    assert.deepEqual(section?.split("\n"), ["# Speaks TLS.", "# tls:", "#   # Whom to trust.", "#   ca: ca.pem", ""]);
  });

  it("writes lists in one line, with quotes where YAML needs them", () => {
    const origins = key(v.optional(v.array(text()), ["*", "{a}"]), { description: "Who may ask." });
    assert.match(exampleConfig({ origins }), /^origins: \["\*", "\{a\}"\]$/m);
  });

  it("fails on a key for which it has nothing to show", () => {
    const cert = key(text(), { description: "The certificate." });
    assert.throws(() => exampleConfig({ cert }), /key cert of the config has no example/);
    assert.throws(() => exampleConfig({ cert: text() }), /no manual/);
  });
});

function load(text: string) {
  return loadConfig({ file: "config.yaml", text, resolve: worldOf(), now: NOW });
}

function settings(config: ReturnType<typeof load>["config"]) {
  assert.ok(config);
  const { sources, destinations, ...rest } = config;
  const { webhooks: _, ...destination } = destinations[0] ?? assert.fail();
  const { writeKey: __, ...source } = sources[0] ?? assert.fail();
  return { ...rest, destination, source };
}

/** Which keys of the schema a file does not have; those under a chosen name, and in a list, in its first entry. */
function missing(schema: v.GenericSchema, value: unknown, path = ""): readonly string[] {
  const shape = shapeOf(schema);
  const entries = Object.entries(value ?? {});
  const first = entries[0];
  if (shape.kind === "names" && shape.value && first) return missing(shape.value, first[1], `${path}${first[0]}.`);
  if (shape.kind === "list" && first) return missing(shape.item, first[1], path);
  if (shape.kind !== "map") return [];
  return Object.entries(shape.entries).flatMap(([name, entry]) => {
    const below = entries.find(([key]) => key === name);
    return below ? missing(entry, below[1], `${path}${name}.`) : [`${path}${name}`];
  });
}

describe("wrapComments", () => {
  it("breaks a long comment between words, and keeps what stands before it", () => {
    assert.deepEqual(wrapComments(["  # one two three four"], 13), ["  # one two", "  # three", "  # four"]);
    assert.deepEqual(wrapComments(["#   # one two three"], 13), ["#   # one two", "#   # three"]);
  });

  it("uses every column it may, and none more", () => {
    assert.deepEqual(wrapComments(["# one two"], 9), ["# one two"]);
    assert.deepEqual(wrapComments(["# one two"], 8), ["# one", "# two"]);
  });

  it("keeps together what is in backquotes, and a word that is too long", () => {
    assert.deepEqual(wrapComments(["# run `a b c`. Then overflowing"], 10), [
      ...["# run", "# `a b c`.", "# Then", "# overflowing"],
    ]);
  });

  it("leaves what is no comment as it is", () => {
    assert.deepEqual(wrapComments(["key: a # b c d e"], 8), ["key: a # b c d e"]);
  });
});
