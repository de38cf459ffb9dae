// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { exampleConfig } from "../../packaging/config-example.ts";
import { configJsonSchema, includedJsonSchema, type JsonSchema } from "../../src/config/json-schema.ts";
import { loadConfig } from "../../src/config/load.ts";
import { faultsOf } from "./json-schema-validator.ts";
import { NOW, uncomment, worldOf } from "./world.ts";

const SCHEMA = configJsonSchema();
const CRM = { webhooks: [{ url: "https://crm.example.com" }] };

describe("the JSON Schema of the config", () => {
  it("accepts the example, as it is and with all keys set", () => {
    assert.deepEqual(faultsOf(SCHEMA, parse(exampleConfig())), []);
    assert.deepEqual(faultsOf(SCHEMA, parse(uncomment(exampleConfig()))), []);
  });

  it("accepts a section whose lines are all commented out", () => {
    assert.deepEqual(faults("admin:\nsources:\n"), []);
  });

  it("accepts a reference wherever the loader does", () => {
    const text = stringify({
      ingest: { listen: "${LISTEN}", trustedProxies: ["${PROXY}"], corsOrigins: ["https://${SITE}"] },
      outbox: { maxSize: "${SIZE}MB", keepFailed: "${file:keep}" },
      delivery: { concurrency: "${N}" },
      log: { level: "${LEVEL:-info}" },
      sources: { website: { writeKey: "${credential:key}", enabled: "${ENABLED}", type: "${KIND}", ip: "${IP}" } },
      destinations: { crm: { types: ["${TYPE}"], webhooks: [{ url: "${URL}" }] } },
    });
    const places = { LISTEN: "[::1]:1", PROXY: "10.0.0.0/8", SITE: "a.example", URL: "http://crm.example" };
    const env = { ...places, SIZE: "64", N: "8", ENABLED: "false", TYPE: "track", KIND: "web", IP: "drop" };
    const resolve = worldOf({ env, files: { keep: "7d" }, credentials: { key: "a" } });
    assert.deepEqual(loadConfig({ file: "config.yaml", text, resolve, now: NOW }).problems, []);
    assert.deepEqual(faults(text), []);
  });

  it("accepts what is kept for aliases at the top, and a list of files to include", () => {
    assert.deepEqual(faults('x-any: { thing: [1] }\ninclude: ["conf.d/*.yaml", "${PLACE}"]\n'), []);
    assert.deepEqual(faults("log: { x-any: 1 }\ninclude: [conf.d/]\n"), [
      ".log.x-any: additionalProperties",
      ".include[0]: pattern",
    ]);
  });

  it("has one for included files, with what may be in several files alone", () => {
    const included = includedJsonSchema();
    const source = { website: { writeKey: "a" } };
    assert.deepEqual(faultsOf(included, { sources: source, destinations: null, "x-any": 1 }), []);
    assert.deepEqual(faultsOf(included, { sources: { website: { writeKy: "a" } }, admin: {} }), [
      ".admin: additionalProperties",
      ...[".sources.website.writeKy: additionalProperties", ".sources.website: required"],
    ]);
  });

  it("accepts all that loads, whatever it is", () => {
    let loaded = 0;
    fc.assert(
      fc.property(anyConfig, (written) => {
        const text = stringify(written);
        const { config } = loadConfig({ file: "config.yaml", text, resolve: worldOf(), now: NOW });
        if (config === null) return;
        loaded += 1;
        assert.deepEqual(faults(text), []);
      }),
      { numRuns: 1_000 },
    );
    assert.ok(loaded > 300, `only ${loaded} of 1,000 loaded: this test shows little`);
  });

  const mistakes: readonly [mistake: string, written: object, fault: string][] = [
    ["a misspelt key", { ingest: { lisen: "127.0.0.1:1" } }, ".ingest.lisen: additionalProperties"],
    ["a misspelt section", { ingres: {} }, ".ingres: additionalProperties"],
    ["an address without a host", { ingest: { listen: ":8080" } }, ".ingest.listen: pattern"],
    ["TLS without a key", { ingest: { tls: { cert: "/cert.pem" } } }, ".ingest.tls: required"],
    ["TLS that is empty", { ingest: { tls: null } }, ".ingest.tls: type"],
    [
      "a proxy by its name",
      { ingest: { trustedProxies: ["proxy.example.com"] } },
      ".ingest.trustedProxies[0]: pattern",
    ],
    ["a proxy that is no list", { ingest: { trustedProxies: "127.0.0.1" } }, ".ingest.trustedProxies: type"],
    ["an origin with a path", { ingest: { corsOrigins: ["https://a.example/"] } }, ".ingest.corsOrigins[0]: pattern"],
    ["an origin without a scheme", { ingest: { corsOrigins: ["a.example"] } }, ".ingest.corsOrigins[0]: pattern"],
    ["a source of an unknown type", { sources: { a: { writeKey: "a", type: "app" } } }, ".sources.a.type: anyOf"],
    ["an unknown policy", { sources: { a: { writeKey: "a", ip: "hash" } } }, ".sources.a.ip: anyOf"],
    ["a duration without a unit", { delivery: { timeout: 5 } }, ".delivery.timeout: type"],
    ["a duration with a wrong unit", { delivery: { timeout: "5 sec" } }, ".delivery.timeout: pattern"],
    ["a rate without a time", { destinations: { crm: { ...CRM, rate: 50 } } }, ".destinations.crm.rate: type"],
    ["a rate by the day", { destinations: { crm: { ...CRM, rate: "50/d" } } }, ".destinations.crm.rate: pattern"],
    ["a size with a wrong unit", { outbox: { maxSize: "1 gig" } }, ".outbox.maxSize: pattern"],
    ["a size that is too small", { outbox: { maxSize: 512 } }, ".outbox.maxSize: minimum"],
    ["a number out of bounds", { delivery: { concurrency: 201 } }, ".delivery.concurrency: maximum"],
    ["a number that is not whole", { delivery: { concurrency: 1.5 } }, ".delivery.concurrency: type"],
    ["a number in quotes", { delivery: { concurrency: "64" } }, ".delivery.concurrency: pattern"],
    ["a word that is not one of the few", { log: { level: "loud" } }, ".log.level: anyOf"],
    ["yes for true", { sources: { a: { writeKey: "a", enabled: "yes" } } }, ".sources.a.enabled: pattern"],
    ["a number for text", { sources: { a: { writeKey: 1 } } }, ".sources.a.writeKey: type"],
    ["a token with a space", { admin: { token: "a b" } }, ".admin.token: pattern"],
    ["empty text", { sources: { a: { writeKey: "" } } }, ".sources.a.writeKey: minLength"],
    ["a source without a key", { sources: { a: {} } }, ".sources.a: required"],
    ["a name with a space", { destinations: { "my crm": CRM } }, ".destinations.my crm: pattern"],
    ["a destination that is empty", { destinations: { crm: null } }, ".destinations.crm: type"],
    ["no webhooks", { destinations: { crm: { webhooks: [] } } }, ".destinations.crm.webhooks: minItems"],
    [
      "six webhooks",
      { destinations: { crm: { webhooks: [1, 2, 3, 4, 5, 6].map((n) => ({ url: `http://a/${n}` })) } } },
      ".destinations.crm.webhooks: maxItems",
    ],
    [
      "a URL of another protocol",
      { destinations: { crm: { webhooks: [{ url: "ftp://a" }] } } },
      ".destinations.crm.webhooks[0].url: pattern",
    ],
    [
      "a header with a space",
      { destinations: { crm: { webhooks: [{ url: "http://a", headers: { "X A": "b" } }] } } },
      ".destinations.crm.webhooks[0].headers.X A: pattern",
    ],
    ["an unknown type", { destinations: { crm: { ...CRM, types: ["trak"] } } }, ".destinations.crm.types[0]: anyOf"],
    [
      "a list of no secrets",
      { destinations: { crm: { ...CRM, sharedSecret: [] } } },
      ".destinations.crm.sharedSecret: anyOf",
    ],
  ];
  for (const [mistake, written, fault] of mistakes) {
    it(`refuses ${mistake}, as the loader does`, () => {
      const text = stringify(written);
      assert.equal(loadConfig({ file: "config.yaml", text, resolve: worldOf(), now: NOW }).config, null);
      assert.deepEqual(faults(text), [fault]);
    });
  }

  it("says of every key what it is and where, and what it is by default", () => {
    const keys = keysOf(SCHEMA);
    assert.deepEqual(
      keys.filter(({ description = "", title }) => description === "" || title === undefined),
      [],
    );
    const ofTitle = (wanted: string) => keys.find(({ title }) => title === wanted);
    assert.match(ofTitle("destinations.NAME.webhooks[].url")?.description ?? "", /^The full URL/);
    assert.deepEqual(ofTitle("destinations.NAME.types")?.examples, [["identify", "track"]]);
    assert.deepEqual(ofTitle("outbox.maxSize")?.examples, ["4GB"]);
    assert.deepEqual(Object.keys(ofTitle("destinations.NAME.webhooks[].headers")?.examples?.[0] ?? {}), [
      "X-Environment",
      "Authorization",
    ]);
    assert.equal(ofTitle("outbox.maxSize")?.default, "1GB");
    assert.equal(ofTitle("delivery.concurrency")?.default, 64);
    assert.equal(ofTitle("sources.NAME.enabled")?.default, true);
  });

  it("has an example of every value, which it accepts itself", () => {
    const values = keysOf(SCHEMA).filter(({ title = "" }) => /\./.test(title));
    const plain = values.filter(({ properties, items }) => !properties && !items?.properties);
    assert.ok(plain.length > 20);
    for (const json of plain) {
      const { examples = [], title = "" } = json;
      assert.ok(examples.length > 0, title);
      for (const example of examples) assert.deepEqual(faultsOf(json, example), [], title);
    }
  });

  it("is of draft-07, and JSON through and through", () => {
    assert.equal(SCHEMA.$schema, "http://json-schema.org/draft-07/schema#");
    assert.deepEqual(JSON.parse(JSON.stringify(SCHEMA)), SCHEMA);
    assert.doesNotMatch(JSON.stringify(SCHEMA), /"manual"/);
  });
});

