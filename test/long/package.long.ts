import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { appendFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { makeDeb } from "../../packaging/deb.ts";
import { VERSION } from "../../packaging/documents.ts";
import { TARGETS } from "../../packaging/targets.ts";
import { findBinary } from "../binary/binary.ts";
import { makeDebianTree } from "./debian-tree.ts";
import { MISSING, makeSystemdWorld, type SystemdWorld, until } from "./systemd-world.ts";

const hasDpkg = spawnSync("dpkg-deb", ["--version"]).error === undefined;
/** The first of them makes a Debian, which takes a minute or more. */
const NEEDING_DEBIAN = {
  timeout: 600_000,
  skip: MISSING || (hasDpkg ? false : "there is no dpkg-deb on this machine"),
};
const CONFIG = "/etc/fairlead/config.yaml";
const OUTBOX = "/var/lib/fairlead/fairlead.db";
const OLD = "0.0.9";
const NEW = VERSION;

/** Both packages, and a Debian to install them into. */
type Prepared = { readonly debs: string; readonly tree: string };
let prepared: Prepared | undefined;
after(() => prepared && rmSync(prepared.debs, { recursive: true, force: true }));

/** Made by the first test that needs it, and removed after the last one. */
function prepare(): Prepared {
  if (prepared) return prepared;
  const folder = mkdtempSync(join(tmpdir(), "fairlead-package-"));
  // The release's is that of the commit, which git need not know here.
  process.env.SOURCE_DATE_EPOCH ??= String(Math.floor(Date.now() / 1_000));
  const target = TARGETS.find(({ name, debian }) => debian && name === `linux-${process.arch}`);
  assert.ok(target, "this test needs a machine that a package is made for");
  for (const version of [OLD, NEW]) makeDeb(target, folder, { version, binary: findBinary(), compression: "none" });
  prepared = { debs: folder, tree: makeDebianTree(join(folder, "tree")) };
  return prepared;
}

/** A Debian whose PID 1 is a real systemd, with both packages in /root. */
function makeDebian(): Promise<SystemdWorld> {
  const { tree } = prepare();
  return makeSystemdWorld({ tree, packages: [debOf(OLD), debOf(NEW)] });
}

function debOf(version: string): string {
  return join(prepare().debs, `fairlead_${version}_${process.arch === "arm64" ? "arm64" : "amd64"}.deb`);
}

/** Answers what dpkg and the package's scripts have said. Throws unless all has gone well. */
function dpkg(w: SystemdWorld, ...args: readonly string[]): string {
  return w.do("env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "dpkg", ...args);
}

function install(w: SystemdWorld, version: string): string {
  return dpkg(w, "--install", `/root/${debOf(version).split("/").at(-1)}`);
}

function isThere(w: SystemdWorld, path: string): boolean {
  return w.run("test", "-e", path).code === 0;
}

/** All that the scripts make, in a text: it changes if they make something twice. */
function traces(w: SystemdWorld): string {
  const files = "find /etc/systemd /etc/fairlead /var/lib/systemd -printf '%p %u %g %m %l\\n' | sort";
  return w.do("sh", "-c", `cat /etc/passwd /etc/group; ${files}`);
}

describe("the package for Debian", () => {
  it("has no error that lintian knows of", NEEDING_DEBIAN, (t) => {
    const tags = ["uses-no-compression-for-control-tarball", "uses-no-compression-for-data-tarball"];
    // They are of this test's package only, which nobody keeps.
    const args = ["--allow-root", "--suppress-tags", tags.join(","), "--fail-on", "error,warning", debOf(NEW)];
    const { status, stdout, stderr, error } = spawnSync("lintian", args, { encoding: "utf8" });
    if (error) return t.skip("there is no lintian on this machine (apt install lintian)");
    assert.equal(status, 0, `${stdout}${stderr}`);
  });

  it("installs a service that runs at once and at each start, and what belongs to it", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, NEW);
    assert.deepEqual([w.show("ActiveState"), w.show("UnitFileState")], ["active", "enabled"]);
    assert.match(w.do("fairlead", "status"), /^config {3}\/etc\/fairlead\/config\.yaml, /m);
    assert.equal(
      w.do("stat", "--format=%n %U %G %a", "/etc/fairlead", CONFIG, OUTBOX),
      `/etc/fairlead root fairlead 750\n${CONFIG} root fairlead 640\n${OUTBOX} fairlead fairlead 600\n`,
    );
    const files = w.do("dpkg", "--listfiles", "fairlead").split("\n");
    for (const file of [
      "/usr/share/man/man1/fairlead.1.gz",
      "/usr/share/bash-completion/completions/fairlead",
      "/usr/share/zsh/vendor-completions/_fairlead",
      "/usr/share/fish/vendor_completions.d/fairlead.fish",
      // The unit names it.
      "/usr/share/doc/fairlead/install/systemd.md",
      "/usr/share/doc/fairlead/pictures/overview-light.png",
      "/usr/share/doc/fairlead/examples/nginx/fairlead.conf",
      "/usr/share/doc/fairlead/examples/caddy/Caddyfile",
      "/usr/share/doc/fairlead/examples/prometheus/alerts.yaml",
      "/usr/share/doc/fairlead/examples/grafana/fairlead.json",
    ]) {
      assert.ok(files.includes(file), file);
    }
  });

  it("makes nothing twice when it is configured again", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, NEW);
    const once = traces(w);
    w.do("/var/lib/dpkg/info/fairlead.postinst", "configure", NEW);
    w.do("/var/lib/dpkg/info/fairlead.postinst", "configure", NEW);
    assert.equal(traces(w), once);
  });
});

