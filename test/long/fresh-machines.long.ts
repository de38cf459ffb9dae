// The pages that install, as a new user follows them: from a fresh machine to the first verified webhook, by their commands alone.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it, type TestContext } from "node:test";
import { makeDeb } from "../../packaging/deb.ts";
import { makeTarball } from "../../packaging/dist.ts";
import { VERSION } from "../../packaging/documents.ts";
import { makeImage } from "../../packaging/image.ts";
import { run } from "../../packaging/run.ts";
import { targetsNamed } from "../../packaging/targets.ts";
import { writeSums } from "../../packaging/tree.ts";
import { compileArguments, findBinary, ROOT } from "../binary/binary.ts";
import { type Block, blocksOf, terminalsOf } from "../docs/commands.ts";
import { follow, type OpenTerminal, verifiedWebhook } from "../docs/reader.ts";
import { bootstrap } from "./debian-tree.ts";
import {
  type FreshMachine,
  makeAlpineMachine,
  makeAlpineTree,
  makeCertificate,
  makeDebianMachine,
  type Release,
} from "./fresh-machine.ts";
import { fetchPackages } from "./musl.ts";
import { MISSING as NO_NETWORK } from "./network-world.ts";
import { MISSING as NO_SYSTEMD } from "./systemd-world.ts";

/** The first ones make the machines and the release, which takes a minute or two. */
const LENGTHY = { timeout: 600_000, skip: NO_SYSTEMD || NO_NETWORK || whyNot() };

function whyNot(): string | false {
  if (process.arch !== "x64") return "the pages are written for x64";
  const missing = ["debootstrap", "openssl"].find((name) => spawnSync(name, ["--version"]).error !== undefined);
  return missing === undefined ? false : `there is no ${missing} on this machine (apt install ${missing})`;
}

/** A root of a machine, which is only read; or why there is none. */
type Tree = { readonly tree: string } | { readonly why: string };

