import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import { findConfigFile } from "../../src/runtime/config-files.ts";
import { howToRead } from "../../src/runtime/file-error.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-find-"));
chmodSync(folder, 0o755);
const closed = join(folder, "closed");
mkdirSync(closed);
const guarded = join(closed, "config.yaml");
writeFileSync(guarded, "");
chmodSync(closed, 0o700);
const open = join(folder, "config.yaml");
writeFileSync(open, "", { mode: 0o644 });
const missing = join(folder, "missing.yaml");
after(() => rmSync(folder, { recursive: true }));

/** Modes do not hold root back, and do not hold back the owner of the folders here. */
const skip = process.getuid?.() !== 0 && "only root can become somebody else";

function asSomebody<T>(run: () => T): T {
  process.seteuid?.(65_534);
  try {
    return run();
  } finally {
    process.seteuid?.(0);
  }
}

describe("where the config file is", () => {
  it("is the first place that has one", () => {
    assert.equal(findConfigFile(undefined, [missing, open, guarded]), open);
    assert.equal(findConfigFile(undefined, [missing]), null);
    assert.equal(findConfigFile("said.yaml", [open]), "said.yaml");
  });

  it("is a place that may not be looked at, where no other has one: there may be one", { skip }, () => {
    assert.equal(
      asSomebody(() => findConfigFile(undefined, [missing, guarded])),
      guarded,
    );
    assert.equal(
      asSomebody(() => findConfigFile(undefined, [guarded, open])),
      open,
    );
  });
});

describe("how a file that may not be read can be", () => {
  it("is nothing to say of a file that can be read, or that is not there", { skip }, () => {
    assert.equal(
      asSomebody(() => howToRead(open)),
      null,
    );
    assert.equal(
      asSomebody(() => howToRead(missing)),
      null,
    );
  });

  it("is by sudo where only its owner may", { skip }, () => {
    assert.equal(
      asSomebody(() => howToRead(guarded)),
      "use sudo",
    );
  });

  it("is by its group as well, where that may: of the file, or of the folder that hides it", { skip }, () => {
    const shared = join(folder, "shared");
    mkdirSync(shared);
    writeFileSync(join(shared, "config.yaml"), "");
    // Group 1 is daemon wherever there is an /etc/group.
    chownTo(1, join(shared, "config.yaml"), 0o640);
    const advice = "use sudo, or join the group daemon (sudo usermod -aG daemon NAME, then log in again)";
    assert.equal(
      asSomebody(() => howToRead(join(shared, "config.yaml"))),
      advice,
    );
    chownTo(1, shared, 0o750);
    assert.equal(
      asSomebody(() => howToRead(join(shared, "config.yaml"))),
      advice,
    );
  });
});

function chownTo(gid: number, path: string, mode: number): void {
  chownSync(path, 0, gid);
  chmodSync(path, mode);
}