describe("an upgrade", () => {
  it("keeps the config that was changed, and starts the new version on the same outbox", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, OLD);
    const outbox = w.do("stat", "--format=%i", OUTBOX);
    const mine = "sources: { website: { writeKey: key-of-mine } }\n";
    await appendFile(w.path(CONFIG), mine);
    w.do("chmod", "0600", CONFIG);
    install(w, NEW);
    assert.ok(w.do("cat", CONFIG).endsWith(mine));
    assert.equal(w.do("stat", "--format=%a", CONFIG), "600\n");
    assert.equal(w.do("stat", "--format=%i", OUTBOX), outbox);
  });

  it("restarts the daemon by a config that refers to the unit's variables", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, OLD);
    await w.edit("[Service]\nEnvironment=WEBSITE_KEY=from-the-unit\n");
    await appendFile(w.path(CONFIG), "sources:\n  website:\n    writeKey: $" + "{WEBSITE_KEY}\n");
    w.do("systemctl", "restart", "fairlead");
    const pid = w.show("MainPID");
    install(w, NEW);
    assert.equal(w.show("ActiveState"), "active");
    assert.notEqual(w.show("MainPID"), pid);
  });

  it(
    "leaves the running daemon alone if the new version cannot use the config, and says so",
    NEEDING_DEBIAN,
    async () => {
      await using w = await makeDebian();
      install(w, OLD);
      const pid = w.show("MainPID");
      await appendFile(w.path(CONFIG), "nonsense: true\n");
      const said = install(w, NEW);
      assert.match(said, /config\.yaml:\d+:1: nonsense/);
      assert.match(said, /the daemon was NOT restarted/);
      assert.deepEqual([w.show("ActiveState"), w.show("MainPID")], ["active", pid]);
      assert.match(w.do("dpkg", "--status", "fairlead"), /^Status: install ok installed$/m);
    },
  );

  it("looks at the config as the daemon's user, and never as root", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, OLD);
    await writeFile(w.path("/etc/fairlead/website-key"), "key-of-mine\n", { mode: 0o644 });
    await appendFile(w.path(CONFIG), "sources:\n  website:\n    writeKey: $" + "{file:/etc/fairlead/website-key}\n");
    w.do("systemctl", "restart", "fairlead");
    const pid = w.show("MainPID");
    w.do("chmod", "0600", "/etc/fairlead/website-key");
    const said = install(w, NEW);
    assert.match(said, /website-key.*permission denied/);
    // The daemon itself sees that the file has changed, and reads its config again.
    await until(() => w.show("ActiveState") !== "reloading");
    assert.deepEqual([w.show("ActiveState"), w.show("MainPID")], ["active", pid]);
  });

  it("restarts the daemon by a config that refers to the unit's credentials", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, OLD);
    await writeFile(w.path("/etc/fairlead/website-key"), "key-of-mine\n", { mode: 0o600 });
    await w.edit("[Service]\nLoadCredential=website-key:/etc/fairlead/website-key\n");
    await appendFile(w.path(CONFIG), "sources:\n  website:\n    writeKey: $" + "{credential:website-key}\n");
    w.do("systemctl", "restart", "fairlead");
    const pid = w.show("MainPID");
    install(w, NEW);
    assert.equal(w.show("ActiveState"), "active");
    assert.notEqual(w.show("MainPID"), pid);
  });

  it("does not start a daemon that somebody has stopped", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, OLD);
    w.do("systemctl", "stop", "fairlead");
    install(w, NEW);
    assert.equal(w.show("ActiveState"), "inactive");
  });
});

describe("a package that goes", () => {
  it("keeps config and outbox when it is removed, and runs with them when it is back", NEEDING_DEBIAN, async () => {
    await using w = await makeDebian();
    install(w, NEW);
    await appendFile(w.path(CONFIG), "# mine\n");
    const outbox = w.do("stat", "--format=%i", OUTBOX);
    dpkg(w, "--remove", "fairlead");
    assert.deepEqual(
      ["/usr/bin/fairlead", CONFIG, OUTBOX].map((path) => isThere(w, path)),
      [false, true, true],
    );
    assert.notEqual(w.show("ActiveState"), "active");
    install(w, NEW);
    assert.deepEqual([w.show("ActiveState"), w.show("UnitFileState")], ["active", "enabled"]);
    assert.equal(w.do("stat", "--format=%i", OUTBOX), outbox);
    assert.ok(w.do("cat", CONFIG).endsWith("# mine\n"));
  });

  it(
    "takes config and outbox along when it is purged, but no file that somebody has put beside",
    NEEDING_DEBIAN,
    async () => {
      await using w = await makeDebian();
      install(w, NEW);
      await writeFile(w.path("/etc/fairlead/website-key"), "key\n");
      dpkg(w, "--purge", "fairlead");
      const paths = [
        "/usr/bin/fairlead",
        CONFIG,
        "/var/lib/fairlead",
        "/var/cache/fairlead",
        "/etc/fairlead/website-key",
      ];
      assert.deepEqual(
        paths.map((path) => isThere(w, path)),
        [false, false, false, false, true],
      );
      assert.equal(w.do("find", "/etc/systemd", "/var/lib/systemd", "-name", "*fairlead*"), "");
    },
  );
});
