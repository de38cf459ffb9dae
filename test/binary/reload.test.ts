// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { mkdir, rename, rm, symlink } from "node:fs/promises";
import { describe, it } from "node:test";
import { verify } from "../../src/webhook/signature.ts";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

const NOWHERE = "http://127.0.0.1:9/hooks";
const CALL = { userId: "u1", event: "E" };

/** A config whose one source has this key. */
function configFor(writeKey: string): string {
  return makeConfig({ url: NOWHERE, writeKey });
}

/** The status that a call with this key is answered with. */
async function statusFor(writeKey: string, daemon: Daemon): Promise<number> {
  const headers = { Authorization: `Basic ${btoa(`${writeKey}:`)}` };
  const answer = await fetch(`${daemon.ingest}/v1/track`, { method: "POST", headers, body: JSON.stringify(CALL) });
  return answer.status;
}

async function runReload(w: World, daemon: Daemon) {
  const process = w.run(["reload", "--admin", daemon.admin]);
  const { code } = await process.exit;
  return { code, out: process.out.join("\n"), err: process.err.join("\n") };
}

describe("a config file that changes under a running daemon", () => {
  const ways: Readonly<Record<string, (w: World) => Promise<void>>> = {
    "is written in place": (w) => w.write("config.yaml", configFor("new")),
    "is replaced by rename, as editors and sed -i do": async (w) => {
      await w.write(".config.yaml.swp", configFor("new"));
      await rename(w.path(".config.yaml.swp"), w.path("config.yaml"));
    },
    "is moved away first, as vim does": async (w) => {
      await rename(w.path("config.yaml"), w.path("config.yaml~"));
      await w.write("config.yaml", configFor("new"));
    },
    "is emptied and then written": async (w) => {
      await w.write("config.yaml", "");
      await w.write("config.yaml", configFor("new"));
    },
  };

  for (const [way, change] of Object.entries(ways)) {
    it(`is read anew when it ${way}`, PATIENT, async () => {
      await using w = await makeWorld();
      await w.write("config.yaml", configFor("old"));
      const daemon = await w.serve();
      assert.equal(await statusFor("old", daemon), 200);
      await change(w);
      assert.match(await daemon.process.line(/daemon\.reloaded/), /changes="?source website: write key changed/);
      assert.deepEqual([await statusFor("new", daemon), await statusFor("old", daemon)], [200, 401]);
    });
  }

  it("is read anew when a symbolic link above it is swapped, as Kubernetes does", PATIENT, async () => {
    await using w = await makeWorld();
    for (const [version, key] of [["v1", "old"] as const, ["v2", "new"] as const]) {
      await mkdir(w.path(version));
      await w.write(`${version}/config.yaml`, configFor(key));
    }
    await symlink("v1", w.path("data"));
    await symlink("data/config.yaml", w.path("config.yaml"));
    const daemon = await w.serve();
    await symlink("v2", w.path("next"));
    await rename(w.path("next"), w.path("data"));
    await daemon.process.line(/daemon\.reloaded/);
    assert.equal(await statusFor("new", daemon), 200);
  });

  it(
    "keeps its last good state while the file is bad or gone, and goes on when it is good again",
    PATIENT,
    async () => {
      await using w = await makeWorld();
      await w.write("config.yaml", configFor("old"));
      const daemon = await w.serve();
      await w.write("config.yaml", `${configFor("new")}\nnonsense`);
      await daemon.process.line(/daemon\.reload_failed/);
      assert.equal(await statusFor("old", daemon), 200);
      assert.match(await metric(daemon), /fairlead_config_last_reload_successful 0/);
      await rm(w.path("config.yaml"));
      const [, gone = ""] = await daemon.process.lines(/daemon\.reload_failed/, 2);
      assert.match(gone, /no such file/);
      assert.equal(await statusFor("old", daemon), 200);
      await w.write("config.yaml", configFor("new"));
      await daemon.process.line(/daemon\.reloaded/);
      assert.equal(await statusFor("new", daemon), 200);
      assert.match(await metric(daemon), /fairlead_config_last_reload_successful 1/);
    },
  );

  it("takes a secret that changes in a file of its own: later requests are signed with it", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    const config = JSON.parse(makeConfig({ url: receiver.url }));
    config.destinations.crm.sharedSecret = "${file:secret}";
    await w.write("secret", "first\n");
    await w.write("config.yaml", JSON.stringify(config));
    const daemon = await w.serve();
    await daemon.call("/v1/track", CALL);
    await receiver.count(1);
    await w.write("secret", "second\n");
    const line = await daemon.process.line(/daemon\.reloaded/);
    assert.match(line, /destination crm: secret changed/);
    await daemon.call("/v1/track", CALL);
    await receiver.count(2);
    const signers = receiver.hooks.map(({ headers, body }) =>
      ["first", "second"].find((secret) => verify(body, headers.get("x-signature") ?? "", secret)),
    );
    assert.deepEqual(signers, ["first", "second"]);
    assert.doesNotMatch(daemon.process.err.join("\n"), /first|second/);
  });
});

