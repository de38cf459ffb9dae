import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { findBinary, ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { makeConfig, postCall } from "../binary/world.ts";

const FOLDER = join(ROOT, "packaging/docker");
const dockerfile = readFileSync(join(FOLDER, "Dockerfile"), "utf8");
const compose = parse(readFileSync(join(FOLDER, "compose.yaml"), "utf8"));
const NEEDING_ROOT = {
  ...PATIENT,
  skip: process.getuid?.() === 0 ? false : "only root can change its root, and mount",
};

/** The instructions of the image itself, not of what is made before it. */
const instructions = dockerfile
  .slice(dockerfile.lastIndexOf("\nFROM "))
  .split("\n")
  .filter((line) => /^[A-Z]+ /.test(line));

function argumentOf(instruction: string): string {
  return instructions.find((line) => line.startsWith(`${instruction} `))?.slice(instruction.length + 1) ?? "";
}

/** A command in the form without a shell, of which there is none. */
function commandOf(instruction: string): readonly string[] {
  return JSON.parse(argumentOf(instruction).replace(/^[^[]*/, ""));
}

const environment = Object.fromEntries(
  instructions
    .filter((line) => line.startsWith("ENV "))
    .map((line) => line.slice(4).split("=") as [name: string, value: string]),
);

/** What the image would hold, without an engine to make it. */
type Image = AsyncDisposable & {
  path(name: string): string;
  /** Starts a command in it, as its user and with its environment. */
  start(...command: readonly string[]): Process;
};

/**
 * In the place of distroless/cc there are the libraries that the binary and its SQLite are linked to, from this machine, and
 * a folder for temporary files: no shell, and no other program.
 */
async function makeImage(): Promise<Image> {
  const root = await mkdtemp(join(tmpdir(), "fairlead-image-"));
  const path = (name: string): string => join(root, name);
  const native = join(ROOT, `node_modules/better-sqlite3/prebuilds/linux-${process.arch}.node`);
  for (const file of librariesOf(findBinary(), native)) {
    mkdirSync(dirname(path(file)), { recursive: true });
    copyFileSync(file, path(file));
  }
  for (const name of ["/tmp", "/proc", "/dev", "/usr/bin", "/etc/fairlead"]) mkdirSync(path(name), { recursive: true });
  chmodSync(root, 0o755);
  copyFileSync(findBinary(), path("/usr/bin/fairlead"));
  const [uid = 0, gid = 0] = argumentOf("USER").split(":").map(Number);
  const volume = path(argumentOf("VOLUME"));
  mkdirSync(volume, { recursive: true });
  chmodSync(volume, 0o700);
  chownSync(volume, uid, gid);
  const processes: Process[] = [];
  return {
    path,
    start(...command) {
      const inside = [CONTAIN, root, argumentOf("VOLUME"), argumentOf("USER"), ...command];
      const all = ["--mount", "--propagation", "private", "sh", "-euc", ...inside];
      const started = start("unshare", all, { env: { PATH: process.env.PATH, ...environment } });
      processes.push(started);
      return started;
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes) await one[Symbol.asyncDispose]();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** As the compose file has it: only the volume and a small /tmp (noexec) can be written. $0: the root; then volume, user, command. */
const CONTAIN = `
volume=$1 user=$2
shift 2
mount --bind "$0" "$0"
mount --bind "$0$volume" "$0$volume"
mount -o remount,bind,ro "$0"
mount -t tmpfs -o mode=1777,size=16m,noexec tmpfs "$0/tmp"
mount --rbind /dev "$0/dev"
mount --bind /proc "$0/proc"
exec chroot --userspec="$user" --groups= "$0" "$@"
`;

/** As the loader finds them, itself among them. */
function librariesOf(...files: readonly string[]): readonly string[] {
  const { stdout } = spawnSync("ldd", files, { encoding: "utf8" });
  return [...new Set([...stdout.matchAll(/(\/\S+\.so\S*) \(/g)].map(([, file = ""]) => file))];
}

describe("the image, as its Dockerfile has it", () => {
  it("takes calls and delivers them without root and without a shell, and is healthy", NEEDING_ROOT, async () => {
    await using receiver = startReceiver();
    await using image = await makeImage();
    const config = { ...JSON.parse(makeConfig({ url: receiver.url, admin: "unix:/var/lib/fairlead/admin.sock" })) };
    const outbox = parse(readFileSync(join(FOLDER, "fairlead/config.yaml"), "utf8")).outbox;
    writeFileSync(image.path(environment.FAIRLEAD_CONFIG ?? ""), JSON.stringify({ ...config, outbox }));

    const before = image.start(...commandOf("HEALTHCHECK"));
    assert.equal((await before.exit).code, 1);
    const daemon = image.start(...commandOf("ENTRYPOINT"), ...commandOf("CMD"));
    const [, ingest = ""] = (await daemon.line(/^ingest /)).split(/ +/);
    assert.match(readFileSync(`/proc/${daemon.pid}/status`, "utf8"), /^Uid:\t65532\t65532\t65532\t65532$/m);
    const { status } = await postCall(`${ingest}/v1/track`, { userId: "u1", event: "E", messageId: "m-1" });
    assert.equal(status, 200);
    await receiver.all(["m-1"]);
    const healthy = image.start(...commandOf("HEALTHCHECK"));
    assert.equal((await healthy.exit).code, 0, healthy.err.join("\n"));
    assert.ok(existsSync(image.path("/var/lib/fairlead/fairlead.db")));

    daemon.kill("SIGTERM");
    assert.deepEqual(await daemon.exit, { code: 0, signal: null });
  });

  it("is of this version", () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    assert.match(dockerfile, new RegExp(`^ARG VERSION=${version.replaceAll(".", "\\.")}$`, "m"));
  });
});

describe("the compose file", () => {
  const { fairlead } = compose.services;

  it("names files that are there, and the volume that the image has", () => {
    const [config, outbox] = fairlead.volumes.map((volume: string) => volume.split(":"));
    assert.ok(existsSync(join(FOLDER, config[0], "config.yaml")));
    assert.equal(`${config[1]}/config.yaml`, environment.FAIRLEAD_CONFIG);
    assert.deepEqual([outbox[1], outbox[0] in compose.volumes], [argumentOf("VOLUME"), true]);
    assert.equal(resolve(FOLDER, fairlead.build.context, fairlead.build.dockerfile), join(FOLDER, "Dockerfile"));
  });

  it("hands over all that the config refers to, and the config is valid", PATIENT, async () => {
    const env = Object.fromEntries(Object.keys(fairlead.environment).map((name) => [name, "value"]));
    const check = start(findBinary(), ["check", "--config", join(FOLDER, "fairlead/config.yaml")], { env });
    assert.deepEqual(await check.exit, { code: 0, signal: null });
    assert.deepEqual(check.err, []);
  });
});
