import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { NAME } from "../../packaging/image.ts";
import { findBinary, ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { KEY, makeConfig, makeWorld, postCall, type World } from "../binary/world.ts";
import { MISSING, makeSystemdWorld } from "./systemd-world.ts";

const FOLDER = join(ROOT, "packaging/cluster");
const UNITS = join(ROOT, "packaging/systemd");
const compose = parse(readFileSync(join(FOLDER, "compose.yaml"), "utf8"), { merge: true });
const config = parse(readFileSync(join(FOLDER, "fairlead/config.yaml"), "utf8"));

const NEEDING_SYSTEMD = { ...PATIENT, skip: MISSING };
// biome-ignore lint/suspicious/noTemplateCurlyInString: a reference, as the config has it.
const INSTANCE = "${INSTANCE}";

function needing(command: string, argument: string) {
  const isThere = spawnSync(command, [argument]).status === 0;
  return { ...PATIENT, skip: isThere ? false : `there is no ${command} on this machine` };
}

/** The lines of a unit that mean something. */
function directivesOf(name: string): readonly string[] {
  return readFileSync(join(UNITS, name), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

describe("fairlead@.service", () => {
  it("differs from fairlead.service only in what belongs to one of several", () => {
    const [one, many] = [directivesOf("fairlead.service"), directivesOf("fairlead@.service")];
    assert.deepEqual(
      many.filter((line) => !one.includes(line)),
      [
        "Description=Fairlead event router, daemon %i",
        "After=network.target nss-lookup.target postgresql.service",
        "Environment=INSTANCE=%i",
        "RuntimeDirectory=fairlead-%i",
      ],
    );
    assert.deepEqual(
      one.filter((line) => !many.includes(line)),
      [
        "Description=Fairlead event router",
        "After=network.target nss-lookup.target",
        "StateDirectory=fairlead",
        "StateDirectoryMode=0700",
        "RuntimeDirectory=fairlead",
      ],
    );
  });

  it("is valid", needing("systemd-analyze", "--version"), async () => {
    await using w = await makeWorld();
    const unit = readFileSync(join(UNITS, "fairlead@.service"), "utf8");
    await w.write("fairlead@.service", unit.replaceAll("/usr/bin/fairlead", findBinary()));
    const verify = start("systemd-analyze", ["verify", w.path("fairlead@1.service")], {
      env: { PATH: process.env.PATH },
    });
    assert.deepEqual(await verify.exit, { code: 0, signal: null });
    assert.deepEqual(verify.err, []);
  });

  it("runs several on one port, each with a socket of its own", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    w.do("cp", join(UNITS, "fairlead@.service"), "/etc/systemd/system/");
    w.do("systemctl", "daemon-reload");
    const [host] = makeHosts();
    await w.configure({
      ingest: { listen: `${host}:8080`, reusePort: true },
      admin: { listen: `unix:/run/fairlead-${INSTANCE}/admin.sock` },
      // Not shared, for there is no database here.
      outbox: { path: `/var/cache/fairlead/${INSTANCE}.db` },
      sources: { website: { writeKey: KEY } },
      destinations: { crm: { webhooks: [{ url: "http://127.0.0.1:9/hooks" }] } },
    });
    w.do("systemctl", "start", "fairlead@1", "fairlead@2");
    const status = (nth: number) => w.run("env", `INSTANCE=${nth}`, "fairlead", "status");
    for (const nth of [1, 2]) assert.match(status(nth).text, new RegExp(`/${nth}\\.db`));
    w.do("systemctl", "stop", "fairlead@1");
    assert.equal(status(1).code, 1);
    assert.equal(status(2).code, 0);
  });
});

describe("the compose file of a cluster", () => {
  const { caddy, postgres, ...daemons } = compose.services;

  it("names files that are there, and the addresses that the config and Caddy have", () => {
    const [mounted] = caddy.volumes.map((volume: string) => volume.split(":")[0]);
    assert.ok(existsSync(join(FOLDER, mounted)));
    const [{ subnet }] = compose.networks.default.ipam.config;
    assert.deepEqual(config.ingest.trustedProxies, [subnet]);
    const [, ports] = [config.ingest, config.admin].map(({ listen }) => listen.split(":")[1]);
    const caddyfile = readFileSync(join(FOLDER, "Caddyfile"), "utf8");
    assert.ok(
      caddyfile.includes(
        `\t\tto ${Object.keys(daemons)
          .map((name) => `${name}:8080`)
          .join(" ")}\n`,
      ),
    );
    assert.ok(caddyfile.includes(`\t\thealth_port ${ports}\n`));
    assert.equal(new URL(config.outbox.url.replace(/\$\{.*?\}/, "p")).hostname, "postgres");
    assert.equal(postgres.environment.POSTGRES_USER, "fairlead");
  });

  it("runs the image of this version", () => {
    for (const { image } of Object.values(daemons) as { image: string }[]) assert.equal(image, NAME);
  });

  it("hands over all that the config refers to, and the config is valid", PATIENT, async () => {
    for (const { environment, volumes } of Object.values(daemons) as { environment: object; volumes: string[] }[]) {
      const env = Object.fromEntries(Object.keys(environment).map((name) => [name, "a-value-of-many-letters"]));
      const file = join(FOLDER, volumes[0]?.split(":")[0] ?? "", "config.yaml");
      const check = start(findBinary(), ["check", "--config", file], { env });
      assert.deepEqual(await check.exit, { code: 0, signal: null });
      assert.deepEqual(check.err, []);
    }
  });
});

/** Three addresses of loopback that nobody else uses, so that all can have the ports of the files. */
function makeHosts(): readonly string[] {
  const net = `127.${randomInt(100, 200)}.${randomInt(1, 255)}`;
  return [1, 2, 3].map((nth) => `${net}.${nth}`);
}

async function startCaddy(w: World, own: string, upstreams: readonly string[]): Promise<Process> {
  const site = readFileSync(join(FOLDER, "Caddyfile"), "utf8")
    .replace("events.example.com {", `http://${own}:8080 {\n\tbind ${own}`)
    .replace(/(?<=\t\tto ).*/, upstreams.map((host) => `${host}:8080`).join(" "));
  await w.write("Caddyfile", `{\n\tadmin off\n\tauto_https off\n}\n${site}`);
  const env = { PATH: process.env.PATH, HOME: w.folder };
  const caddy = start("caddy", ["run", "--config", "Caddyfile", "--adapter", "caddyfile"], { folder: w.folder, env });
  await caddy.line(/serving initial configuration/);
  return caddy;
}

async function send(host: string, nth: number): Promise<number> {
  const { status } = await postCall(`http://${host}:8080/v1/track`, { userId: "u", event: "E", messageId: `m-${nth}` });
  return status;
}

describe("the Caddyfile of a cluster", () => {
  it("leads calls to the daemons that are there", needing("caddy", "version"), async () => {
    await using receiver = startReceiver();
    const [own = "", ...hosts] = makeHosts();
    await using one = await makeWorld();
    await using other = await makeWorld();
    const daemons = [];
    for (const [nth, w] of [one, other].entries()) {
      const place = { ingest: `${hosts[nth]}:8080`, admin: `${hosts[nth]}:8081` };
      await w.write("config.yaml", makeConfig({ url: receiver.url, ...place }));
      daemons.push(await w.serve());
    }
    await using caddy = await startCaddy(one, own, hosts);
    for (let nth = 0; nth < 10; nth++) assert.equal(await send(own, nth), 200);
    daemons[0]?.process.kill("SIGKILL");
    await daemons[0]?.process.exit;
    await caddy.line(/health_checker\.active.*request failed.*connection refused/);
    for (let nth = 10; nth < 30; nth++) assert.equal(await send(own, nth), 200);
    const kept = Array.from({ length: 20 }, (_, nth) => `m-${10 + nth}`);
    await receiver.all(kept);
  });
});
