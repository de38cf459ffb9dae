import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { VERSION } from "../../packaging/documents.ts";
import { makeRpm } from "../../packaging/rpm.ts";
import { TARGETS } from "../../packaging/targets.ts";
import { findBinary } from "../binary/binary.ts";
import { MISSING, makeSystemdWorld, type SystemdWorld } from "./systemd-world.ts";

const hasRpm = spawnSync("rpmbuild", ["--version"]).error === undefined;
const NEEDING_RPM = {
  timeout: 300_000,
  skip: MISSING || (hasRpm ? false : "there is no rpmbuild on this machine (apt install rpm)"),
};
const CONFIG = "/etc/fairlead/config.yaml";
const OUTBOX = "/var/lib/fairlead/fairlead.db";
const OLD = "0.0.9";

let rpms: readonly string[] | undefined;
after(() => rpms?.[0] && rmSync(dirname(rpms[0]), { recursive: true, force: true }));

/** The old package and the new one. Made by the first test that needs them, and removed after the last one. */
function makeRpms(): readonly string[] {
  if (rpms) return rpms;
  const folder = mkdtempSync(join(tmpdir(), "fairlead-rpm-"));
  process.env.SOURCE_DATE_EPOCH ??= "1795449600";
  const target = TARGETS.find(({ rpm, name }) => rpm && name === `linux-${process.arch}`);
  assert.ok(target, "this test needs a machine that a package is made for");
  rpms = [OLD, VERSION].map((version) => {
    return makeRpm(target, folder, { version, binary: findBinary(), compression: "fast" });
  });
  return rpms;
}

/** Installs or upgrades. This machine's own libraries are not in rpm's list of packages. Answers what the scripts have said. */
function install(w: SystemdWorld, version: string): string {
  const rpm = makeRpms().find((one) => basename(one).startsWith(`fairlead-${version}-`)) ?? "";
  return w.do("rpm", "--upgrade", "--nodeps", "--force-debian", `/root/${basename(rpm)}`);
}

function makeMachine(): Promise<SystemdWorld> {
  return makeSystemdWorld({ packages: makeRpms() });
}

describe("the RPM package", () => {
  it("installs a service that starts when it is told to, with a config for its group alone", NEEDING_RPM, async () => {
    await using w = await makeMachine();
    install(w, VERSION);
    assert.notEqual(w.show("ActiveState"), "active");
    assert.equal(w.do("stat", "--format=%U %G %a", "/etc/fairlead", CONFIG), "root fairlead 750\nroot fairlead 640\n");
    w.do("systemctl", "enable", "--now", "fairlead");
    assert.equal(w.show("ActiveState"), "active");
    assert.match(w.do("fairlead", "status"), /^config {3}\/etc\/fairlead\/config\.yaml, /m);
  });

  it("restarts the daemon at an upgrade, and keeps the config that was changed", NEEDING_RPM, async () => {
    await using w = await makeMachine();
    install(w, OLD);
    w.do("systemctl", "enable", "--now", "fairlead");
    const mine = "sources: { website: { writeKey: key-of-mine } }\n";
    await appendFile(w.path(CONFIG), mine);
    const pid = w.show("MainPID");
    install(w, VERSION);
    assert.deepEqual([w.show("ActiveState"), w.show("UnitFileState")], ["active", "enabled"]);
    assert.notEqual(w.show("MainPID"), pid);
    assert.ok(w.do("cat", CONFIG).endsWith(mine));
  });

  it("leaves the running daemon alone if the new version cannot use the config, and says so", NEEDING_RPM, async () => {
    await using w = await makeMachine();
    install(w, OLD);
    w.do("systemctl", "enable", "--now", "fairlead");
    const pid = w.show("MainPID");
    await appendFile(w.path(CONFIG), "nonsense: true\n");
    const said = install(w, VERSION);
    assert.match(said, /config\.yaml:\d+:1: nonsense/);
    assert.match(said, /the daemon was NOT restarted/);
    assert.deepEqual([w.show("ActiveState"), w.show("MainPID")], ["active", pid]);
  });

  it("keeps the outbox when it is removed", NEEDING_RPM, async () => {
    await using w = await makeMachine();
    install(w, VERSION);
    w.do("systemctl", "enable", "--now", "fairlead");
    w.do("rpm", "--erase", "--force-debian", "fairlead");
    assert.notEqual(w.show("ActiveState"), "active");
    assert.equal(w.run("test", "-e", "/usr/bin/fairlead").code, 1);
    assert.equal(w.run("test", "-e", OUTBOX).code, 0);
  });
});
