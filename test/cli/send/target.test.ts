import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { findTarget, type TargetOptions } from "../../../src/cli/send/target.ts";
import { type World, worldOf } from "../../config/world.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-target-"));
after(() => rmSync(folder, { recursive: true }));

function configWith(listen: string): string {
  const file = join(folder, `${listen.replace(/\W/g, "-")}.yaml`);
  writeFileSync(
    file,
    JSON.stringify({ ingest: { listen }, sources: { a: { writeKey: "ka" }, b: { writeKey: "kb" } } }),
  );
  return file;
}

function find(options: TargetOptions, world: World = {}): string {
  const target = findTarget(options, worldOf(world));
  return "code" in target ? `${target.code} ${target.message}` : `${target.base} ${target.writeKey.reveal()}`;
}

const config = configWith("0.0.0.0:8080");
const env = { FAIRLEAD_WRITE_KEY: "from-env" };
const URL_HERE = "http://127.0.0.1:9";

describe("where a call goes with a config", () => {
  it("is the listener over loopback, with the key of a source", () => {
    assert.equal(find({ config }), "http://127.0.0.1:8080 ka");
    assert.equal(find({ config, source: "b" }), "http://127.0.0.1:8080 kb");
    assert.equal(find({ config: configWith("unix:/run/f.sock") }), "unix:/run/f.sock ka");
  });

  it("is not changed by a key that is left in the environment", () => {
    assert.equal(find({ config }, { env }), "http://127.0.0.1:8080 ka");
  });

  it("is unknown if the config leaves the port to the system", () => {
    assert.match(
      find({ config: configWith("127.0.0.1:0") }),
      /^2 ingest\.listen has port 0, .* --url .*, and --source$/,
    );
  });

  it("is unknown without a file, and the other way is named", () => {
    const message = find({ config: join(folder, "none.yaml") });
    assert.match(message, /^78 cannot read the config file .*: no such file; or use --url/);
  });

  it("is refused with a key file, which would not be used", () => {
    assert.match(find({ config, writeKeyFile: "f" }), /^2 --write-key-file needs --url/);
  });
});

describe("where a call goes with --url", () => {
  it("is there, with the key of the environment, of a file, or of a source", () => {
    assert.equal(find({ url: URL_HERE }, { env }), `${URL_HERE} from-env`);
    assert.equal(
      find({ url: URL_HERE, writeKeyFile: "f" }, { env, files: { f: "from-file\n" } }),
      `${URL_HERE} from-file`,
    );
    assert.equal(find({ url: URL_HERE, config, source: "b" }, { env }), `${URL_HERE} kb`);
    assert.equal(find({ url: URL_HERE, config }, { env }), `${URL_HERE} ka`);
  });

  it("needs a key", () => {
    assert.match(find({ url: URL_HERE }), /^2 --url needs a write key: set \$FAIRLEAD_WRITE_KEY/);
    const unreadable = find({ url: URL_HERE, writeKeyFile: "f" }, { env });
    assert.equal(unreadable, "2 cannot read --write-key-file f: no such file");
  });

  it("takes the key of a file before that of a config, and refuses to choose between a file and a source", () => {
    const files = { f: "from-file" };
    assert.equal(find({ url: URL_HERE, writeKeyFile: "f", config }, { files }), `${URL_HERE} from-file`);
    const refusal = find({ url: URL_HERE, writeKeyFile: "f", config, source: "a" }, { files });
    assert.match(refusal, /^2 --source and --write-key-file both select a write key/);
  });

  it("may be a socket, or a path below a proxy", () => {
    assert.equal(find({ url: "unix:/run/f.sock" }, { env }), "unix:/run/f.sock from-env");
    assert.equal(find({ url: "https://example.com/events/" }, { env }), "https://example.com/events from-env");
    assert.equal(find({ url: "http://[::1]:9/" }, { env }), "http://[::1]:9 from-env");
  });

  it("is nothing else", () => {
    for (const url of [
      "127.0.0.1:8080",
      "localhost",
      "ftp://a",
      "http://",
      "http://a/?q=1",
      "http://a/#b",
      "unix:f",
      "",
    ]) {
      assert.match(find({ url }, { env }), /^2 --url must be http:\/\/host:port/, url);
    }
  });

  it("must not hold a password, and does not repeat it", () => {
    const message = find({ url: "http://user:pass-word@example.com/" }, { env });
    assert.match(message, /^2 --url must be/);
    assert.doesNotMatch(message, /pass-word/);
  });
});
