import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { CONFIG, makeImage as makeArchive, NAME } from "../../packaging/image.ts";
import { TARGETS } from "../../packaging/targets.ts";
import { findBinary, ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { makeConfig, postCall } from "../binary/world.ts";

const FOLDER = join(ROOT, "packaging/docker");
const compose = parse(readFileSync(join(FOLDER, "compose.yaml"), "utf8"));
const ARCHITECTURE = process.arch === "arm64" ? "arm64" : "amd64";
const NEEDING_ROOT = {
  timeout: 300_000,
  skip: process.getuid?.() === 0 ? whyNoImage() : "only root can change its root, and mount",
};

/** Debian's libraries are fetched by apt, which checks them by Debian's key. */
function whyNoImage(): string | false {
  if (!existsSync("/usr/bin/apt-get"))
    return "there is no apt-get on this machine, which fetches what the image is made from";
  const key = "/usr/share/keyrings/debian-archive-keyring.gpg";
  return existsSync(key) ? false : "there is no key of Debian on this machine (apt install debian-archive-keyring)";
}

/** What an engine reads of an image. */
type Config = {
  readonly architecture: string;
  readonly config: {
    readonly User: string;
    readonly Env: readonly string[];
    readonly Entrypoint: readonly string[];
    readonly Cmd: readonly string[];
    readonly Volumes: Readonly<Record<string, object>>;
    readonly Healthcheck: { readonly Test: readonly string[] };
  };
  readonly rootfs: { readonly diff_ids: readonly string[] };
};

type Image = AsyncDisposable & {
  readonly config: Config["config"];
  readonly environment: Readonly<Record<string, string>>;
  path(name: string): string;
  /** Starts a command in it, as its user and with its environment. */
  start(...command: readonly string[]): Process;
};

/** Makes the image, and unpacks it as an engine would: what is read is checked by its digest. */
async function makeImage(): Promise<Image> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-image-"));
  // The release's is that of the commit, which git need not know here.
  process.env.SOURCE_DATE_EPOCH ??= "1795449600";
  const target = TARGETS.find(({ debian }) => debian === ARCHITECTURE);
  assert.ok(target, "this test needs a machine that an image is made for");
  const archive = makeArchive(target, folder, findBinary());
  const root = join(folder, "root");
  const { config } = unpack(archive, join(folder, "archive"), root);
  const environment = Object.fromEntries(config.Env.map((one) => one.split("=") as [name: string, value: string]));
  const path = (name: string): string => join(root, name);
  for (const name of ["proc", "dev"]) mkdirSync(path(name), { recursive: true });
  const [volume = ""] = Object.keys(config.Volumes);
  const processes: Process[] = [];
  return {
    ...{ config, environment, path },
    start(...command) {
      const inside = [CONTAIN, root, volume, config.User, ...command];
      const all = ["--mount", "--propagation", "private", "sh", "-euc", ...inside];
      // The PATH of this machine for what contains it; the image's own has no such programs.
      const started = start("unshare", all, { env: { ...environment, PATH: process.env.PATH } });
      processes.push(started);
      return started;
    },
    async [Symbol.asyncDispose]() {
      for (const one of processes) await one[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function unpack(archive: string, folder: string, root: string): Config {
  for (const place of [folder, root]) mkdirSync(place);
  chmodSync(root, 0o755);
  tar("-xf", archive, "-C", folder);
  const blob = (digest: string): Buffer => {
    const bytes = readFileSync(join(folder, "blobs", digest.replace(":", "/")));
    assert.equal(`sha256:${sha256(bytes)}`, digest);
    return bytes;
  };
  const { manifests } = JSON.parse(readFileSync(join(folder, "index.json"), "utf8"));
  const manifest = JSON.parse(blob(manifests[0].digest).toString());
  const config: Config = JSON.parse(blob(manifest.config.digest).toString());
  for (const [index, { digest }] of manifest.layers.entries()) {
    assert.equal(`sha256:${sha256(gunzipSync(blob(digest)))}`, config.rootfs.diff_ids[index]);
    tar("-xzf", join(folder, "blobs", digest.replace(":", "/")), "--numeric-owner", "--same-permissions", "-C", root);
  }
  assert.equal(config.architecture, ARCHITECTURE);
  return config;
}

function tar(...args: readonly string[]): void {
  const { status, stderr } = spawnSync("tar", args, { encoding: "utf8" });
  assert.equal(status, 0, stderr);
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
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

describe("the image", () => {
  it("takes calls and delivers them without root and without a shell, and is healthy", NEEDING_ROOT, async () => {
    await using receiver = startReceiver();
    await using image = await makeImage();
    const config = { ...JSON.parse(makeConfig({ url: receiver.url, admin: "unix:/var/lib/fairlead/admin.sock" })) };
    const outbox = parse(readFileSync(join(FOLDER, "fairlead/config.yaml"), "utf8")).outbox;
    writeFileSync(image.path(image.environment.FAIRLEAD_CONFIG ?? ""), JSON.stringify({ ...config, outbox }));

    const before = image.start(...image.config.Healthcheck.Test.slice(1));
    assert.equal((await before.exit).code, 1);
    const daemon = image.start(...image.config.Entrypoint, ...image.config.Cmd);
    const [, ingest = ""] = (await daemon.line(/^ingest /)).split(/ +/);
    assert.match(readFileSync(`/proc/${daemon.pid}/status`, "utf8"), /^Uid:\t65532\t65532\t65532\t65532$/m);
    const { status } = await postCall(`${ingest}/v1/track`, { userId: "u1", event: "E", messageId: "m-1" });
    assert.equal(status, 200);
    await receiver.all(["m-1"]);
    const healthy = image.start(...image.config.Healthcheck.Test.slice(1));
    assert.equal((await healthy.exit).code, 0, healthy.err.join("\n"));
    assert.ok(existsSync(image.path("/var/lib/fairlead/fairlead.db")));

    daemon.kill("SIGTERM");
    assert.deepEqual(await daemon.exit, { code: 0, signal: null });
  });
});

describe("the compose file", () => {
  const { fairlead } = compose.services;

  it("names files that are there, and the volume that the image has", () => {
    const [config, outbox] = fairlead.volumes.map((volume: string) => volume.split(":"));
    assert.ok(existsSync(join(FOLDER, config[0], "config.yaml")));
    assert.equal(
      `${config[1]}/config.yaml`,
      CONFIG.Env.find((one) => one.startsWith("FAIRLEAD_CONFIG="))?.split("=")[1],
    );
    assert.deepEqual([Object.keys(CONFIG.Volumes), outbox[0] in compose.volumes], [[outbox[1]], true]);
    assert.equal(fairlead.image, NAME);
  });

  it("hands over all that the config refers to, and the config is valid", PATIENT, async () => {
    const env = Object.fromEntries(Object.keys(fairlead.environment).map((name) => [name, "value"]));
    const check = start(findBinary(), ["check", "--config", join(FOLDER, "fairlead/config.yaml")], { env });
    assert.deepEqual(await check.exit, { code: 0, signal: null });
    assert.deepEqual(check.err, []);
  });
});
