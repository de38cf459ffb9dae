import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { socketWords, tunnelWords } from "../../src/cli/open.ts";
import { openerOf, startOpener } from "../../src/runtime/desktop.ts";
import { makeFolder } from "../folder.ts";
import { beginCommand, type Ended, SLOW } from "./run.ts";

/** Runs the command beside a config, with no daemon there; it is no desktop, and nobody came by ssh. */
async function runOpen(config: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<Ended> {
  using folder = makeFolder();
  const file = folder.path("config.yaml");
  await writeFile(file, config);
  const own = { FAIRLEAD_ADMIN: "", FAIRLEAD_ADMIN_TOKEN: "", FAIRLEAD_CONFIG: file, SSH_CONNECTION: "", ...env };
  return await beginCommand(["open", ...args], own).ended;
}

describe("fairlead open", () => {
  it("prints the address of the dashboard, and nothing else", SLOW, async () => {
    assert.deepEqual(await runOpen("{}"), { code: 0, out: "http://127.0.0.1:8081/\n", err: "" });
    const all = await runOpen('admin: { listen: "0.0.0.0:81", token: t }\n', ["--print"]);
    assert.deepEqual(all, { code: 0, out: "http://127.0.0.1:81/\n", err: "" });
    const named = await runOpen("{}", ["--admin", "https://fairlead.example.com"]);
    assert.deepEqual(named, { code: 0, out: "https://fairlead.example.com/\n", err: "" });
  });

  it("needs no token: one that this user cannot read does not keep it from the address", SLOW, async () => {
    const { code, out } = await runOpen(`admin: { token: "\${file:/nowhere/token}" }\n`);
    assert.deepEqual([code, out], [0, "http://127.0.0.1:8081/\n"]);
  });

  it("says how a Unix socket is reached from elsewhere", SLOW, async () => {
    const { code, out } = await runOpen('admin: { listen: "unix:/run/fairlead/admin.sock" }\n');
    assert.equal(code, 0);
    assert.match(out, /^ {2}ssh -N -L 8081:\/run\/fairlead\/admin\.sock \S+$/m);
    assert.match(out, /^and open http:\/\/localhost:8081\/\./m);
    assert.match(out, /^ {2}curl --unix-socket \/run\/fairlead\/admin\.sock http:\/\/localhost\/readyz$/m);
  });

  it("says that the dashboard is turned off", SLOW, async () => {
    const { code, out, err } = await runOpen("admin: { dashboard: false }\n");
    assert.deepEqual([code, out], [1, ""]);
    assert.match(err, /^fairlead: the dashboard is off: admin\.dashboard is false/);
  });

  it("says how to get there to those who came by ssh", SLOW, async () => {
    const { out, err } = await runOpen("{}", [], { SSH_CONNECTION: "192.0.2.1 50000 192.0.2.2 22" });
    assert.equal(out, "http://127.0.0.1:8081/\n");
    assert.match(err, /ssh -N -L 8081:127\.0\.0\.1:8081 \S+, then open http:\/\/localhost:8081\/\n$/);
  });

  it("refuses an address that is none", SLOW, async () => {
    const { code, err } = await runOpen("{}", ["--admin", "127.0.0.1:8081"]);
    assert.equal(code, 2);
    assert.match(err, /--admin must be http:\/\/host:port/);
  });
});

describe("the lines that lead to a dashboard", () => {
  it("can be copied into a shell", () => {
    assert.match(socketWords("/run/my fair'lead.sock", "box"), /ssh -N -L '8081:\/run\/my fair'\\''lead\.sock' box$/m);
  });

  it("are of a tunnel only where no other machine gets there", () => {
    assert.match(
      tunnelWords("http://[::1]:81", "box") ?? "",
      /ssh -N -L '81:\[::1\]:81' box, then open http:\/\/localhost:81\//,
    );
    for (const base of ["http://192.0.2.7:8081", "https://127.0.0.1", "http://127.evil.example.com", "http://box:1"]) {
      assert.equal(tunnelWords(base, "box"), null, base);
    }
  });
});

describe("the program that opens a browser", () => {
  const desktop = { platform: "linux", env: { DISPLAY: ":0" }, isTerminal: true, isRoot: false };

  it("is there on a desktop where a person asks", () => {
    assert.equal(openerOf(desktop), "xdg-open");
    assert.equal(openerOf({ ...desktop, env: { WAYLAND_DISPLAY: "wayland-0" } }), "xdg-open");
    assert.equal(openerOf({ ...desktop, platform: "darwin", env: {} }), "open");
  });

  it("is not there for a script, for root, on a server, or on a Mac by ssh", () => {
    assert.equal(openerOf({ ...desktop, isTerminal: false }), null);
    assert.equal(openerOf({ ...desktop, isRoot: true }), null);
    assert.equal(openerOf({ ...desktop, env: { DISPLAY: "" } }), null);
    assert.equal(openerOf({ ...desktop, platform: "darwin", env: { SSH_CONNECTION: "x" } }), null);
  });

  it("gets the address, and is not waited for", SLOW, async () => {
    using folder = makeFolder();
    const [program, pipe] = [folder.path("opener"), folder.path("pipe")];
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    await writeFile(program, `#!/bin/sh\necho "$@" > '${pipe}'\n`);
    await chmod(program, 0o755);
    assert.equal(await startOpener(program, "http://127.0.0.1:8081/"), null);
    assert.equal(await readFile(pipe, "utf8"), "http://127.0.0.1:8081/\n");
  });

  it("may not be there, and then it says so", async () => {
    assert.match((await startOpener("/nowhere/xdg-open", "http://127.0.0.1/")) ?? "", /ENOENT/);
  });
});
