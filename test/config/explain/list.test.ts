// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { effectiveConfig, listSettings } from "../../../src/config/explain.ts";
import { inspectConfig } from "../../../src/config/load.ts";
import { NOW, worldOf } from "../world.ts";

const TEXT = `
ingest: { trustedProxies: [127.0.0.1, "\${A}", "\${B}", "\${A}"] }
sources:
  my.app: { writeKey: abc }
destinations:
  crm:
    webhooks: [{ url: http://a }, { url: http://b, headers: { X-A: "\${A} \${file:/b}" } }]
`;

const LEFT_OUT = ["ca", "cert", "key"];

describe("the settings of a config, for programs", () => {
  const world = worldOf({ env: { A: "10.0.0.1", B: "10.0.0.2" }, files: { "/b": "hush" } });
  const inspected = inspectConfig({ file: "config.yaml", text: TEXT, resolve: world, now: NOW });
  const settings = listSettings(effectiveConfig(inspected, "config.yaml"), "config.yaml");
  const of = (wanted: string) => settings.filter(({ path }) => path.startsWith(wanted));

  it("have each key once, by its path, with the value that counts", () => {
    const paths = settings.map(({ path }) => path);
    assert.deepEqual(paths, [...new Set(paths)]);
    assert.deepEqual(of("delivery"), [
      { path: "delivery.timeout", value: "5s", from: "default" },
      { path: "delivery.cutoff", value: "4h", from: "default" },
      { path: "delivery.concurrency", value: 64, from: "default" },
    ]);
    assert.deepEqual(of('sources["my.app"].writeKey'), [
      { path: 'sources["my.app"].writeKey', value: "***", from: "config.yaml:4" },
    ]);
  });

  it("have a list as one, which comes from all that its items come from", () => {
    assert.deepEqual(of("ingest.trustedProxies"), [
      {
        path: "ingest.trustedProxies",
        value: ["127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.1"],
        from: "config.yaml:2, from $A and $B",
      },
    ]);
  });

  it("have what is in a list of maps by its number", () => {
    assert.deepEqual(of("destinations.crm.webhooks"), [
      { path: "destinations.crm.webhooks[0].url", value: "http://a", from: "config.yaml:7" },
      { path: "destinations.crm.webhooks[0].headers", value: {}, from: "default" },
      ...LEFT_OUT.map((key) => ({ path: `destinations.crm.webhooks[0].${key}`, value: null, from: "default" })),
      { path: "destinations.crm.webhooks[1].url", value: "http://b", from: "config.yaml:7" },
      { path: "destinations.crm.webhooks[1].headers.X-A", value: "***", from: "config.yaml:7, from $A and /b" },
      ...LEFT_OUT.map((key) => ({ path: `destinations.crm.webhooks[1].${key}`, value: null, from: "default" })),
    ]);
  });

  it("have null for what is left out and has no default", () => {
    assert.deepEqual(of("destinations.crm.types"), [{ path: "destinations.crm.types", value: null, from: "default" }]);
  });
});
