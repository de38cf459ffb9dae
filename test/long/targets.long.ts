import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { TARGETS } from "../../packaging/targets.ts";
import { ROOT } from "../binary/binary.ts";
import { checkSignature } from "../packaging/mach-o.ts";
import { makeMuslRunner } from "./musl.ts";

/** The first of these tests makes all tarballs, for which the Buns have to come from npm; emulators are slow. */
const LENGTHY = { timeout: 900_000 };
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

let unpacked: string | undefined;

after(() => unpacked !== undefined && rmSync(unpacked, { recursive: true, force: true }));

/** A folder with what is in the tarballs. */
function unpack(): string {
  if (unpacked) return unpacked;
  make("dist");
  const folder = mkdtempSync(join(tmpdir(), "fairlead-targets-"));
  for (const { name } of TARGETS) run("tar", ["-xzf", tarballOf(name), "-C", folder]);
  unpacked = folder;
  return folder;
}

function make(...args: readonly string[]): void {
  run("make", args);
}

function run(program: string, args: readonly string[], cwd = ROOT): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error?.message ?? ""}\n${stdout}${stderr}`);
  return stdout;
}

function tarballOf(target: string): string {
  return join(ROOT, `dist/fairlead-${version}-${target}.tar.gz`);
}

function folderOf(target: string): string {
  return join(unpack(), `fairlead-${version}-${target}`);
}

function binaryOf(target: string): string {
  return join(folderOf(target), "fairlead");
}

/** By what ELF files of Linux and Mach-O files of macOS say at their beginning. */
function machineOf(bytes: Buffer, system: "linux" | "darwin"): string | undefined {
  const elf: Readonly<Record<number, string>> = { 62: "x64", 183: "arm64" };
  const machO: Readonly<Record<number, string>> = { 16777223: "x64", 16777228: "arm64" };
  return system === "linux" ? elf[bytes.readUInt16LE(18)] : machO[bytes.readUInt32LE(4)];
}

describe("make dist", () => {
  for (const { name, sqlite, system, libc } of TARGETS) {
    it(`puts the Bun and the SQLite of ${name} into its binary, and no other`, LENGTHY, () => {
      const bytes = readFileSync(binaryOf(name));
      const machine = machineOf(bytes, system);
      assert.equal(machine, name.includes("arm64") ? "arm64" : "x64");
      assert.equal(bytes.subarray(0, 4_096).includes("/ld-musl-"), libc === "musl");
      const all = [...new Set(TARGETS.map((target) => target.sqlite))];
      assert.deepEqual(
        all.filter((one) => bytes.includes(`/$bunfs/root/${one}-`)),
        [sqlite],
      );
    });
  }

  for (const { name } of TARGETS.filter(({ system }) => system === "darwin")) {
    it(`signs each page of the binary for ${name}, and brings no unit of systemd`, LENGTHY, () => {
      const { pages, wrong } = checkSignature(readFileSync(binaryOf(name)));
      assert.ok(pages > 10_000);
      assert.equal(wrong, 0);
      assert.equal(existsSync(join(folderOf(name), "fairlead.service")), false);
    });
  }

  it("packs what belongs to the binary, with sums that are right", LENGTHY, () => {
    const folder = folderOf("linux-x64");
    for (const file of [
      ...["fairlead.service", "config.example.yaml", "fairlead.1", "THIRD-PARTY-NOTICES.txt", "LICENSE"],
      ...["completions/fairlead.bash", "completions/_fairlead", "completions/fairlead.fish", "docs/operate/index.md"],
      ...["SECURITY.md", "packaging/nginx/fairlead.conf"],
      ...["packaging/prometheus/alerts.yaml", "packaging/grafana/fairlead.json"],
    ]) {
      assert.ok(existsSync(join(folder, file)), file);
    }
    assert.match(run("sha256sum", ["--check", "SHA256SUMS"], folder), /^fairlead: OK$/m);
    assert.match(run("sha256sum", ["--check", "SHA256SUMS"], join(ROOT, "dist")), /linux-arm64-musl\.tar\.gz: OK/);
  });

  it("makes the same bytes again, and no trace of this folder", LENGTHY, () => {
    const before = readFileSync(tarballOf("linux-arm64-musl"));
    make("dist", "TARGETS=linux-arm64-musl");
    assert.ok(readFileSync(tarballOf("linux-arm64-musl")).equals(before));
    assert.equal(readFileSync(binaryOf("linux-arm64-musl")).includes(ROOT), false);
  });
});

/** Runs the smoke test of this project, or the tests of it that are named so, with another program as the binary. */
function smoke(program: string, named = "."): void {
  const env = { ...process.env, FAIRLEAD_BINARY: program };
  const limits = ["--no-orphans", "--timeout", "300000", "--test-name-pattern", named];
  const args = ["test", ...limits, "test/binary/smoke.test.ts"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
  assert.match(stderr, /^ +[1-9]\d* pass$/m);
}

function isThere(program: string): boolean {
  return spawnSync(program, ["--version"]).error === undefined;
}

/** Emulators of a machine, with what they need besides. The package is Debian's. */
const EMULATED = [
  {
    ...{ target: "linux-arm64", command: "qemu-aarch64-static -L /usr/aarch64-linux-gnu" },
    needs: "/usr/aarch64-linux-gnu/lib/libstdc++.so.6",
    install: "qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross libgcc-s1-arm64-cross",
    named: ".",
  },
  {
    // A CPU of 2008: SSE4.2, and neither AVX nor AVX2.
    ...{ target: "linux-x64-baseline", command: "qemu-x86_64-static -cpu Nehalem" },
    needs: "/lib64/ld-linux-x86-64.so.2",
    install: "qemu-user-static",
    // The same code as on a newer CPU: what counts is that it goes all the way.
    named: "says its version|takes a call",
  },
] as const;

describe("the smoke test", () => {
  for (const { target, command, needs, install, named } of EMULATED) {
    const missing = !isThere(command.split(" ")[0] ?? "") || !existsSync(needs);
    const skip = missing && `there is no emulator on this machine (apt install ${install})`;
    it(`passes on ${target}, under ${command}`, { ...LENGTHY, skip }, () => {
      const program = join(unpack(), `run-${target}`);
      writeFileSync(program, `#!/bin/sh\nexec ${command} ${binaryOf(target)} "$@"\n`, { mode: 0o755 });
      smoke(program, named);
    });
  }

  it("passes on linux-x64-musl, with musl's loader and C library", LENGTHY, (t) => {
    if (process.arch !== "x64") return t.skip("this machine runs no programs for x64");
    const folder = join(unpack(), "musl");
    mkdirSync(folder);
    const made = makeMuslRunner(folder, binaryOf("linux-x64-musl"));
    if ("why" in made) return t.skip(made.why);
    smoke(made.program);
  });
});
