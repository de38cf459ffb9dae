import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { chmod, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, describe, it } from "node:test";
import type { FileText } from "../../src/model/ports.ts";
import {
  createResolve,
  fileState,
  fileStateNow,
  findConfigFile,
  listFolderLater,
  readConfigFile,
  readFileLater,
} from "../../src/runtime/config-files.ts";
import { howToRead } from "../../src/runtime/file-error.ts";
import { asOrdinaryUser, KEEPS_USER, NO_OTHER_USER } from "../another-user.ts";
import { makeFolder } from "../folder.ts";

const { folder, [Symbol.dispose]: remove } = makeFolder();
after(remove);

const { env, file, credential } = createResolve();

function write(name: string, content: string | Uint8Array, mode = 0o600): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

function why(read: FileText): string {
  assert.ok(!read.ok);
  return read.why;
}

describe("a secret file", () => {
  it("is read as it stands, and says whether everybody may read it", () => {
    const guarded = write("guarded", "s3cret ü\n", 0o640);
    const open = write("open", "s3cret", 0o644);
    assert.deepEqual(file(guarded), { ok: true, text: "s3cret ü\n", worldReadable: false });
    assert.deepEqual(file(open), { ok: true, text: "s3cret", worldReadable: true });
  });

  it("may have 1 MB, and not a byte more", () => {
    assert.ok(file(write("full", "x".repeat(1_048_576))).ok);
    assert.equal(why(file(write("over", "x".repeat(1_048_577)))), "it is larger than 1MB");
  });

  it("has to be UTF-8", () => {
    assert.equal(why(file(write("binary", Uint8Array.of(0xff, 0xfe, 0x41)))), "it is not UTF-8 text");
  });

  it("has to be a regular file", () => {
    const pipe = join(folder, "pipe");
    execFileSync("mkfifo", [pipe]);
    assert.equal(why(file(pipe)), "it is not a regular file");
    assert.equal(why(file("/dev/zero")), "it is not a regular file");
    assert.equal(why(file(folder)), "it is a folder");
  });

  it("has to be there", () => {
    const loop = join(folder, "loop");
    symlinkSync("loop", loop);
    assert.equal(why(file(join(folder, "missing"))), "no such file");
    assert.equal(why(file(join(write("plain", ""), "below"))), "a part of the path is not a folder");
    assert.equal(why(file(loop)), "its symbolic links form a loop");
  });

  it("that may not be read says whose it is", { skip: KEEPS_USER }, () => {
    chmodSync(folder, 0o755);
    const path = write("forbidden", "s3cret", 0o000);
    const owner = process.getuid?.() === 0 ? "root" : `uid ${process.getuid?.()}`;
    const read = asOrdinaryUser(() => file(path));
    assert.equal(why(read), `permission denied (mode 0000, owner ${owner})`);
  });

  it("in a closed folder says that the folder is closed", { skip: KEEPS_USER }, () => {
    chmodSync(folder, 0o755);
    const closed = join(folder, "closed");
    mkdirSync(closed);
    writeFileSync(join(closed, "key"), "s3cret");
    chmodSync(closed, 0o000);
    const read = asOrdinaryUser(() => file(join(closed, "key")));
    chmodSync(closed, 0o700);
    assert.equal(why(read), "permission denied (a folder above it cannot be entered)");
  });
});

describe("a credential", () => {
  it("is read from systemd's folder, and is never called world-readable", () => {
    write("crm-secret", "s3cret", 0o444);
    const read = withCredentials(folder, () => credential("crm-secret"));
    assert.deepEqual(read, { ok: true, text: "s3cret", worldReadable: false });
  });

  it("does not lead out of that folder", () => {
    for (const name of ["../passwd", "/etc/passwd", "a/b", "..", ".", ""]) {
      const read = withCredentials("/etc", () => credential(name));
      assert.equal(why(read), "a credential is named by a file name without a folder");
    }
  });

  it("is missing outside the unit", () => {
    const read = withCredentials(undefined, () => credential("crm-secret"));
    assert.equal(why(read), "systemd gave no credentials ($CREDENTIALS_DIRECTORY is not set)");
  });
});

