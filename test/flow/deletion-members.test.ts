import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { GB, MB } from "../../src/model/units.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeSource } from "./make.ts";
import { ONLY_SQLITE } from "./outbox.ts";

function audience(source: string): string {
  return `/api/sources/${source}/audiences/huge`;
}

/** Of this user, as `identify true` and `delete`. */
function toldOf({ sent }: TestDaemon, user: string): readonly string[] {
  const calls = sent.map(({ body }) => JSON.parse(body)).filter(({ userId }) => userId === user);
  return calls.map(({ type, traits }) => (type === "identify" ? `identify ${Object.values(traits)}` : type));
}

async function sizeOf(d: TestDaemon, source = "website"): Promise<unknown> {
  const { json } = await d.admin("GET", `/api/sources/${source}/audiences`);
  return (json.audiences as { size: number }[])[0]?.size;
}

const MANY = Array.from({ length: 2_000 }, (_, n) => `u${String(n).padStart(4, "0")}`);
const LAST = "u1999";

describe("a user who is deleted while a list tells of them", () => {
  it("is out of the sync that runs, and of the audience: nothing comes behind the deletion", async () => {
    await using d = await startDaemon();
    const syncing = d.admin("PUT", audience("website"), { body: MANY });
    // The sync has begun once its first calls are there.
    while (d.sent.length === 0) await d.clock.nextTurn();
    assert.deepEqual(toldOf(d, LAST), []);
    assert.equal((await d.admin("POST", "/api/deletions", { body: { userIds: [LAST] } })).status, 200);
    await syncing;
    await d.clock.advance("1m");
    assert.deepEqual(toldOf(d, LAST), ["delete"]);
    assert.equal(d.sent.length, MANY.length);
    assert.equal(await sizeOf(d), MANY.length - 1);
  });

  it("is not told of by a later list if suppressed, and that is counted; otherwise whoever sends the list adds the user again", async () => {
    for (const suppress of [true, false]) {
      await using d = await startDaemon();
      await d.admin("PUT", audience("website"), { body: ["u1", "u2"] });
      await d.clock.advance("1m");
      await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], suppress } });
      await d.clock.advance("1m");
      assert.equal(await sizeOf(d), 1);
      await d.admin("PUT", audience("website"), { body: ["u1", "u2", "u3"] });
      await d.clock.advance("1m");
      const before = ["identify true", "delete"];
      assert.deepEqual(toldOf(d, "u1"), suppress ? before : [...before, "identify true"]);
      assert.deepEqual(toldOf(d, "u3"), ["identify true"]);
      assert.equal(await sizeOf(d), suppress ? 2 : 3);
      const refused = d.told.filter(({ what }) => what === "callRejected");
      assert.equal(refused.length, suppress ? 1 : 0);
    }
  });

  it("stays in the audiences of a source that the deletion does not name", async () => {
    const config = makeConfig({
      sources: [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })],
      destinations: [makeDestination()],
    });
    await using d = await startDaemon({ config });
    for (const source of ["website", "app"]) await d.admin("PUT", audience(source), { body: ["u1", "u2"] });
    await d.clock.advance("1m");
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], sources: ["website"] } });
    await d.clock.advance("1m");
    assert.deepEqual([await sizeOf(d, "website"), await sizeOf(d, "app")], [1, 2]);
  });
});

/** The audience has these users, and everyone has been told. */
async function sync(d: TestDaemon, users: readonly string[]): Promise<void> {
  const answer = await d.admin("PUT", audience("website"), { body: users });
  assert.equal(answer.status, 200, answer.text);
  await d.clock.advance("1m");
}

describe("a deletion that is refused", () => {
  it("has done nothing: the user is a member still, and the list without them sends false", ONLY_SQLITE, async () => {
    let free = GB;
    await using d = await startDaemon({
      config: { outbox: { ...makeConfig().outbox, freeDisk: 64 * MB } },
      space: async () => ({ free, total: 2 * GB }),
    });
    await sync(d, ["u1", "u2"]);
    free = 12 * MB;
    await d.clock.advance("5s");
    const refused = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], erase: true, suppress: true } });
    assert.deepEqual([refused.status, refused.json.code], [503, "store_full"]);
    free = GB;
    await d.clock.advance("5s");
    assert.equal(await sizeOf(d), 2);
    await sync(d, ["u2"]);
    assert.deepEqual(toldOf(d, "u1"), ["identify true", "identify false"]);
  });
});

describe("a user who is a member again before they are erased", () => {
  /** From a crash in any of these moments on. */
  const CRASHES = ["never", "when it was requested", "when the list came", "when all was erased"] as const;
  for (const crash of CRASHES) {
    it(`stays one, and leaves with the next list without them (crash: ${crash})`, async () => {
      let down = false;
      const answers = ({ body }: { body: string }) => (down && JSON.parse(body).type === "delete" ? 503 : 200);
      const begun = await startDaemon({ answers });
      let d = begun;
      const sent: string[] = [];
      const step = async (moment: (typeof CRASHES)[number]): Promise<void> => {
        if (moment !== crash) return;
        sent.push(...toldOf(d, "u1"));
        d = await d.crash({ answers });
      };
      try {
        await sync(d, ["u1", "u2"]);
        down = true;
        const { json } = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], erase: true } });
        await step("when it was requested");
        await d.clock.advance("1m");
        assert.equal(await sizeOf(d), 1);
        await sync(d, ["u1", "u2"]);
        await step("when the list came");
        down = false;
        await d.clock.advance("20m");
        const { status, stage } = (await d.admin("GET", `/api/deletions/${json.id}`)).json;
        assert.deepEqual([status, stage], ["finished", "done"]);
        await step("when all was erased");
        assert.equal(await sizeOf(d), 2);
        await sync(d, ["u2"]);
        const identified = [...sent, ...toldOf(d, "u1")].filter((what) => what !== "delete");
        assert.deepEqual(identified, ["identify true", "identify true", "identify false"]);
        assert.equal(await sizeOf(d), 1);
      } finally {
        await d.stop();
      }
    });
  }
});