const word = fc.string({ unit: "grapheme-ascii", minLength: 1, maxLength: 8 });
const number = fc.oneof(fc.nat(300), fc.integer({ min: 1_000_000, max: 2_000_000 }), fc.double({ noNaN: true }));
const host = fc.constantFrom("127.0.0.1", "localhost", "a-b.example", "[::1]", "[fe80::1%eth0]");
const listen = fc.oneof(joined(host, fc.constant(":"), fc.nat(65_535)), joined(fc.constant("unix:/"), word), word);
const part = joined(fc.nat(9), fc.constantFrom("", ".5"), fc.constantFrom("ms", "s", "m"), fc.constantFrom("", " "));
const duration = fc.oneof(joined(part, fc.constant("0s")), joined(part, part), number, word);
const size = fc.oneof(number, joined(number, fc.constantFrom("B", "KB", " mb", "Gb", "TB", "")));
const name = fc.oneof(fc.stringMatching(/^[\w.-]{1,9}$/), word);
const url = fc.oneof(fc.webUrl({ withQueryParameters: true }), joined(fc.constantFrom("HTTP://", "https://"), word));
const header = fc.tuple(name, fc.oneof(word, fc.string({ unit: "binary", maxLength: 2 })));

const address = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.ipV4().map((text) => `::ffff:${text}`),
);
const network = fc.oneof(address, joined(address, fc.constantFrom("/32", "/128", "/08", "/33", "/x")), word);
const site = fc.webUrl({ withQueryParameters: true }).map((page) => new URL(page).origin);
const pattern = fc.domain().map((domain) => `https://*.${domain}`);
const ofApp = joined(fc.constantFrom("capacitor", "CHROME-extension", "a.b"), fc.constant("://"), name);
const origin = fc.oneof(site, pattern, ofApp, fc.constantFrom("*", "null", "file://", "http://[::1]:1"), url, word);

