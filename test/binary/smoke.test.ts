import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readdir } from "node:fs/promises";
import { describe, it } from "node:test";
import { startPlace } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, SECRET } from "./world.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m-1" };

describe("the binary, in an empty folder", () => {
  it("says its version", PATIENT, async () => {
    await using w = await makeWorld();
    const version = w.run(["version"]);
    assert.deepEqual(await version.exit, { code: 0, signal: null });
    assert.match(version.out.join("\n"), /^fairlead \d+\.\d+\.\d+ \(bun \d+\.\d+\.\d+, \w+-\w+\)$/);
  });

  it("exits 2 on a command that it does not know", PATIENT, async () => {
    await using w = await makeWorld();
    const process = w.run(["serv"]);
    assert.equal((await process.exit).code, 2);
    assert.match(process.err.join("\n"), /unknown command 'serv'/);
  });

  it("exits 78 without a config file, and says how to get one", PATIENT, async () => {
    await using w = await makeWorld();
    const process = w.run(["serve"]);
    assert.equal((await process.exit).code, 78);
    assert.match(process.err.join("\n"), /there is no config file; name one with --config, or write \.\/config\.yaml/);
  });

  it("finds a good config good", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks" }));
    const check = w.run(["check"]);
    assert.equal((await check.exit).code, 0);
    assert.deepEqual(check.out, ["config.yaml is valid: 1 source, 1 destination, 1 webhook"]);
  });

  it("says where its dashboard is, in words and in the log, unless it is turned off", PATIENT, async () => {
    await using w = await makeWorld();
    const config = makeConfig({ url: "http://127.0.0.1:9/hooks" });
    await w.write("config.yaml", config);
    const { process, admin } = await w.serve();
    assert.equal(await process.line(/^dashboard /), `dashboard ${admin}/`);
    assert.ok((await process.line(/daemon\.started/)).includes(` dashboard=${admin}/ `));
    await w.write("off.yaml", config.replace('"admin":{', '"outbox":{"path":"off.db"},"admin":{"dashboard":false,'));
    const off = w.run(["serve", "--config", "off.yaml"]);
    assert.doesNotMatch(await off.line(/daemon\.started/), /dashboard/);
    assert.deepEqual(
      off.out.filter((line) => line.startsWith("dashboard")),
      [],
    );
  });

  for (const command of ["check", "serve"]) {
    it(`exits 78 from ${command} on a broken config, and names the place`, PATIENT, async () => {
      await using w = await makeWorld();
      await w.write("config.yaml", "sources:\n  website:\n    writeKee: k\n");
      const process = w.run([command, "--config", "config.yaml"]);
      assert.equal((await process.exit).code, 78);
      assert.match(process.err.join("\n"), /^config\.yaml:3:5: /m);
    });
  }

  it("takes a call, sends a signed webhook, stops on SIGTERM, and leaves the outbox", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w, daemon } = place;
    const answer = await daemon.call("/v1/track", TRACK);
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), { success: true, accepted: 1, duplicate: 0 });

    const [hook] = await receiver.count(1);
    assert.equal(hook?.headers.get("user-agent"), "Fairlead/1.0");
    assert.equal(hook?.headers.get("content-type"), "application/json");
    assert.equal(hook?.headers.get("x-team"), "growth");
    const signature = createHmac("sha1", SECRET)
      .update(hook?.body ?? "")
      .digest("hex");
    assert.equal(hook?.headers.get("x-signature"), signature);
    assert.match(hook?.body ?? "", /^{"version":1,"type":"track","userId":"u1","event":"Signed Up","properties":{},/);

    daemon.process.kill("SIGTERM");
    assert.deepEqual(await daemon.process.exit, { code: 0, signal: null });
    assert.deepEqual(
      (await w.rows()).map(({ state }) => state),
      ["delivered"],
    );
    assert.equal(receiver.hooks.length, 1);
    assert.deepEqual(
      daemon.process.err.filter((line) => !line.includes("level=info")),
      [],
    );
  });

  it("is alive, ready and measured while it runs", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks" }));
    const { admin } = await w.serve();
    for (const [path, status] of [
      ["/healthz", "alive"],
      ["/readyz", "ready"],
    ]) {
      const answer = await fetch(`${admin}${path}`);
      assert.equal(answer.status, 200);
      assert.deepEqual(await answer.json(), { status });
    }
    assert.match(await (await fetch(`${admin}/metrics`)).text(), /^fairlead_build_info{.*version="\d/m);
  });

  it("does not open an outbox that another daemon has open, and names that one's pid", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks" }));
    const first = await w.serve();
    const second = w.run(["serve", "--config", "config.yaml"]);
    assert.equal((await second.exit).code, 1);
    assert.match(second.err.join("\n"), new RegExp(`another Fairlead \\(pid ${first.process.pid}\\) has it open`));
    assert.equal((await first.call("/v1/track", TRACK)).status, 200);
  });
});

describe("what lies in the binary's working folder", () => {
  it("is not run, and is not taken for its environment", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write(".env", "WEBSITE_KEY=from-dotenv\nFAIRLEAD_CONFIG=nowhere.yaml\n");
    await w.write("bunfig.toml", 'preload = ["./planted.ts"]\n');
    await w.write("planted.ts", `await Bun.write("${w.path("planted-ran")}", "");\n`);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference, as the config file has it.
    const writeKey = "${WEBSITE_KEY:-test-key}";
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks", writeKey }));
    const daemon = await w.serve();
    assert.equal((await daemon.call("/v1/track", TRACK)).status, 200);
    assert.equal(await w.run(["check"]).line(/valid/), "config.yaml is valid: 1 source, 1 destination, 1 webhook");
    assert.ok(!(await readdir(w.folder)).includes("planted-ran"));
  });

  it("would be run if the binary were compiled without care", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("bunfig.toml", 'preload = ["./planted.ts"]\n');
    await w.write("planted.ts", `await Bun.write("${w.path("planted-ran")}", "");\n`);
    await w.write("main.ts", "");
    const options = { cwd: w.folder };
    const build = Bun.spawnSync([process.execPath, "build", "--compile", "--outfile", "careless", "main.ts"], options);
    assert.equal(build.exitCode, 0, build.stderr.toString());
    Bun.spawnSync([w.path("careless")], options);
    assert.ok((await readdir(w.folder)).includes("planted-ran"));
  });
});
