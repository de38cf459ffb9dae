import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { postCall } from "../binary/world.ts";
import { MISSING, makeSystemdWorld, type SystemdWorld, until } from "./systemd-world.ts";

const NEEDING_SYSTEMD = { ...PATIENT, skip: MISSING };
const KEY = "test-key";
const UNIT = "/etc/systemd/system/fairlead.service";

type Parts = { readonly url?: string; readonly writeKey?: string; readonly sharedSecret?: string };

/** As the example of docs/install/systemd.md; the port is the system's choice. */
function makeConfig({ url = "http://127.0.0.1:9/hooks", writeKey = KEY, sharedSecret = "s" }: Parts = {}): object {
  return {
    ingest: { listen: "127.0.0.1:0" },
    admin: { listen: "unix:/run/fairlead/admin.sock" },
    outbox: { path: "/var/lib/fairlead/fairlead.db" },
    sources: { website: { writeKey } },
    destinations: { crm: { webhooks: [{ url }], sharedSecret } },
  };
}

function ingestOf(w: SystemdWorld): string {
  const [, ingest = ""] = /takes calls at (\S+),/.exec(w.show("StatusText")) ?? [];
  return ingest;
}

describe("the unit", () => {
  it("is valid, and exposed to no more than 1.3", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    assert.equal(w.do("systemd-analyze", "verify", UNIT), "");
    const rated = w.do("systemd-analyze", "security", "--offline=true", "--no-pager", UNIT);
    const [, exposure = ""] = /Overall exposure level for fairlead\.service: ([\d.]+) /.exec(rated) ?? [];
    assert.ok(Number(exposure) > 0 && Number(exposure) <= 1.3, rated);
  });

  it("starts a daemon without rights that takes calls and delivers them", NEEDING_SYSTEMD, async () => {
    await using receiver = startReceiver();
    await using w = await makeSystemdWorld();
    // By name: to look it up works without netlink as well.
    await w.configure(makeConfig({ url: receiver.url.replace("127.0.0.1", "localhost") }));
    w.do("systemctl", "start", "fairlead");
    assert.equal(w.show("ActiveState"), "active");
    const { status } = await postCall(`${ingestOf(w)}/v1/track`, { userId: "u1", event: "E", messageId: "m-1" });
    assert.equal(status, 200);
    await receiver.all(["m-1"]);
    const process = w.do("cat", `/proc/${w.show("MainPID")}/status`);
    const uid = w.do("id", "-u", "fairlead").trim();
    assert.match(process, new RegExp(`^Uid:\\t${uid}\\t`, "m"));
    for (const line of ["CapEff:\t0{16}", "CapBnd:\t0{16}", "NoNewPrivs:\t1", "Seccomp:\t2"]) {
      assert.match(process, new RegExp(`^${line}$`, "m"));
    }
    const owners = w.do("stat", "--format=%n %U %a", "/var/lib/fairlead/fairlead.db", "/run/fairlead/admin.sock");
    assert.equal(owners, "/var/lib/fairlead/fairlead.db fairlead 600\n/run/fairlead/admin.sock fairlead 660\n");
    assert.match(w.do("fairlead", "status"), /^website +\d/m);
    assert.match(await w.journal(/msg=daemon\.started/), /^level=info /);
  });

  it("stops it for good, without a trace in /run", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig());
    w.do("systemctl", "start", "fairlead");
    w.do("systemctl", "stop", "fairlead");
    assert.deepEqual([w.show("Result"), w.show("ActiveState"), w.show("NRestarts")], ["success", "inactive", "0"]);
    assert.notEqual(w.run("ls", "/run/fairlead").code, 0);
  });
});

