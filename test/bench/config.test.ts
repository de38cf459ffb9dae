import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createCertificate } from "../../bench/certificate.ts";
import { createLargeConfig, writeConfigOf, writeSmallConfig, writeSpreadConfig } from "../../bench/config.ts";
import { WRITE_KEY, writeKeyOf } from "../../bench/requests.ts";
import { describeChanges } from "../../src/config/changes.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { Config } from "../../src/model/config.ts";

const SIZES = [20, 500];
const AUTHORITY = createCertificate(["127.0.0.1"]).cert;

describe("a config of the bench", () => {
  it("has no problems, so that nothing but the config is read and logged", () => {
    for (const sources of SIZES)
      assert.equal(load(createLargeConfig({ port: 80, sources })(1)).sources.length, sources);
    assert.equal(load(writeSmallConfig(80)).sources.length, 1);
  });

  it("sends every event to each of the destinations beside each other", () => {
    const { destinations } = load(writeConfigOf([80, 81]));
    const urls = destinations.map(({ sources, webhooks }) => [sources, webhooks.map(({ url }) => new URL(url).host)]);
    assert.deepEqual(urls, [
      [null, ["127.0.0.1"]],
      [null, ["127.0.0.1:81"]],
    ]);
  });

  it("sends the events of each source to a receiver of its own, whose authority it trusts", () => {
    const urls = ["https://127.0.0.1:81/", "https://127.0.0.2:82/"];
    const { sources, destinations } = load(writeSpreadConfig({ urls, ca: "/receivers.crt" }));
    assert.deepEqual(
      sources.map(({ writeKey }) => writeKey.reveal()),
      [WRITE_KEY, writeKeyOf(1)],
    );
    assert.deepEqual(
      destinations.map(({ sources: from, webhooks }) => [from, webhooks.map(({ url, tls }) => [url, tls?.ca])]),
      urls.map((url, nth) => [[`bench-${nth}`], [[url, AUTHORITY]]]),
    );
  });

  it("sends the events of the load to one of its 20 destinations", () => {
    for (const size of SIZES) {
      const { sources, destinations } = load(createLargeConfig({ port: 80, sources: size })(1));
      const source = sources.find(({ writeKey }) => writeKey.reveal() === WRITE_KEY)?.name ?? "";
      const takers = destinations.filter((destination) => destination.sources?.includes(source) ?? true);
      assert.deepEqual([destinations.length, takers.map(({ name }) => name)], [20, ["bench"]]);
    }
  });

  it("has in each revision another source, and another header of the webhook that gets the events", () => {
    const revision = createLargeConfig({ port: 80, sources: 20 });
    assert.deepEqual(describeChanges(load(revision(1)), load(revision(2))), [
      "source revised-1 removed",
      "source revised-2 added",
      "destination other-18: sources [revised-1] → [revised-2]",
      "destination bench: headers of 1 webhook changed",
    ]);
  });
});

const NONE = { ok: true, names: [] } as const;

function load(text: string): Config {
  const file = (path: string) =>
    path === "/receivers.crt"
      ? ({ ok: true, text: AUTHORITY, worldReadable: false } as const)
      : ({ ok: false, why: "not there" } as const);
  const resolve = { env: () => undefined, file, folder: () => NONE, credential: file };
  const { config, problems } = loadConfig({ file: "/config.yaml", text, resolve, now: 0 });
  assert.deepEqual(problems, []);
  assert.ok(config);
  return config;
}
