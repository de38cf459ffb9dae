// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readConfigParts } from "../../src/config/parts.ts";
import { Secret } from "../../src/model/secret.ts";
import { type World, worldOf } from "./world.ts";

const CONFIG = `
ingest: { listen: "unix:/run/fairlead/ingest.sock" }
sources:
  old: { writeKey: key-0, enabled: false }
  website: { writeKey: "\${WEBSITE_KEY}" }
  app: { writeKey: "\${file:/app-key}" }
destinations:
  crm:
    webhooks: [{ url: "https://example.com/" }]
    sharedSecret: \${credential:crm-secret}
`;

function open(text: string, world: World = {}) {
  return readConfigParts({ file: "config.yaml", text, resolve: worldOf(world) });
}

function keyIn(text: string, source?: string, world: World = {}): string {
  const key = open(text, world).writeKey(source);
  return key instanceof Secret ? `key ${key.reveal()}` : `${key.faulty} ${key.message}`;
}

const env = { WEBSITE_KEY: "key-1" };

describe("the parts of a config that a client of the daemon needs", () => {
  it("are found although a secret of another part is only there for the daemon", () => {
    assert.equal(keyIn(CONFIG, undefined, { env }), "key key-1");
    assert.deepEqual(open(CONFIG).ingestListen(), { kind: "unix", path: "/run/fairlead/ingest.sock" });
  });

  it("are found although other parts are wrong", () => {
    const text = `${CONFIG}outbox: { path: 5, nonsense: 1 }\nnonsense: 1\n`;
    assert.equal(keyIn(text, undefined, { env }), "key key-1");
  });

  it("have their defaults", () => {
    const listen = open("sources: { a: { writeKey: k } }").ingestListen();
    assert.deepEqual(listen, { kind: "tcp", host: "127.0.0.1", port: 8080 });
  });

  it("are not kept apart by a byte order mark", () => {
    assert.equal(keyIn(`\uFEFF${CONFIG}`, undefined, { env }), "key key-1");
  });
});

describe("the write key", () => {
  it("is that of the first enabled source, or of the one that is named", () => {
    assert.equal(keyIn(CONFIG, undefined, { env }), "key key-1");
    assert.equal(keyIn(CONFIG, "app", { files: { "/app-key": "key-2\n" } }), "key key-2");
    assert.equal(keyIn(CONFIG, "old"), "key key-0");
  });

  it("is missing with its place in the file, if its own secret cannot be read", () => {
    const message = "sources.website.writeKey needs the environment variable WEBSITE_KEY, which is not set";
    assert.match(keyIn(CONFIG), new RegExp(`^file cannot use config\\.yaml:\\nconfig\\.yaml:5:25: ${message}\\n`));
    assert.equal(keyIn(CONFIG).includes("crm"), false);
  });

  it("is asked for with a name that is not there: then the file is not at fault", () => {
    assert.equal(keyIn(CONFIG, "wesite"), 'name config.yaml has no source "wesite": did you mean website?');
    assert.equal(keyIn(CONFIG, "nobody"), 'name config.yaml has no source "nobody": it has old, website, app');
  });

  it("is not there if no source is enabled, or none at all", () => {
    assert.equal(keyIn("sources: { a: { writeKey: k, enabled: false } }"), "file config.yaml has no enabled source");
    assert.equal(keyIn("destinations: {}"), "file config.yaml has no enabled source");
  });

  it("is not guessed where the file cannot be read", () => {
    assert.match(
      keyIn("sorces: { a: { writeKey: k } }"),
      /^file .*\n.*sorces is not a known key: did you mean sources\?/,
    );
    assert.match(keyIn("sources: 5"), /^file .*\n.*sources must be a map/);
    assert.match(keyIn("sources: { website: 5 }"), /^file .*\n.*sources\.website must be a map/);
    assert.match(keyIn("sources:\n  website:\n    writeKey: [\n"), /^file cannot use config\.yaml:\nconfig\.yaml:\d/);
    assert.match(keyIn(""), /^file .*\n.*the file is empty/);
  });
});

describe("where calls go", () => {
  it("is a Problem with its place, if the config says it wrong", () => {
    const listen = open("ingest: { listen: 8080 }").ingestListen();
    assert.ok("faulty" in listen);
    assert.equal(listen.faulty, "file");
    assert.match(listen.message, /^cannot use config\.yaml:\nconfig\.yaml:1:19: ingest\.listen must/);
  });

  it("does not depend on a source that is wrong", () => {
    const listen = open("sources: { website: 5 }").ingestListen();
    assert.deepEqual(listen, { kind: "tcp", host: "127.0.0.1", port: 8080 });
  });
});