describe("systemctl reload", () => {
  it(
    "waits for the new config, and fails with what is wrong with a bad one, which is not taken",
    NEEDING_SYSTEMD,
    async () => {
      await using w = await makeSystemdWorld();
      await w.configure(makeConfig());
      w.do("systemctl", "start", "fairlead");
      const ingest = ingestOf(w);
      await w.configure(makeConfig({ writeKey: "other" }));
      w.do("systemctl", "reload", "fairlead");
      const { status } = await postCall(`${ingest}/v1/track`, { userId: "u1", event: "E" });
      assert.equal(status, 401);
      await w.configure({ ...makeConfig(), nonsense: true });
      assert.equal(w.run("systemctl", "reload", "fairlead").code, 1);
      await w.journal(/nonsense/);
      assert.deepEqual([w.show("ActiveState"), w.show("NRestarts")], ["active", "0"]);
      assert.match(w.show("StatusText"), /^runs with the previous config: the new one was refused/);
    },
  );
});

describe("a service that fails", () => {
  it("because of its config is not started again", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure({ ...makeConfig(), nonsense: true });
    assert.equal(w.run("systemctl", "start", "fairlead").code, 1);
    assert.deepEqual(
      ["ActiveState", "ExecMainStatus", "NRestarts"].map((name) => w.show(name)),
      ["failed", "78", "0"],
    );
  });

  it("because it was killed is started again", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig());
    w.do("systemctl", "start", "fairlead");
    w.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "fairlead");
    await until(() => w.show("NRestarts") === "1" && w.show("ActiveState") === "active");
  });

  it("because something else is not ready is started again until it is", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig());
    await w.edit("[Service]\nRestartSec=100ms\n");
    // Nothing can be locked while there is a folder in the lock's place.
    w.do("mkdir", "-p", "/var/lib/fairlead/fairlead.db.lock");
    w.run("systemctl", "start", "fairlead");
    await until(() => Number(w.show("NRestarts")) > 6);
    w.do("rmdir", "/var/lib/fairlead/fairlead.db.lock");
    await until(() => w.show("ActiveState") === "active");
  });

  it("because its store hangs is killed by the watchdog, and works again when it can", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig());
    await w.edit("[Service]\nWatchdogSec=2\n");
    w.do("systemctl", "start", "fairlead");
    {
      await using other = w.start("python3", "-u", "-c", LOCK, "/var/lib/fairlead/fairlead.db");
      await other.line(/^locked$/);
      await w.journal(/msg=daemon\.stuck/);
      await w.journal(/Watchdog timeout/);
    }
    await until(() => Number(w.show("NRestarts")) > 0 && w.show("ActiveState") === "active");
  });
});

describe("credentials", () => {
  it("reach the config, from a file that only root may read", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig({ writeKey: "$" + "{credential:website-key}" }));
    await writeFile(w.path("/root/website-key"), `${KEY}\n`, { mode: 0o600 });
    await w.edit("[Service]\nLoadCredential=website-key:/root/website-key\n");
    w.do("systemctl", "start", "fairlead");
    const { status } = await postCall(`${ingestOf(w)}/v1/track`, { userId: "u1", event: "E" });
    assert.equal(status, 200);
    w.do("systemctl", "reload", "fairlead");
  });
});

describe("a socket unit", () => {
  it("is refused, and the service not started again and again", NEEDING_SYSTEMD, async () => {
    await using w = await makeSystemdWorld();
    await w.configure(makeConfig());
    const socket = "[Unit]\nDefaultDependencies=no\n[Socket]\nListenStream=/run/by-systemd.sock\n";
    await writeFile(w.path("/run/systemd/system/fairlead.socket"), socket);
    w.do("systemctl", "daemon-reload");
    w.do("systemctl", "start", "fairlead.socket");
    assert.equal(w.run("systemctl", "start", "fairlead").code, 1);
    assert.match(await w.journal(/LISTEN_FDS/), /systemctl disable --now fairlead\.socket/);
    assert.deepEqual([w.show("ExecMainStatus"), w.show("NRestarts")], ["78", "0"]);
  });
});

/** Until it is killed. */
const LOCK = `
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
print("locked")
while True: time.sleep(60)
`;