function withCredentials<T>(directory: string | undefined, run: () => T): T {
  const before = process.env.CREDENTIALS_DIRECTORY;
  setEnvironment("CREDENTIALS_DIRECTORY", directory);
  try {
    return run();
  } finally {
    setEnvironment("CREDENTIALS_DIRECTORY", before);
  }
}

function setEnvironment(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}

describe("the environment", () => {
  it("gives a variable's value, and tells an empty one from none", () => {
    setEnvironment("FAIRLEAD_TEST_EMPTY", "");
    assert.equal(env("FAIRLEAD_TEST_EMPTY"), "");
    setEnvironment("FAIRLEAD_TEST_EMPTY", undefined);
    assert.equal(env("FAIRLEAD_TEST_EMPTY"), undefined);
  });
});

describe("the config file", () => {
  it("may have 1 MB, and not a byte more", () => {
    assert.ok(readConfigFile(write("large.yaml", "#".repeat(1_048_576))).ok);
    assert.equal(why(readConfigFile(write("huge.yaml", "#".repeat(1_048_577)))), "it is larger than 1MB");
  });
});

describe("a file that is read later", () => {
  it("is read, and refused, as it would be at once", async () => {
    const paths = [
      write("later", "s3cret ü\n", 0o640),
      write("later-open", "", 0o644),
      write("later-full", "x".repeat(1_048_576)),
      write("later-over", "x".repeat(1_048_577)),
      write("later-binary", Uint8Array.of(0xff, 0xfe, 0x41)),
      ...[folder, "/dev/zero", join(folder, "nowhere"), "/proc/self/status"],
    ];
    for (const path of paths.slice(0, -1)) assert.deepEqual(await readFileLater(path), file(path), path);
    // The size that the file system gives is 0.
    const status = await readFileLater("/proc/self/status");
    assert.ok(status.ok && status.text.length > 100);
  });
});

const find = makeFolder();
after(find[Symbol.dispose]);
chmodSync(find.folder, 0o755);
const closed = find.path("closed");
mkdirSync(closed);
const guarded = join(closed, "config.yaml");
writeFileSync(guarded, "");
chmodSync(closed, 0o700);
const openFile = find.path("config.yaml");
writeFileSync(openFile, "", { mode: 0o644 });
const missing = find.path("missing.yaml");

/** Modes do not hold root back, and do not hold back the owner of the folders here. */
const skip = NO_OTHER_USER;

function findAsOrdinaryUser(places: readonly string[]): string | null {
  return asOrdinaryUser(() => findConfigFile(undefined, places));
}

function adviceFor(path: string): string | null {
  return asOrdinaryUser(() => howToRead(path));
}

describe("where the config file is", () => {
  it("is the first place that has one", () => {
    assert.equal(findConfigFile(undefined, [missing, openFile, guarded]), openFile);
    assert.equal(findConfigFile(undefined, [missing]), null);
    assert.equal(findConfigFile("said.yaml", [openFile]), "said.yaml");
  });

  it("is a place that may not be looked at, where no other has one: there may be one", { skip }, () => {
    assert.equal(findAsOrdinaryUser([missing, guarded]), guarded);
    assert.equal(findAsOrdinaryUser([guarded, openFile]), openFile);
  });
});

describe("how a file that may not be read can be", () => {
  it("is nothing to say of a file that can be read, or that is not there", { skip }, () => {
    assert.equal(adviceFor(openFile), null);
    assert.equal(adviceFor(missing), null);
  });

  it("is by sudo where only its owner may", { skip }, () => {
    assert.equal(adviceFor(guarded), "use sudo");
  });

  it("is by its group as well, where that may: of the file, or of the folder that hides it", { skip }, () => {
    const shared = find.path("shared");
    mkdirSync(shared);
    writeFileSync(join(shared, "config.yaml"), "");
    // Group 1 is daemon wherever there is an /etc/group.
    chownTo(1, join(shared, "config.yaml"), 0o640);
    const advice = "use sudo, or join the group daemon (sudo usermod -aG daemon NAME, then log in again)";
    assert.equal(adviceFor(join(shared, "config.yaml")), advice);
    chownTo(1, shared, 0o750);
    assert.equal(adviceFor(join(shared, "config.yaml")), advice);
  });
});

