import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverStopped } from "../../../src/model/destination-clock.ts";
import { isFault } from "../../../src/model/fault.ts";
import type { StoreChange } from "../../../src/model/ports.ts";
import { ConnectionLost } from "../../../src/store/postgres/errors.ts";
import { openPostgres } from "../../../src/store/postgres/store.ts";
import { startStore } from "../harness.ts";
import { delivered, makeEntry } from "../make.ts";
import { openOn } from "./bed.ts";
import { startPglite } from "./pglite.ts";

/** First successes are settled by a statement that is a transaction by itself. */
const COMMITS = /^COMMIT$|'synchronous_commit', 'off'/;

/** Stores whose next commit is made, but not answered, once `lose` was called. */
function createLossy() {
  let isLosing = false;
  const open = openOn(startPglite, ({ pool, ...place }) =>
    openPostgres({
      ...place,
      name: "daemon",
      about: "{}",
      pool: {
        ...pool,
        async connect() {
          const connection = await pool.connect();
          return {
            ...connection,
            async query<R>(text: string, values?: readonly unknown[]) {
              const rows = await connection.query<R>(text, values);
              if (!isLosing || !COMMITS.test(text)) return rows;
              isLosing = false;
              throw new ConnectionLost("in the middle of a commit");
            },
          };
        },
      },
    }),
  );
  function lose(): void {
    isLosing = true;
  }
  return { open, lose };
}

describe("an operator's change whose commit was not answered", () => {
  it("counts here too when it was made: a pause", async () => {
    const lossy = createLossy();
    await using s = await startStore(lossy.open);
    const heard: StoreChange[] = [];
    s.store().changes((change) => void heard.push(change));
    const paused = { ...neverStopped("crm"), pausedAt: 300, stoppedAt: 300 };
    lossy.lose();
    assert.ok(isFault(await s.store().clocks.save([paused], "command")));
    await s.clock.advance("2s");
    assert.deepEqual(heard, [{ kind: "clocks", clocks: [paused] }]);
    assert.deepEqual(await s.store().clocks.all(), [paused]);
  });

  it("counts here too when it was made: the suppression of a user", async () => {
    const lossy = createLossy();
    await using s = await startStore(lossy.open);
    const { record, suppressed } = s.store().deletions;
    const request = { id: "del-1", requestedAt: 5, userIds: ["u1"], sources: null, affected: [], untold: [] };
    lossy.lose();
    assert.ok(isFault(await record({ ...request, erase: false, suppress: true })));
    await s.clock.advance("2s");
    assert.deepEqual(await suppressed.among(["u1"], "website"), new Set(["u1"]));
  });
});

describe("a commit that was not answered", () => {
  it("has written a settlement, which counts", async () => {
    const lossy = createLossy();
    await using s = await startStore(lossy.open);
    await s.append(makeEntry());
    const [delivery = assert.fail()] = await s.read();
    lossy.lose();
    const settlement = delivered(delivery, s.clock.now());
    assert.ok(isFault(await s.store().settle(delivery, settlement)));
    assert.equal(await s.store().settle(delivery, settlement), "gone");
    await s.clock.advance("3s");
    assert.deepEqual(await s.counts(), ["crm delivered: 1"]);
  });

  it("has stored an event that changes others, which is delivered", async () => {
    const lossy = createLossy();
    await using s = await startStore(lossy.open);
    lossy.lose();
    assert.deepEqual(await s.append({ ...makeEntry(), withdraws: { events: [], reason: "superseded" } }), ["accepted"]);
    assert.equal((await s.read()).length, 1);
    assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
  });

  it("has told the others once that this daemon is alive, and what it has counted", async () => {
    const lossy = createLossy();
    await using s = await startStore(lossy.open);
    await s.append(makeEntry());
    lossy.lose();
    await s.clock.advance("5s");
    assert.deepEqual(await s.counts(), ["crm waiting: 1"]);
  });
});
