import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import { delivered, failed, makeEntries, makeEntry, retried } from "../make.ts";
import { failing, startOutbox } from "./start.ts";

describe("a commit of calls and settlements that is rolled back", () => {
  it("is tried one by one, and leaves letters, counts and numbers as if the bad ones had not been there", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    await o.s.append(...makeEntries(6, { ownId: true }));
    const all = await o.s.read();
    o.shell.exec(failing("contents", "new.tail LIKE '%warehouse%'"));
    const settle = (nth: number, end = delivered) => {
      const delivery = all[nth] ?? assert.fail();
      return o.s.store().settle(delivery, end(delivery, now));
    };
    const append = (messageId: string, ...deliverTo: string[]) => o.s.append(makeEntry({ messageId, deliverTo }));

    const settling = [settle(0), settle(1, failed), settle(0, failed)];
    const appending = [append("a", "crm"), append("bad", "crm", "warehouse"), append("b", "crm"), append("c")];
    settling.push(settle(2, retried), settle(3), settle(3));
    appending.push(append("worse", "warehouse"), append("a", "crm"), append("d", "crm"));
    assert.deepEqual(await Promise.all(settling), ["written", "written", "gone", "written", "written", "gone"]);
    assert.deepEqual((await Promise.all(appending)).flat(), [
      ...["accepted", "store_failed", "accepted", "accepted", "store_failed", "duplicate", "accepted"],
    ]);

    const counts = ["crm delivered: 2", "crm failed: 1", "crm waiting: 6"];
    assert.deepEqual(await o.s.counts(), counts);
    await o.fold();
    assert.deepEqual(o.sql("SELECT segment, waiting, states FROM progress ORDER BY segment"), [
      { segment: 1, waiting: 2, states: "dttdww" },
      ...[7, 8, 10].map((segment) => ({ segment, waiting: 1, states: "w" })),
    ]);
    assert.deepEqual(o.sql("SELECT events, open FROM segments ORDER BY first"), [
      { events: 6, open: 2 },
      ...[1, 1, 0, 1].map((open) => ({ events: 1, open })),
    ]);
    assert.deepEqual(o.sql("SELECT event, state FROM tried ORDER BY event"), [
      { event: 2, state: "failed" },
      { event: 3, state: "waiting" },
    ]);
    await o.s.reopen();
    assert.deepEqual(await o.s.counts(), counts);
    await o.s.append(makeEntry({ messageId: "e" }));
    assert.deepEqual(o.sql("SELECT id, message_id FROM events WHERE id > 6 ORDER BY id"), [
      ...["a", "b", "c", "d", "e"].map((id, nth) => ({ id: 7 + nth, message_id: id })),
    ]);
  });

  it("leaves everything as it was if none of it can be written, and is written when it can", async () => {
    await using o = await startOutbox();
    const now = o.s.clock.now();
    await o.s.append(...makeEntries(4, { ownId: true }));
    await o.fold();
    const [one, two, three] = await o.s.read();
    assert.ok(one && two && three);
    const write = async () => {
      const work: Promise<unknown>[] = [o.s.store().settle(one, delivered(one, now))];
      work.push(o.s.append(makeEntry({ messageId: "a" })), o.s.store().settle(two, retried(two, now)));
      work.push(o.s.append(makeEntry({ messageId: "b" })), o.s.store().settle(three, failed(three, now)));
      const answers = (await Promise.all(work)).flat();
      return answers.map((answer) => (isFault(answer) ? answer.code : answer));
    };
    const rows = () =>
      ["contents", "segments", "progress", "tried", "counts"].map((table) => o.sql(`SELECT * FROM ${table}`));
    const before = rows();
    o.shell.exec(failing("progress", "true", "UPDATE"));
    o.shell.exec(failing("contents"));
    assert.deepEqual(await write(), Array(5).fill("store_failed"));
    assert.deepEqual(rows(), before);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 4"]);
    assert.deepEqual((await o.s.read()).length, 4);
    o.shell.exec("DROP TRIGGER failing_progress; DROP TRIGGER failing_contents");
    assert.deepEqual(await write(), ["written", "accepted", "written", "accepted", "written"]);
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1", "crm failed: 1", "crm waiting: 4"]);
    await o.fold();
    assert.deepEqual(o.sql("SELECT segment, states FROM progress ORDER BY segment"), [
      { segment: 1, states: "dttw" },
      { segment: 5, states: "ww" },
    ]);
  });
});