describe("the files that a config includes, under a running daemon", () => {
  const sourceOf = (name: string) => `sources:\n  ${name}:\n    writeKey: ${name}\n`;

  const MAIN = JSON.stringify({ include: ["conf.d/*.yaml"], ...JSON.parse(configFor("main")) });

  async function start(w: World): Promise<Daemon> {
    await w.write("config.yaml", MAIN);
    await mkdir(w.path("conf.d"));
    await w.write("conf.d/one.yaml", sourceOf("one"));
    const daemon = await w.serve();
    assert.deepEqual([await statusFor("main", daemon), await statusFor("one", daemon)], [200, 200]);
    return daemon;
  }

  it("count when one is added, changed and removed", PATIENT, async () => {
    await using w = await makeWorld();
    const daemon = await start(w);
    await w.write("conf.d/.two.yaml.new", sourceOf("two"));
    await rename(w.path("conf.d/.two.yaml.new"), w.path("conf.d/two.yaml"));
    assert.match(await daemon.process.line(/daemon\.reloaded/), /changes="?source two added/);
    assert.equal(await statusFor("two", daemon), 200);
    await w.write("conf.d/two.yaml", sourceOf("two").replace("Key: two", "Key: other"));
    await daemon.process.line(/daemon\.reloaded.*source two: write key changed/);
    await rm(w.path("conf.d/one.yaml"));
    await daemon.process.line(/daemon\.reloaded.*source one removed/);
    assert.deepEqual([await statusFor("one", daemon), await statusFor("other", daemon)], [401, 200]);
  });

  it("are refused with all others if one is broken, which is named, and count once it is fixed", PATIENT, async () => {
    await using w = await makeWorld();
    const daemon = await start(w);
    await rm(w.path("conf.d/one.yaml"));
    await w.write("conf.d/two.yaml", `# two\n${sourceOf("two").replace("writeKey", "writeky")}`);
    const problem = await daemon.process.line(/daemon\.config_problem/);
    assert.match(problem, /config=\S*conf\.d\/two\.yaml line=4 column=5 key=sources\.two\.writeky/);
    await daemon.process.line(/daemon\.reload_failed.*the old config stays in force/);
    assert.deepEqual([await statusFor("one", daemon), await statusFor("two", daemon)], [200, 401]);
    const { err } = await runReload(w, daemon);
    assert.match(err, /conf\.d\/two\.yaml:4:5: sources\.two\.writeky: is not a known key: did you mean writeKey\?/);
    await w.write("conf.d/two.yaml", sourceOf("two"));
    await daemon.process.line(/daemon\.reloaded.*source two added/);
    assert.deepEqual([await statusFor("one", daemon), await statusFor("two", daemon)], [401, 200]);
  });

  it("are swapped all at once below a symbolic link, as Kubernetes does", PATIENT, async () => {
    await using w = await makeWorld();
    for (const version of ["v1", "v2"]) {
      await mkdir(w.path(version));
      await w.write(`${version}/one.yaml`, sourceOf(version));
    }
    await mkdir(w.path("conf.d"));
    await symlink("../v1", w.path("conf.d/..data"));
    await symlink("..data/one.yaml", w.path("conf.d/one.yaml"));
    await w.write("config.yaml", MAIN);
    const daemon = await w.serve();
    assert.equal(await statusFor("v1", daemon), 200);
    await symlink("../v2", w.path("conf.d/..next"));
    await rename(w.path("conf.d/..next"), w.path("conf.d/..data"));
    await daemon.process.line(/daemon\.reloaded/);
    assert.deepEqual([await statusFor("v1", daemon), await statusFor("v2", daemon)], [401, 200]);
  });
});

describe("fairlead reload", () => {
  it("says what is different, and what has to wait for a restart", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", configFor("old"));
    const daemon = await w.serve();
    assert.deepEqual(await runReload(w, daemon), { code: 0, out: "Reloaded: no changes.", err: "" });
    const config = JSON.parse(configFor("new"));
    config.ingest.listen = "127.0.0.1:1";
    config.sources.app = { writeKey: "app-key" };
    await w.write("config.yaml", JSON.stringify(config));
    const { code, out } = await runReload(w, daemon);
    assert.equal(code, 0);
    assert.match(out, /^ {2}source website: write key changed\n {2}source app added$/m);
    assert.match(out, /^ {2}ingest\.listen$/m);
  });

  it("says all that is wrong with a bad config, and ends with 78", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", configFor("old"));
    const daemon = await w.serve();
    await w.write("config.yaml", "sources:\n  website: { writeKey: k, enabld: true }\ndestinations: {}\nlog: 5\n");
    const { code, out, err } = await runReload(w, daemon);
    assert.deepEqual([code, out], [78, ""]);
    assert.match(err, /^config\.yaml:2:\d+: .*enabld.*did you mean enabled\?/m);
    assert.match(err, /^config\.yaml:4:\d+: /m);
    assert.match(err, /the old config stays in force/);
    assert.equal(await statusFor("old", daemon), 200);
  });
});

