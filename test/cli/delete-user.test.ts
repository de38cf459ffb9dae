import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import { inParts } from "../../src/cli/delete-user.ts";
import type { DeletionRequest } from "../../src/model/deletion.ts";
import { fault } from "../../src/model/fault.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

/** The operator's API of a daemon that takes so many requests, and a command that asks it. */
async function startAdmin({ takes = 100 } = {}) {
  const wishes: DeletionRequest[] = [];
  const world: Partial<AdminWorld> = {
    async requestDeletion(wish) {
      if (wishes.length === takes) return fault("store_full", "the outbox is full");
      wishes.push(wish);
      const id = `del-${wishes.length}`;
      const untold = wish.userIds.includes("old-timer") ? ["lake"] : [];
      if (wish.userIds.includes("nobodys")) return { id, status: "running", notifications: 0, sources: [], untold };
      return { id, status: "running", notifications: 2 * wish.userIds.length, sources: ["website"], untold };
    },
  };
  const daemon = await serveAdmin(world);
  const folder = await mkdtemp(join(tmpdir(), "fairlead-delete-"));
  return {
    wishes,
    async file(text: string | Uint8Array): Promise<string> {
      await writeFile(join(folder, "users.txt"), text);
      return join(folder, "users.txt");
    },
    run: (...args: readonly string[]) => daemon.run(["delete-user", ...args]),
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}

describe("fairlead delete-user", () => {
  it("has users deleted, and says where to see how far that is", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.run("u1", "u2", "u1", "--source", "website", "--source", "app", "--yes");
    const said = "del-1: 2 users, 4 notifications\nTo follow the progress: fairlead deletions show del-1\n";
    assert.deepEqual([code, out, err], [0, said, ""]);
    const wish = { userIds: ["u1", "u2"], sources: ["website", "app"], erase: false, suppress: false };
    assert.deepEqual(admin.wishes, [wish]);
  });

  it("names who is not told, and says when nobody is", SLOW, async () => {
    await using admin = await startAdmin();
    const { out } = await admin.run("old-timer", "--yes");
    assert.match(
      out,
      /^del-1: 1 user, 2 notifications\n {2}not notified: lake, which received events and is no longer in the config\n/,
    );
    const nobody = await admin.run("nobodys", "--yes");
    assert.match(
      nobody.out,
      /^del-2: 1 user, 0 notifications\n {2}no destination gets events of these sources, so there is none to notify\n/,
    );
  });

  it("takes them from a file, as many requests as it needs", SLOW, async () => {
    await using admin = await startAdmin();
    const ids = Array.from({ length: 2_500 }, (_, n) => `user-${n}`);
    const file = await admin.file(`${ids.join("\r\n")}\n\nuser-7\n`);
    const { code, out } = await admin.run("--from", file, "--erase", "--suppress", "--yes", "--json");
    assert.equal(code, 0);
    assert.deepEqual(
      JSON.parse(out).requested.map(({ id, users }: { id: string; users: number }) => [id, users]),
      [
        ["del-1", 1_000],
        ["del-2", 1_000],
        ["del-3", 500],
      ],
    );
    assert.deepEqual(
      admin.wishes.flatMap(({ userIds }) => userIds),
      ids,
    );
    assert.ok(admin.wishes.every(({ erase, suppress, sources }) => erase && suppress && sources === null));
  });

  it("does nothing without --yes where nobody can be asked", SLOW, async () => {
    await using admin = await startAdmin();
    const { code, out, err } = await admin.run("u1", "u2", "--erase");
    assert.deepEqual([code, out, admin.wishes.length], [2, "", 0]);
    assert.equal(
      err,
      "fairlead: Every destination that gets events of all sources will be notified to delete 2 users; Fairlead's own data about them will be erased. " +
        "Continue? Add --yes to confirm\n",
    );
  });

  it("says how far it came when the daemon takes no more", SLOW, async () => {
    await using admin = await startAdmin({ takes: 1 });
    const file = await admin.file(Array.from({ length: 1_200 }, (_, n) => `${n}`).join("\n"));
    const { code, out, err } = await admin.run("--from", file, "--yes");
    assert.equal(code, 1);
    assert.match(out, /^del-1: 1,000 users/);
    assert.match(
      err,
      /store_full: the outbox is full; the deletion of the first 1,000 users was requested, that of the others was not\n$/,
    );
  });

  it("wants to know whom, in a file that can be read", SLOW, async () => {
    await using admin = await startAdmin();
    for (const [args, message] of [
      [[], /^fairlead: name the users, /],
      [["--from", await admin.file("\n\n")], /users\.txt contains no userId/],
      [["--from", "/nowhere/users.txt"], /^fairlead: cannot read \/nowhere\/users\.txt: /],
      [["--from", await admin.file(new Uint8Array([0xff, 0x0a]))], /it is not UTF-8/],
    ] as const) {
      const { code, err } = await admin.run(...args, "--yes");
      assert.notEqual(code, 0);
      if (!String(message).includes("contains no userId")) assert.match(err, message);
    }
    assert.equal(admin.wishes.length, 0);
  });
});

describe("the parts of a list of users", () => {
  it("have a thousand each at most, and fit into a request", () => {
    const long = Array.from({ length: 30 }, (_, n) => `${n}${"x".repeat(20_000)}`);
    const parts = inParts(long);
    assert.deepEqual(parts.flat(), long);
    assert.ok(parts.every((part) => JSON.stringify(part).length < 500_000));
    assert.deepEqual(inParts([]), []);
  });
});