/** A file with one value that is right more often than not. */
const anyConfig = fc.oneof(
  listen.map((text) => ({ ingest: { listen: text } })),
  fc.array(network, { maxLength: 2 }).map((trustedProxies) => ({ ingest: { trustedProxies } })),
  fc.array(origin, { maxLength: 2 }).map((corsOrigins) => ({ ingest: { corsOrigins } })),
  size.map((maxSize) => ({ outbox: { maxSize } })),
  duration.map((keepFailed) => ({ outbox: { keepFailed } })),
  number.map((concurrency) => ({ delivery: { concurrency } })),
  name.map((source) => ({ sources: { [source]: { writeKey: "a" } } })),
  url.map((text) => ({ destinations: { crm: { webhooks: [{ url: text }] } } })),
  header.map((pair) => ({
    destinations: { crm: { webhooks: [{ url: "http://a", headers: Object.fromEntries([pair]) }] } },
  })),
);

function joined(...parts: readonly fc.Arbitrary<string | number>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((found) => found.join(""));
}

function faults(text: string): readonly string[] {
  return faultsOf(SCHEMA, parse(text));
}

/** Every key with what is said of it. */
function keysOf({ properties = {}, additionalProperties, items }: JsonSchema): readonly JsonSchema[] {
  const below = typeof additionalProperties === "object" ? keysOf(additionalProperties) : [];
  const keys = Object.values(properties).flatMap((key) => [key, ...keysOf(key)]);
  return [...keys, ...below, ...(items ? keysOf(items) : [])];
}
