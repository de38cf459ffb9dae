import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { VERSION } from "../../packaging/documents.ts";
import { makeInstallWorld } from "./install-world.ts";

/** busybox is the sh of Alpine and of many small machines; Debian's sh is dash. */
const SHELLS = ["sh", "dash", "bash", "busybox sh"];

for (const shell of SHELLS) {
  const [program = ""] = shell.split(" ");
  const missing = spawnSync(program, ["-c", "true"]).error !== undefined;
  const skip = missing && `there is no ${program} on this machine (apt install ${program})`;

  describe(`install.sh in ${shell}`, { skip }, () => {
    it("says what it does, installs the program and what belongs to it, and removes it again", () => {
      using w = makeInstallWorld();
      const { status, out, err } = w.run(["--yes"], { shell });
      assert.deepEqual([status, err], [0, ""]);
      assert.match(
        out,
        new RegExp(`^This installs Fairlead ${VERSION} for linux-\\w+(-musl)? into ${w.prefix}\\.$`, "m"),
      );
      assert.match(out, new RegExp(`^Installed: fairlead ${VERSION} of the test$`, "m"));
      const files = out.split("\n").flatMap((line) => (line.startsWith("  /") ? [line.trim()] : []));
      assert.ok(files.length >= 8, out);
      for (const file of files) assert.ok(existsSync(file), file);
      assert.equal(statSync(join(w.prefix, "bin/fairlead")).mode & 0o777, 0o755);
      assert.equal(readFileSync(join(w.prefix, "share/man/man1/fairlead.1"), "utf8"), "fairlead.1\n");
      const unit = files.find((file) => file.endsWith("/fairlead.service"));
      if (unit) assert.equal(readFileSync(unit, "utf8"), `ExecStart=${w.prefix}/bin/fairlead serve\n`);

      assert.equal(w.run(["--yes", "--uninstall"], { shell }).status, 0);
      assert.deepEqual(
        files.filter((file) => existsSync(file)),
        [],
      );
    });

    it("refuses a file with another sum, and changes nothing", () => {
      using w = makeInstallWorld();
      w.run(["--yes"], { shell });
      const before = readFileSync(join(w.prefix, "bin/fairlead"), "utf8");
      for (const name of readdirSync(w.release))
        if (name.endsWith(".gz")) appendFileSync(join(w.release, name), "more");
      const { status, err } = w.run(["--yes"], { shell });
      assert.equal(status, 1);
      assert.match(err, /is not the file of the release: its SHA-256 is [0-9a-f]{64}, and SHA256SUMS has [0-9a-f]{64}/);
      assert.equal(readFileSync(join(w.prefix, "bin/fairlead"), "utf8"), before);
    });
  });
}

describe("install.sh", () => {
  it("changes nothing with --dry-run, or where nobody can be asked", () => {
    using w = makeInstallWorld();
    const dry = w.run(["--dry-run"]);
    assert.equal(dry.status, 0);
    assert.match(dry.out, /\/bin\/fairlead$/m);
    const asked = w.run([]);
    assert.equal(asked.status, 1);
    assert.match(asked.err, /no terminal to ask on: add --yes/);
    assert.equal(existsSync(w.prefix), false);
  });

  it("refuses a file that SHA256SUMS does not have, and one that is not there", () => {
    using w = makeInstallWorld();
    writeFileSync(join(w.release, "SHA256SUMS"), "");
    assert.match(w.run(["--yes"]).err, /SHA256SUMS has no sum of fairlead-/);
    assert.match(w.run(["--yes", "--version", "9.9.9"]).err, /no sum of|cannot copy/);
    assert.equal(existsSync(w.prefix), false);
  });

  it("keeps the old program if the new one does not run on this machine", () => {
    using w = makeInstallWorld();
    w.run(["--yes"]);
    const before = readFileSync(join(w.prefix, "bin/fairlead"), "utf8");
    w.publish(1);
    const { status, err } = w.run(["--yes"]);
    assert.equal(status, 1);
    assert.match(err, /does not run on this machine/);
    assert.equal(readFileSync(join(w.prefix, "bin/fairlead"), "utf8"), before);
  });

  it("leaves what it has not installed", () => {
    using w = makeInstallWorld();
    mkdirSync(join(w.prefix, "share/doc/fairlead"), { recursive: true });
    writeFileSync(join(w.prefix, "share/doc/fairlead/mine"), "");
    w.run(["--yes"]);
    w.run(["--yes", "--uninstall"]);
    assert.deepEqual(readdirSync(join(w.prefix, "share/doc/fairlead")), ["mine"]);
  });

  it("refuses what it does not know", () => {
    using w = makeInstallWorld();
    assert.match(w.run(["--quick"]).err, /unknown option --quick/);
    assert.match(w.run(["--version"]).err, /--version needs a value/);
  });
});
