// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { type DaemonOptions, findDaemon } from "../../../src/cli/daemon/find.ts";
import { type World, worldOf } from "../../config/world.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-daemon-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function configWith(config: object): string {
  files += 1;
  const file = join(folder, `${files}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Where it is, where that comes from, and with which token from where; or the complaint. */
function find(options: DaemonOptions, world: World = {}): string {
  const daemon = findDaemon(options, worldOf(world));
  if ("code" in daemon) return `${daemon.code} ${daemon.message}`.replaceAll(folder, "");
  const { base, from, token } = daemon;
  return [base, from, ...(token ? [token.secret.reveal(), token.from] : [])].join(" | ").replaceAll(folder, "");
}

const config = configWith({ admin: { listen: "0.0.0.0:9081", token: "config-token" } });
const plain = configWith({ admin: { listen: "unix:/run/f.sock" } });
const env = { FAIRLEAD_ADMIN_TOKEN: "env-token" };

describe("the running daemon, of a config that this user may not read", () => {
  it("is not found: who may read it is said, and how to become one", { skip: process.getuid?.() !== 0 }, () => {
    const etc = join(folder, "etc");
    mkdirSync(etc);
    writeFileSync(join(etc, "config.yaml"), "", { mode: 0o640 });
    // Group 1 is daemon wherever there is an /etc/group.
    chownSync(etc, 0, 1);
    chmodSync(etc, 0o750);
    chmodSync(folder, 0o755);
    process.seteuid?.(65_534);
    try {
      assert.equal(
        find({ config: join(etc, "config.yaml") }),
        "78 cannot read the config file /etc/config.yaml: permission denied (a folder above it cannot be entered); " +
          "use sudo, or join the group daemon (sudo usermod -aG daemon NAME, then log in again)",
      );
    } finally {
      process.seteuid?.(0);
    }
  });
});

describe("the running daemon, by its config", () => {
  it("is at admin.listen, with admin.token", () => {
    assert.equal(
      find({ config }),
      "http://127.0.0.1:9081 | admin.listen of /1.yaml | config-token | admin.token of /1.yaml",
    );
    assert.equal(find({ config: plain }), "unix:/run/f.sock | admin.listen of /2.yaml");
  });

  it("is at the default if the config does not say where, and that is said", () => {
    const file = configWith({ sources: {} });
    assert.equal(find({ config: file }), "http://127.0.0.1:8081 | the default, as /3.yaml has no admin.listen");
  });

  it("gets the token of the environment instead, whether or not the config has a good one", () => {
    const token = "env-token | $FAIRLEAD_ADMIN_TOKEN";
    assert.equal(find({ config }, { env }), `http://127.0.0.1:9081 | admin.listen of /1.yaml | ${token}`);
    assert.equal(find({ config: plain }, { env }), `unix:/run/f.sock | admin.listen of /2.yaml | ${token}`);
    const secret = configWith({ admin: { listen: "127.0.0.1:1", token: "${credential:admin-token}" } });
    assert.equal(find({ config: secret }, { env }), `http://127.0.0.1:1 | admin.listen of /4.yaml | ${token}`);
  });

  it("is not asked without the token that it wants: what is missing is said with its place", () => {
    const message = find({ config: configWith({ admin: { token: "${credential:admin-token}" } }) });
    assert.match(message, /^78 cannot use .*:\n.*:1:\d+: admin\.token: cannot be read from the credential admin-token/);
    assert.match(message, /\nor give the token in \$FAIRLEAD_ADMIN_TOKEN$/);
  });

  it("is nowhere if the system chooses its port, if the address is wrong, or without a file", () => {
    assert.match(find({ config: configWith({ admin: { listen: "127.0.0.1:0" } }) }), /^2 admin\.listen has port 0, .*/);
    assert.match(
      find({ config: configWith({ admin: { listen: 5 } }) }),
      /^78 cannot use .*:\n.*admin\.listen: must be/,
    );
    const missing = find({ config: join(folder, "none.yaml") });
    assert.match(missing, /^78 cannot read the config file .*: no such file; or do without: .* with --admin$/);
  });
});

describe("the running daemon, by its address", () => {
  it("is there, and no config is needed", () => {
    assert.equal(find({ admin: "http://127.0.0.1:9/" }), "http://127.0.0.1:9 | --admin");
    assert.equal(find({}, { env: { FAIRLEAD_ADMIN: "unix:/run/f.sock" } }), "unix:/run/f.sock | $FAIRLEAD_ADMIN");
  });

  it("is that of --admin, then of the environment, then of the config; an empty variable is none", () => {
    const both = { FAIRLEAD_ADMIN: "http://127.0.0.1:8" };
    assert.equal(find({ admin: "http://127.0.0.1:9" }, { env: both }), "http://127.0.0.1:9 | --admin");
    assert.match(find({ config: plain }, { env: both }), /^http:\/\/127\.0\.0\.1:8 \| \$FAIRLEAD_ADMIN/);
    const empty = { FAIRLEAD_ADMIN: "", FAIRLEAD_ADMIN_TOKEN: "" };
    assert.equal(find({ config: plain }, { env: empty }), "unix:/run/f.sock | admin.listen of /2.yaml");
  });

  it("gets the token of the environment, or of a config that was named", () => {
    const admin = "http://127.0.0.1:9";
    assert.equal(find({ admin }, { env }), `${admin} | --admin | env-token | $FAIRLEAD_ADMIN_TOKEN`);
    assert.equal(find({ admin, config }), `${admin} | --admin | config-token | admin.token of /1.yaml`);
    assert.equal(find({ admin, config }, { env }), `${admin} | --admin | env-token | $FAIRLEAD_ADMIN_TOKEN`);
    assert.equal(find({ admin, config: plain }), `${admin} | --admin`);
    assert.match(find({ admin, config: join(folder, "none.yaml") }), /^78 cannot read the config file/);
  });

  it("is refused with the name of what gave it, and without its password", () => {
    assert.match(find({ admin: "127.0.0.1:9" }), /^2 --admin must be http:\/\/host:port, .* \(got "127\.0\.0\.1:9"\)$/);
    const message = find({}, { env: { FAIRLEAD_ADMIN: "http://user:pass-word@a/" } });
    assert.match(message, /^2 \$FAIRLEAD_ADMIN must be/);
    assert.doesNotMatch(message, /pass-word/);
  });
});

describe("a token that no header can hold", () => {
  it("is named by where it comes from, and not shown", () => {
    for (const bad of ["two words", "line\n", "tökén"]) {
      const message = find({ admin: "http://127.0.0.1:9" }, { env: { FAIRLEAD_ADMIN_TOKEN: bad } });
      assert.match(message, /^2 \$FAIRLEAD_ADMIN_TOKEN cannot be sent: a token is made of/);
      assert.ok(!message.includes(bad));
    }
  });
});