describe("GET /api/config", () => {
  it(
    "shows the config in force without its secrets, while the file has another one or a bad one",
    PATIENT,
    async () => {
      await using w = await makeWorld();
      const config = JSON.parse(configFor("old-key"));
      const write = (maxSize: string) =>
        w.write("config.yaml", JSON.stringify({ ...config, outbox: { maxSize, path: "outbox.db" } }));
      await write("100MB");
      const daemon = await w.serve();
      assert.match(await shownConfig(daemon), /^ {2}maxSize: 100MB +# config\.yaml:1$/m);
      await write("200MB");
      await runReload(w, daemon);
      const before = await shownConfig(daemon);
      assert.match(before, /^ {2}maxSize: 200MB/m);
      await w.write("config.yaml", "nonsense");
      await runReload(w, daemon);
      assert.equal(await shownConfig(daemon), before);
      config.ingest.listen = "127.0.0.1:1";
      await write("200MB");
      await runReload(w, daemon);
      assert.match(
        await shownConfig(daemon),
        /^# ingest\.listen has changed: the old value is in force until a restart\.\n\n/,
      );
    },
  );
});

async function shownConfig({ admin }: Daemon): Promise<string> {
  const { file, text } = (await (await fetch(`${admin}/api/config`)).json()) as { file: string; text: string };
  assert.match(file, /config\.yaml$/);
  assert.doesNotMatch(text, /old-key|growth/);
  assert.match(text, /^ {4}writeKey: "\*\*\*" /m);
  return text;
}

describe("fairlead status", () => {
  it("says how the daemon is, what fails and why, and that a bad config is not in force", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", configFor("old"));
    const daemon = await w.serve();
    assert.equal(await statusFor("old", daemon), 200);
    await daemon.process.line(/attempt\.failed/);
    await w.write("config.yaml", "nonsense");
    await runReload(w, daemon);
    const process = w.run(["status", "--admin", daemon.admin]);
    assert.equal((await process.exit).code, 0);
    const said = process.out.join("\n");
    assert.match(said, /^ {9}REFUSED \S+ ago: the config has errors$/m);
    assert.match(said, /^website {2}0\.02 {5}\S+ ago$/m);
    assert.match(said, /^crm {10}failing for \S+ +0 +1 /m);
    assert.match(
      said,
      /^ {2}! \[\S+\] crm: http:\/\/127\.0\.0\.1:9\/hooks accepts nothing \(connection refused\), 1 delivery waits/m,
    );
  });
});

async function metric({ admin }: Daemon): Promise<string> {
  return (await fetch(`${admin}/metrics`)).text();
}