function chownTo(gid: number, path: string, mode: number): void {
  chownSync(path, 0, gid);
  chmodSync(path, mode);
}

/** Whether both ways to look see that something is done. */
async function sees(file: string, doing: () => Promise<unknown>): Promise<boolean> {
  const before = await fileState(file);
  assert.equal(fileStateNow(file), before);
  await doing();
  const after = await fileState(file);
  assert.equal(fileStateNow(file), after);
  return after !== before;
}

describe("the state of a file", () => {
  it("stays the same while nothing is done to it", async () => {
    using f = makeFolder();
    await writeFile(f.path("a"), "a");
    assert.ok(!(await sees(f.path("a"), () => fileState(f.path("a")))));
  });

  it("is another when it is written, replaced, removed and made again, or opened to somebody", async () => {
    using f = makeFolder();
    const file = f.path("a");
    await writeFile(file, "a");
    assert.ok(await sees(file, () => writeFile(file, "bb")));
    await writeFile(f.path("other"), "cc");
    assert.ok(await sees(file, () => rename(f.path("other"), file)));
    assert.ok(await sees(file, () => chmod(file, 0o600)));
    assert.ok(await sees(file, () => rm(file)));
    assert.ok(await sees(file, () => writeFile(file, "cc")));
  });

  it("is another when a symbolic link on its way leads elsewhere", async () => {
    using f = makeFolder();
    for (const name of ["old.yaml", "new.yaml"]) await writeFile(f.path(name), "a");
    await symlink("old.yaml", f.path("link"));
    await symlink("new.yaml", f.path("next"));
    assert.ok(await sees(f.path("link"), () => rename(f.path("next"), f.path("link"))));
  });

  it("is a state too where there is no file", async () => {
    using f = makeFolder();
    await writeFile(f.path("a"), "a");
    assert.equal(await fileState(f.path("none")), "ENOENT");
    assert.equal(await fileState(f.path("a/below")), "ENOTDIR");
  });
});

describe("a folder", () => {
  it("is listed in the order of names, without hidden files and the copies of editors", async () => {
    using f = makeFolder();
    for (const name of ["b.yaml", "a.yaml", "A.yaml", "a.yaml~", ".a.yaml.swp", ".#a.yaml", "..data"]) {
      await writeFile(f.path(name), "");
    }
    const names = { ok: true, names: ["A.yaml", "a.yaml", "b.yaml"] };
    assert.deepEqual(createResolve().folder(f.path("")), names);
    assert.deepEqual(await listFolderLater(f.path("")), names);
  });

  it("says why it cannot be listed", async () => {
    using f = makeFolder();
    await writeFile(f.path("a"), "");
    assert.deepEqual(await listFolderLater(f.path("none")), { ok: false, why: "no such folder" });
    assert.deepEqual(createResolve().folder(f.path("a")), {
      ok: false,
      why: "it is not a folder",
    });
  });

  it("has another state when a file is added or removed, and not when one is written or edited", async () => {
    using f = makeFolder();
    const folder = f.path("conf.d/");
    assert.ok(await sees(folder, () => mkdir(folder)));
    assert.ok(await sees(folder, () => writeFile(f.path("conf.d/a.yaml"), "a")));
    assert.ok(!(await sees(folder, () => writeFile(f.path("conf.d/a.yaml"), "bb"))));
    assert.ok(!(await sees(folder, () => writeFile(f.path("conf.d/.a.yaml.swp"), "bb"))));
    assert.ok(await sees(folder, () => rename(f.path("conf.d/a.yaml"), f.path("conf.d/b.yaml"))));
    assert.ok(await sees(folder, () => rm(f.path("conf.d/b.yaml"))));
  });
});
