// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { chmod, mkdir } from "node:fs/promises";
import { describe, it } from "node:test";
import { isInOpenFolders } from "../../src/runtime/stored-file.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { type Receiver, startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { KEY, makeWorld, SECRET, type World } from "./world.ts";

type Finding = { readonly check: string; readonly level: string; readonly code: string; readonly what: string };

/** A folder that others may enter, with a config whose secret is in a file. */
async function makeInstallation(receiver: Receiver): Promise<World> {
  const w = await makeWorld();
  await chmod(w.folder, 0o755);
  await w.write("secret", SECRET);
  const config = {
    ingest: { listen: "127.0.0.1:0" },
    admin: { listen: `unix:${w.path("admin.sock")}` },
    log: { format: "logfmt" },
    // As in a unit's EnvironmentFile: who looks from a shell does not have it.
    sources: { website: { writeKey: `\${${"WEBSITE_KEY"}}` } },
    destinations: { crm: { webhooks: [{ url: `${receiver.url}/secret-path` }], sharedSecret: `\${${"file:secret"}}` } },
  };
  await w.write("config.yaml", JSON.stringify(config));
  return w;
}

type Said = { readonly code: number | null; readonly text: string; readonly findings: readonly Finding[] };

async function examine(w: World, env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const process = w.run(["doctor", "--json", "--full", "--config", "config.yaml"], { env });
  const { code } = await process.exit;
  const text = [...process.out, ...process.err].join("\n");
  return { code, text, findings: JSON.parse(process.out.join("\n")).findings };
}

/** What is not well, as `error secrets readable_by_all`. The clock of the machine that tests run on is its own affair. */
function bad({ findings }: Said): readonly string[] {
  const found = findings.filter(({ level, check }) => level !== "ok" && check !== "clock");
  return found.map(({ check, level, code }) => `${level} ${check} ${code}`).sort();
}

describe("fairlead doctor", () => {
  it("finds nothing wrong with an installation that runs, and sends nothing to a receiver", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeInstallation(receiver);
    const env = { WEBSITE_KEY: KEY };
    const daemon = await w.serve({ env });
    const said = await examine(w, env);
    assert.deepEqual(bad(said), [], said.text);
    assert.equal(said.code, 0);
    const checks = new Set(said.findings.map(({ check }) => check));
    assert.deepEqual([...checks], ["config", "secrets", "store", "disk", "clock", "files", "daemon", "webhooks"]);
    assert.match(said.text, new RegExp(`process ${daemon.process.pid} runs this version`));
    assert.equal(receiver.hooks.length, 0);
    assert.equal((await daemon.call("/v1/track", { userId: "u1", event: "E" })).status, 200);
  });

  it("looks at who can read the included files that have secrets", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeInstallation(receiver);
    await mkdir(w.path("conf.d"));
    await w.write("conf.d/app.yaml", "sources: { app: { writeKey: app-key } }\n");
    await w.write("conf.d/off.yaml", "sources: { off: { writeKey: '${WEBSITE_KEY:-a}', enabled: false } }\n");
    for (const name of ["app", "off"]) await chmod(w.path(`conf.d/${name}.yaml`), 0o644);
    const config = JSON.parse(await w.read("config.yaml"));
    await w.write("config.yaml", JSON.stringify({ ...config, include: ["conf.d/*.yaml"] }));
    const { findings } = await examine(w, { WEBSITE_KEY: KEY });
    const open = findings.filter(({ code }) => code === "readable_by_all").map(({ what }) => what);
    assert.deepEqual(
      open.map((what) => what.includes(w.path("conf.d/app.yaml"))),
      isInOpenFolders(w.path("secret")) ? [true] : [],
    );
  });

  it("finds what is wrong, exits with 1, and shows no secret", PATIENT, async () => {
    const receiver = startReceiver();
    await using w = await makeInstallation(receiver);
    await receiver[Symbol.asyncDispose]();
    await chmod(w.path("secret"), 0o644);
    await w.write("config.yaml", `${await w.read("config.yaml")}\n`);
    const said = await examine(w);
    assert.deepEqual(bad(said), [
      "error config config_invalid",
      // Where the folder of temporary files is closed to others, nobody can read it.
      ...(isInOpenFolders(w.path("secret")) ? ["error secrets readable_by_all"] : []),
      "error webhooks webhook_unreachable",
      "warning daemon daemon_down",
      "warning store store_missing",
    ]);
    assert.equal(said.code, 1);
    for (const secret of [SECRET, KEY, "secret-path"]) assert.ok(!said.text.includes(secret), said.text);
  });

  it(
    "takes no variable for missing that the running daemon has, and finds an outbox that is damaged",
    PATIENT,
    async () => {
      await using receiver = startReceiver();
      await using w = await makeInstallation(receiver);
      const daemon = await w.serve({ env: { WEBSITE_KEY: KEY } });
      assert.deepEqual(bad(await examine(w)), ["warning config config_unlike_here"]);
      daemon.process.kill("SIGTERM");
      await daemon.process.exit;
      const db = await openDatabase(w.path("fairlead.db"));
      db.unsafeMode();
      db.pragma("writable_schema = ON");
      // Its pages are nobody's then.
      db.exec("DELETE FROM sqlite_schema WHERE name = 'tried_due'");
      db.close();
      const said = await examine(w, { WEBSITE_KEY: KEY });
      assert.deepEqual(bad(said), ["error store store_damaged", "warning daemon daemon_down"]);
      assert.match(said.text, /never used/);
    },
  );

  it("says for people what to do", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeInstallation(receiver);
    const process = w.run(["doctor", "--config", "nowhere.yaml"]);
    assert.equal((await process.exit).code, 1);
    assert.match(
      process.out.join("\n"),
      /^error {4}config {4}cannot read the config file nowhere\.yaml: no such file \[config_unreadable\]\n {19}→ name it/,
    );
  });
});
