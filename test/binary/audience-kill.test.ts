import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { startReceiver } from "./receiver.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, type World } from "./world.ts";

const USERS = 20_000;
const PATH = "/api/sources/website/audiences/Big%20Spenders";

/** As `u1 true`. */
function toldBy(bodies: readonly string[]): ReadonlySet<string> {
  const calls = bodies.map((body) => JSON.parse(body) as { userId: string; traits: { big_spenders: boolean } });
  return new Set(calls.map(({ userId, traits }) => `${userId} ${traits.big_spenders}`));
}

/** The messageIds of all events that are in the outbox. */
async function storedIds(w: World): Promise<readonly string[]> {
  const db = await openDatabase(w.path("fairlead.db"));
  const ids = db.prepare<[], string>("SELECT message_id FROM events").pluck().all();
  db.close();
  return ids;
}

async function sync(admin: string): Promise<{ readonly state: string; readonly done: number }> {
  const answer = (await (await fetch(`${admin}${PATH}`)).json()) as { audience: { lastSync: never } };
  return answer.audience.lastSync;
}

describe("kill -9 in the middle of a sync", () => {
  it("loses no change, and makes none twice: the next start goes on with it", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    let daemon = await w.serve();
    const users = (from: number): string =>
      JSON.stringify(Array.from({ length: USERS }, (_, n) => `u${String(from + n).padStart(6, "0")}`));
    const put = (body: string, query = ""): Promise<Response> =>
      fetch(`${daemon.admin}${PATH}${query}`, {
        ...{ method: "PUT", headers: { "Content-Type": "application/json" }, body },
      });

    for (const [list, expected] of [
      [users(0), USERS],
      [users(USERS / 2), USERS],
    ] as const) {
      const answering = put(list).catch(() => null);
      let killed = 0;
      for (;;) {
        const now = await sync(daemon.admin).catch(() => null);
        if (now?.state === "running" && now.done > 0 && now.done < expected && killed < 2) {
          daemon.process.kill("SIGKILL");
          await daemon.process.exit;
          killed += 1;
          daemon = await w.serve();
        }
        if (killed > 0 && (await sync(daemon.admin)).state === "finished") break;
      }
      await answering;
      assert.ok(killed > 0);
    }

    const ids = await storedIds(w);
    assert.equal(ids.length, 2 * USERS);
    assert.equal(new Set(ids).size, ids.length);
    await receiver.all(ids);
    const told = toldBy(receiver.hooks.map(({ body }) => body));
    assert.equal(told.size, 2 * USERS);
    assert.ok(
      told.has("u000000 true") && told.has("u000000 false") && told.has(`u${String(USERS).padStart(6, "0")} true`),
    );
    assert.ok(!told.has(`u${String(USERS / 2).padStart(6, "0")} false`));
    const again = (await (await put(users(USERS / 2), "?dryRun=1")).json()) as { added: number; removed: number };
    assert.deepEqual([again.added, again.removed], [0, 0]);
  });
});
