// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readAdminPart, readIngestPart, readOutboxPart, readWriteKey } from "../../src/config/parts.ts";
import { Secret } from "../../src/model/secret.ts";
import { GB, MB } from "../../src/model/units.ts";
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

function ingest(text: string) {
  return readIngestPart({ file: "config.yaml", text, resolve: worldOf() });
}

function keyIn(text: string, source?: string, world: World = {}): string {
  const key = readWriteKey(source, { file: "config.yaml", text, resolve: worldOf(world) });
  return key instanceof Secret ? `key ${key.reveal()}` : `${key.faulty} ${key.message}`;
}

const env = { WEBSITE_KEY: "key-1" };

describe("the parts of a config that a client of the daemon needs", () => {
  it("are found although a secret of another part is only there for the daemon", () => {
    assert.equal(keyIn(CONFIG, undefined, { env }), "key key-1");
    const listen = { kind: "unix", path: "/run/fairlead/ingest.sock" };
    assert.deepEqual(ingest(CONFIG), { listen, tls: false });
    assert.deepEqual(ingest('ingest: { listen: "h:1", tls: { cert: a, key: b } }'), {
      listen: { kind: "tcp", host: "h", port: 1 },
      tls: true,
    });
  });

  it("are found although other parts are wrong", () => {
    const text = `${CONFIG}outbox: { path: 5, nonsense: 1 }\nnonsense: 1\n`;
    assert.equal(keyIn(text, undefined, { env }), "key key-1");
  });

  it("have their defaults", () => {
    const listen = ingest("sources: { a: { writeKey: k } }");
    assert.deepEqual(listen, { listen: { kind: "tcp", host: "127.0.0.1", port: 8080 }, tls: false });
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
    const message = "sources.website.writeKey: needs the environment variable WEBSITE_KEY, which is not set";
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
      /^file .*\n.*sorces: is not a known key: did you mean sources\?/,
    );
    assert.match(keyIn("sources: 5"), /^file .*\n.*sources: must be a map/);
    assert.match(keyIn("sources: { website: 5 }"), /^file .*\n.*sources\.website: must be a map/);
    assert.match(keyIn("sources:\n  website:\n    writeKey: [\n"), /^file cannot use config\.yaml:\nconfig\.yaml:\d/);
    assert.match(keyIn(""), /^file .*\n.*the file is empty/);
  });
});

describe("where calls go", () => {
  it("is a Problem with its place, if the config says it wrong", () => {
    const listen = ingest("ingest: { listen: 8080 }");
    assert.ok("faulty" in listen);
    assert.equal(listen.faulty, "file");
    assert.match(listen.message, /^cannot use config\.yaml:\nconfig\.yaml:1:19: ingest\.listen: must/);
  });

  it("does not depend on a source that is wrong", () => {
    const listen = ingest("sources: { website: 5 }");
    assert.deepEqual(listen, { listen: { kind: "tcp", host: "127.0.0.1", port: 8080 }, tls: false });
  });
});

