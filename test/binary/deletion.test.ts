import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { type Hook, startPlace, startReceiver } from "./receiver.ts";
import { createWaiting, PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

const USERS = 3_000;

async function request(daemon: Daemon, body: object): Promise<string> {
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(`${daemon.admin}/api/deletions`, { method: "POST", headers, body: JSON.stringify(body) });
  const { id } = (await answer.json()) as { id: string };
  assert.equal(answer.status, 200);
  return id;
}

function userOf({ body }: Hook): string {
  return JSON.parse(body).userId;
}

/** The messageIds of the notifications that are stored. */
async function stored(w: World): Promise<readonly string[]> {
  const db = await openDatabase(w.path("fairlead.db"));
  const ids = db.prepare<[], string>("SELECT message_id FROM events WHERE type = 'delete'").pluck().all();
  db.close();
  return ids;
}

describe("a deletion of many users", () => {
  it("goes on after SIGKILL: each notification is made, and none twice", PATIENT, async () => {
    const waiting = createWaiting();
    const told = new Map<string, Set<string>>();
    await using receiver = startReceiver((hook) => {
      const { type, userId } = JSON.parse(hook.body);
      if (type !== "delete") return 503;
      told.set(userId, (told.get(userId) ?? new Set()).add(hook.headers.get("webhook-id") ?? ""));
      waiting.look();
      return 200;
    });
    await using w = await makeWorld();
    const config = JSON.parse(makeConfig({ url: receiver.url }));
    config.destinations.crm.standardWebhooks = true;
    await w.write("config.yaml", JSON.stringify(config));
    const first = await w.serve();
    const batch = Array.from({ length: 500 }, (_, n) => ({ type: "track", userId: `user-${n * 2}`, event: "Late" }));
    await first.call("/v1/batch", { batch });
    const ids: string[] = [];
    for (let n = 0; n < USERS; n += 1_000) {
      await waiting.until(
        () => told.size >= n,
        () => `${told.size} users have been told of`,
      );
      const userIds = Array.from({ length: 1_000 }, (_, nth) => `user-${n + nth}`);
      ids.push(await request(first, { userIds }));
    }
    // The last request has begun, and cannot have come far.
    await waiting.until(
      () => told.size > USERS - 1_000,
      () => `${told.size} users have been told of`,
    );
    first.process.kill("SIGKILL");
    await first.process.exit;
    const made = await stored(w);
    assert.ok(made.length > USERS - 1_000 && made.length < USERS, `${made.length} were made before the kill`);

    const second = await w.serve();
    await waiting.until(
      () => told.size === USERS,
      () => `${told.size} of ${USERS} users have been told of`,
    );
    assert.ok([...told.values()].every((messageIds) => messageIds.size === 1));
    const all = await stored(w);
    assert.deepEqual([all.length, new Set(all).size], [USERS, USERS]);
    assert.ok(made.every((id) => all.includes(id)));
    const calls = receiver.hooks.filter(({ body }) => JSON.parse(body).type === "track").length;
    await settled(second, ids);
    const late = (await w.rows()).filter(({ state }) => state === "waiting");
    assert.deepEqual(late, [], `after ${calls} attempts for what was there before`);
  });

  it("removes a user who is erased from the files, and tells how to recognise them", PATIENT, async () => {
    await using place = await startPlace();
    const { receiver, w, daemon } = place;
    await daemon.call("/v1/track", { userId: "erase-me-4711", event: "E" });
    await daemon.call("/v1/track", { userId: "somebody-else", event: "E" });
    await receiver.count(2);
    const env = { FAIRLEAD_ADMIN: daemon.admin };
    const asked = await w.run(["delete-user", "erase-me-4711", "--erase", "--suppress", "--yes", "--json"], { env })
      .exit;
    assert.equal(asked.code, 0);
    const [, , notice] = await receiver.count(3);
    assert.ok(notice);
    assert.equal(userOf(notice), "erase-me-4711");
    const list = await fetch(`${daemon.admin}/api/deletions`);
    const { deletions } = (await list.json()) as { deletions: { id: string }[] };
    await settled(
      daemon,
      deletions.map(({ id }) => id),
    );
    for (const end of ["", "-wal", "-shm"]) {
      const bytes = await readFile(w.path(`fairlead.db${end}`));
      assert.ok(!bytes.includes("erase-me-4711"), `the id is still in fairlead.db${end}`);
    }
    assert.equal((await daemon.call("/v1/track", { userId: "erase-me-4711", event: "E" })).status, 403);
    assert.equal((await daemon.call("/v1/track", { userId: "somebody-else", event: "E" })).status, 200);
  });
});

async function settled(daemon: Daemon, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const answer = await fetch(`${daemon.admin}/api/deletions/${id}`);
      const { stage, status } = (await answer.json()) as { stage: string; status: string };
      if (stage === "done") {
        assert.equal(status, "finished");
        break;
      }
    }
  }
}