const scratch = mkdtempSync(join(tmpdir(), "fairlead-fresh-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const made = new Map<string, unknown>();

/** Makes each thing once, in the first test that needs it. */
function once<T>(name: string, make: (folder: string) => T): T {
  if (!made.has(name)) {
    const folder = join(scratch, name);
    mkdirSync(folder, { recursive: true });
    made.set(name, make(folder));
  }
  return made.get(name) as T;
}

/** The files that the pages name. The package is not compressed as a release's is. */
function release(): Release {
  return once("release", (folder) => {
    process.env.COMPILE = compileArguments().join(" ");
    process.env.SOURCE_DATE_EPOCH ??= String(Math.floor(Date.now() / 1_000));
    const [here, musl] = targetsNamed(["linux-x64", "linux-x64-musl"]);
    assert.ok(here && musl);
    makeTarball(here, folder, findBinary());
    makeTarball(musl, folder);
    makeDeb(here, folder, { binary: findBinary(), compression: "none" });
    makeImage(here, folder, findBinary());
    writeSums(folder, VERSION);
    copyFileSync(join(ROOT, "install.sh"), join(folder, "install.sh"));
    return { folder, certificate: makeCertificate(scratch) };
  });
}

/** What readers install or have. It is in apt's cache, because the machine has no network. */
const BY_APT = ["ca-certificates", "curl", "openssl"];
const FOR_SOURCES = ["git", "make"];
/** Podman runs an image as Docker does. */
const FOR_CONTAINERS = ["podman", "podman-docker", "crun", "netavark", "iptables"];
const IN_DEBIAN = ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"];

/** A Debian as its installer leaves it, with one user; or why there is none. */
function debianTree(suite: string): Tree {
  return once(suite, (tree) => {
    const why = bootstrap(suite, tree);
    if (why !== null) return { why: `debootstrap has made no ${suite}: ${why}` };
    const inside = (...command: readonly string[]): string => run("chroot", [tree, ...IN_DEBIAN, ...command]);
    const keep = ["apt-get", "-qq", "install", "--download-only"];
    inside("apt-get", "-qq", "install", "--no-install-recommends", "sudo");
    inside(...keep, ...BY_APT);
    inside(...keep, "--no-install-recommends", ...FOR_SOURCES, ...FOR_CONTAINERS);
    inside("useradd", "--create-home", "ada");
    inside("sh", "-c", "echo 'ada ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ada");
    return { tree };
  });
}

function alpineTree(): Tree {
  return once("alpine", (folder) => {
    const debian = fetchPackages(folder, ["busybox-static", "musl"], ".");
    if (debian === null) return { why: "busybox-static and musl could not be fetched from Debian" };
    const [wheel, python] = [join(folder, "wheel"), join(folder, "python")];
    try {
      run("python3", ["-m", "venv", python]);
      const which = ["--no-deps", "--only-binary=:all:", "--platform=musllinux_1_2_x86_64", "--python-version=3.12"];
      run(join(python, "bin/pip"), [
        "download",
        "--quiet",
        "--disable-pip-version-check",
        ...which,
        "--dest",
        wheel,
        "greenlet==3.5.6",
      ]);
      run("sh", ["-euc", 'python3 -m zipfile -e "$0"/*.whl "$0"', wheel]);
    } catch (cause) {
      return { why: `Alpine's libstdc++ could not be fetched from PyPI (apt install python3-venv): ${cause}` };
    }
    const tree = join(folder, "root");
    makeAlpineTree(tree, { debian, wheel });
    return { tree };
  });
}

/** The blocks under one heading of a page; or all, or all from that heading on. */
function under(page: string, heading: string, { andAfter = false } = {}): readonly Block[] {
  const all = blocksOf(page);
  const at = all.findIndex((one) => one.heading === heading);
  assert.ok(at >= 0, `${page} has no commands under "${heading}"`);
  return andAfter ? all.slice(at) : all.filter((one) => one.heading === heading);
}

async function webhook(open: OpenTerminal, blocks: readonly Block[]): Promise<void> {
  await verifiedWebhook(await follow(terminalsOf(blocks), open));
}

/** Runs what the machine has before the page begins. */
async function given(open: OpenTerminal, script: string): Promise<void> {
  await follow([{ first: script, staying: "" }], open);
}

async function debian(t: TestContext, suite: string): Promise<FreshMachine | undefined> {
  const root = debianTree(suite);
  if ("tree" in root) return makeDebianMachine(root.tree, release());
  t.skip(root.why);
  return undefined;
}

const QUICKSTART = "docs/quickstart.md";
const FIRST_WEBHOOK = "docs/install/first-webhook.md";

for (const [suite, name] of [
  ["bookworm", "Debian 12"],
  ["testing", "Debian testing"],
] as const) {
  const machine = (t: TestContext): Promise<FreshMachine | undefined> => debian(t, suite);

  describe(`${name}, from nothing to the first verified webhook`, () => {
    it("by the quickstart, which runs install.sh, as an ordinary user", LENGTHY, async (t) => {
      await using m = await machine(t);
      if (!m) return;
      await given(m.as("root"), "apt-get -qq install ca-certificates curl\n");
      await webhook(m.as("ada"), blocksOf(QUICKSTART));
    });

    it("by the Debian package", LENGTHY, async (t) => {
      await using m = await machine(t);
      if (!m) return;
      await webhook(m.as("root"), [...under("docs/install/debian.md", "Install"), ...blocksOf(FIRST_WEBHOOK)]);
    });

    it("by the tarball and the unit of systemd, by hand", LENGTHY, async (t) => {
      await using m = await machine(t);
      if (!m) return;
      await given(m.as("root"), "apt-get -qq install ca-certificates curl openssl\n");
      const unit = under("docs/install/systemd.md", "Install it by hand");
      await webhook(m.as("root"), [
        ...under("docs/install/tarball.md", "By hand"),
        ...unit,
        ...blocksOf(FIRST_WEBHOOK),
      ]);
    });
  });
}

describe("Debian 12, from nothing to the first verified webhook", () => {
  it("by the container image, which Podman runs as Docker would", LENGTHY, async (t) => {
    await using m = await debian(t, "bookworm");
    if (!m) return;
    copyFileSync(join(release().folder, `fairlead-${VERSION}-image-amd64.tar`), m.path("/srv/image.tar"));
    await given(m.as("root"), WITH_IMAGE);
    const page = "docs/install/container.md";
    await webhook(m.as("root"), [...under(page, "Run it"), ...under(page, "The first webhook")]);
  });

  it("from source, with git, make and Bun", LENGTHY, async (t) => {
    await using m = await debian(t, "bookworm");
    if (!m) return;
    putSources(m);
    await given(
      m.as("root"),
      `apt-get -qq install --no-install-recommends ${FOR_SOURCES.join(" ")} ca-certificates curl\n`,
    );
    const [build] = blocksOf("docs/install/source.md");
    assert.ok(build);
    await webhook(m.as("ada"), [build, ...under(QUICKSTART, "2. Write a config", { andAfter: true })]);
  });
});

/** The image, as if pulled from its registry. In a namespace, Podman gets neither control groups nor an overlay on the overlay. */
const WITH_IMAGE = `
apt-get -qq install --no-install-recommends ${FOR_CONTAINERS.join(" ")} > /dev/null
cat > /etc/containers/containers.conf <<END
[containers]
cgroups = "disabled"
[engine]
events_logger = "file"
END
printf '[storage]\\ndriver = "vfs"\\nrunroot = "/run/storage"\\ngraphroot = "/var/lib/storage"\\n' > /etc/containers/storage.conf
touch /etc/containers/nodocker
docker load --input /srv/image.tar
`;

/** Bun's cache with what the project needs from npm. */
function packages(): string {
  return once("npm", (folder) => {
    for (const file of ["package.json", "bun.lock"]) copyFileSync(join(ROOT, file), join(folder, file));
    const env = { BUN_INSTALL_CACHE_DIR: join(folder, "cache") };
    run(process.execPath, ["install", "--frozen-lockfile", "--ignore-scripts"], { cwd: folder, env });
    return join(folder, "cache");
  });
}

/** The repository, in the place of the one on the web, and Bun with a full cache. */
function putSources(m: FreshMachine): void {
  const repository = join(scratch, "fairlead.git");
  run("git", ["clone", "--quiet", "--bare", ROOT, repository]);
  run("git", ["-C", repository, "tag", "--force", `v${VERSION}`]);
  cpSync(repository, m.path("/srv/fairlead.git"), { recursive: true });
  const instead =
    '[safe]\n\tdirectory = *\n[url "file:///srv/fairlead.git"]\n\tinsteadOf = https://github.com/fairlead/fairlead.git\n';
  writeFileSync(m.path("/etc/gitconfig"), instead);
  copyFileSync(realpathSync(process.execPath), m.path("/usr/local/bin/bun"));
  chmodSync(m.path("/usr/local/bin/bun"), 0o755);
  cpSync(packages(), m.path("/home/ada/.bun/install/cache"), { recursive: true });
  run("chroot", [m.path("/"), "chown", "-R", "ada:", "/home/ada/.bun"]);
}

describe("busybox and musl, with Alpine's own libstdc++, from nothing to the first verified webhook", () => {
  const machine = async (t: TestContext): Promise<FreshMachine | undefined> => {
    const root = alpineTree();
    if ("tree" in root) return makeAlpineMachine(root.tree, release());
    t.skip(root.why);
    return undefined;
  };
  /** What the page says that Alpine needs first. */
  const forAlpine = (page: string): string => {
    const [command] = /apk add [^`\n]+/.exec(readFileSync(join(ROOT, page), "utf8")) ?? [];
    return command ?? assert.fail(`${page} does not say what Alpine needs`);
  };

  it("by the quickstart, which runs install.sh", LENGTHY, async (t) => {
    await using m = await machine(t);
    if (!m) return;
    await given(m.as("root"), `apk add curl\n${forAlpine(QUICKSTART)}\n`);
    await webhook(m.as("root"), blocksOf(QUICKSTART));
  });

  it("by the tarball for musl, by hand", LENGTHY, async (t) => {
    await using m = await machine(t);
    if (!m) return;
    const page = "docs/install/tarball.md";
    const byHand = [...under(page, "By hand"), ...under(page, "On the PATH")].map((one) => ({
      ...one,
      text: one.text.replaceAll("linux-x64", "linux-x64-musl"),
    }));
    const rest = under(QUICKSTART, "2. Write a config", { andAfter: true });
    await given(m.as("root"), `apk add curl\n${forAlpine(page)}\n`);
    await webhook(m.as("root"), [...byHand, ...rest]);
  });
});