describe("the operator's API in a config", () => {
  const admin = (text: string, world: World = {}) =>
    readAdminPart({ file: "config.yaml", text, resolve: worldOf(world) });

  it("is where the file says, or at the default, and it is known which", () => {
    const listen = { kind: "unix", path: "/run/a.sock" };
    assert.deepEqual(admin("admin: { listen: 'unix:/run/a.sock' }").listen, { listen, written: true });
    const byDefault = { kind: "tcp", host: "127.0.0.1", port: 8081 };
    for (const text of ["admin: {}", "admin:", "sources: {}"]) {
      assert.deepEqual(admin(text).listen, { listen: byDefault, written: false });
    }
  });

  it("has a token, or none", () => {
    const token = admin('admin: { token: "${ADMIN_TOKEN}" }', { env: { ADMIN_TOKEN: "t1" } }).token;
    assert.ok(token instanceof Secret);
    assert.equal(token.reveal(), "t1");
    assert.equal(admin("sources: {}").token, null);
  });

  it("has its own references resolved, and no others", () => {
    const text = `
admin: { token: "\${ADMIN_TOKEN}" }
sources: { website: { writeKey: "\${WEBSITE_KEY}" } }
destinations:
  crm: { webhooks: [{ url: "https://example.com/" }], sharedSecret: "\${file:/secret}\${credential:c}" }
`;
    const asked: string[] = [];
    const ask = (name: string) => void asked.push(name);
    const resolve = { env: ask, file: fail, folder: fail, credential: fail };
    assert.match(wrong(readAdminPart({ file: "config.yaml", text, resolve }).token), /ADMIN_TOKEN, which is not set/);
    assert.deepEqual(asked, ["ADMIN_TOKEN"]);
  });

  it("does not suffer from what is wrong elsewhere", () => {
    const text =
      "nonsense: 1\nsources: 5\noutbox: { path: 5, pth: x }\nadmin: { token: t }\ningest: &a { listen: 8 }\n";
    assert.ok(admin(text).token instanceof Secret);
  });

  it("is wrong with its place in the whole file", () => {
    const text = "\uFEFFsources: {}\nadmin:\n  listen: 8081\n  tokn: ${ADMIN_TOKEN}\n";
    assert.match(wrong(admin(text).listen), /\nconfig\.yaml:3:11: admin\.listen: must be .*\n {2} {2}listen: 8081\n/);
    assert.match(wrong(admin(text).token), /\nconfig\.yaml:4:3: admin\.tokn: is not a known key: did you mean token\?/);
    assert.match(wrong(admin("admin: {}\nadmin: {}").token), /:2:1: admin: is set twice: first in line 1/);
    assert.match(wrong(admin("- admin").token), /the file must hold keys/);
  });

  it("does not show a secret of its line in a Problem", () => {
    for (const text of [
      "admin: { token: hush-hush, listen: 5 }",
      "admin: { token: hush-hush, listen: [ }",
      "{ admin: { listen: 5 }, sources: { a: { writeKey: hush-hush } } }",
    ]) {
      const said = wrong(admin(text).listen);
      assert.match(said, /\^$/);
      assert.doesNotMatch(said, /hush/);
    }
  });

  it("is known although its token is not, and the other way round", () => {
    const tokenless = admin('admin: { listen: "127.0.0.1:1", token: "${ADMIN_TOKEN}" }');
    assert.ok("listen" in tokenless.listen);
    assert.match(wrong(tokenless.token), /^file cannot use config\.yaml:\nconfig\.yaml:1:.* variable ADMIN_TOKEN/);
    const lost = admin("admin: { listen: 8081, token: t }");
    assert.match(wrong(lost.listen), /^file cannot use config\.yaml:\nconfig\.yaml:1:18: admin\.listen: must be/);
    assert.ok(lost.token instanceof Secret);
  });

  it("is not guessed where a key is misspelt or the file cannot be read", () => {
    for (const text of ["admn: { listen: 'a:1' }", "admin: { lissten: 'a:1' }", "admin: 5", "", "admin: ["]) {
      assert.match(wrong(admin(text).listen), /^file cannot use config\.yaml:\nconfig\.yaml:1:/, text);
    }
    assert.match(wrong(admin("admin: { tokn: t }").token), /did you mean token\?/);
  });
});

describe("the outbox of a config", () => {
  const outbox = (text: string) => readOutboxPart({ file: "/etc/config.yaml", text, resolve: worldOf({}) });

  it("is where the file says, or at the default, whatever is wrong elsewhere", () => {
    const written = outbox('outbox: { path: data/o.db, maxSize: 2GB }\nsources: { w: { writeKey: "${UNKNOWN}" } }');
    assert.ok("path" in written);
    assert.deepEqual([written.path, written.maxSize], ["/etc/data/o.db", 2 * GB]);
    for (const text of ["outbox: {}", "outbox:", "sources: {}"]) {
      const found = outbox(text);
      assert.ok("path" in found, text);
      assert.deepEqual([found.path, found.maxSize, found.freeDisk], ["/etc/fairlead.db", GB, 64 * MB]);
    }
  });

  it("is not guessed where a key is misspelt or the file cannot be read", () => {
    for (const text of ["outbx: { path: o.db }", "outbox: { pth: o.db }", "outbox: { maxSize: much }", "outbox: ["]) {
      assert.match(wrong(outbox(text)), /^file cannot use \/etc\/config\.yaml:\n\/etc\/config\.yaml:1:/, text);
    }
  });
});

function fail(name: string): never {
  assert.fail(`${name} was asked for`);
}

function wrong(answer: object | null): string {
  assert.ok(answer !== null && "faulty" in answer && "message" in answer);
  return `${answer.faulty} ${answer.message}`;
}
