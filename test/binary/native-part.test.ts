import assert from "node:assert/strict";
import { chmod, chown, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { ROOT } from "./binary.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, type World } from "./world.ts";

const TRACK = { userId: "u1", event: "Signed Up", messageId: "m-1" };
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** A folder as /tmp is: anybody may write there, and remove what is their own. */
async function makeSticky(w: World): Promise<string> {
  await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9/hooks" }));
  await mkdir(w.path("sticky"));
  await chmod(w.path("sticky"), 0o1777);
  return w.path("sticky");
}

/** What Bun itself would write there and run: it trusts a file of this name and size. */
async function readNativePart(): Promise<{ readonly name: string; readonly bytes: Buffer }> {
  const bytes = await readFile(join(ROOT, `node_modules/better-sqlite3/prebuilds/linux-${process.arch}.node`));
  return { name: `.bun-${process.getuid?.()}-${Bun.hash(bytes).toString(16)}.node`, bytes };
}

/** The file is right but for what it does: it would crash whoever runs it. */
function spoil(bytes: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, 4_096), Buffer.alloc(bytes.length - 4_096)]);
}

async function serveAndCall(w: World, folder: string): Promise<void> {
  const daemon = await w.serve({ env: { TMPDIR: folder } });
  assert.equal((await daemon.call("/v1/track", TRACK)).status, 200);
  daemon.process.kill("SIGKILL");
  await daemon.process.exit;
}

describe("SQLite's native part", () => {
  it("leaves nothing in a sticky folder, not even after kill -9", PATIENT, async () => {
    await using w = await makeWorld();
    const sticky = await makeSticky(w);
    await serveAndCall(w, sticky);
    assert.deepEqual(await readdir(sticky), []);
  });

  it("is not taken from a damaged file that lies in the temporary folder, which stays as it is", PATIENT, async () => {
    await using w = await makeWorld();
    const sticky = await makeSticky(w);
    const { name, bytes } = await readNativePart();
    const damaged = spoil(bytes);
    await writeFile(join(sticky, name), damaged, { mode: 0o600 });
    await serveAndCall(w, sticky);
    assert.deepEqual(await readdir(sticky), [name]);
    assert.ok(damaged.equals(await readFile(join(sticky, name))));
  });

  it("is not taken from a link, nor from a file of another user that all may write", PATIENT, async (t) => {
    await using w = await makeWorld();
    const sticky = await makeSticky(w);
    const { name, bytes } = await readNativePart();
    await w.write("elsewhere", spoil(bytes).toString("latin1"));
    await symlink(w.path("elsewhere"), join(sticky, name));
    await serveAndCall(w, sticky);
    if (!isRoot) return t.skip("only root can make a file that is another user's");

    await mkdir(w.path("second"));
    await chmod(w.path("second"), 0o1777);
    const planted = join(w.path("second"), name);
    await writeFile(planted, spoil(bytes));
    await chmod(planted, 0o666);
    await chown(planted, NOBODY, NOBODY);
    await serveAndCall(w, w.path("second"));
  });

  it("needs no temporary folder: without one, it is loaded from memory", PATIENT, async () => {
    await using w = await makeWorld();
    await makeSticky(w);
    await serveAndCall(w, w.path("not-there"));
  });

  it("is not unpacked to say the version", PATIENT, async () => {
    await using w = await makeWorld();
    const sticky = await makeSticky(w);
    const version = w.run(["version"], { env: { TMPDIR: sticky } });
    assert.equal((await version.exit).code, 0);
    assert.deepEqual(await readdir(sticky), []);
  });
});
