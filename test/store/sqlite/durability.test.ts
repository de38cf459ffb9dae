import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isFault } from "../../../src/model/fault.ts";
import { logOf } from "../../../src/store/sqlite/files.ts";
import { delivered, makeEntries, makeEntry } from "../make.ts";
import { commitsIn } from "./kill.ts";
import { failing, startOutbox, type TestOutbox } from "./start.ts";

describe("a receipt", () => {
  it("comes when another process can read the event, and not before", async () => {
    await using o = await startOutbox();
    const seen: unknown[] = [];
    const see = (): void => void seen.push(...o.sql("SELECT count(*) AS rows FROM events, deliveries"));
    const appending = o.s.append(makeEntry()).then(see);
    see();
    await Promise.resolve();
    see();
    await appending;
    assert.deepEqual(seen, [{ rows: 0 }, { rows: 0 }, { rows: 1 }]);
  });

  it("is not given while somebody else holds the file: nothing is stored, and the client is asked to try again", async () => {
    await using o = await startOutbox();
    o.shell.exec("BEGIN IMMEDIATE");
    const refusal = await o.s.store().append([makeEntry()]);
    assert.deepEqual(refusal, {
      code: "store_failed",
      message: "the calls could not be made durable; try again later",
      retryAfter: 10_000,
    });
    assert.deepEqual(o.sql("SELECT * FROM events"), []);
    assert.equal((await o.s.store().health.state()).writable, false);
    o.shell.exec("ROLLBACK");
    assert.deepEqual(await o.s.append(makeEntry()), ["accepted"]);
  });

  it("is refused at once to all who wait for the same commit, when nobody may write", async () => {
    await using o = await startOutbox();
    o.shell.exec("BEGIN IMMEDIATE");
    const answers = await Promise.all(makeEntries(50).map((entry) => o.s.append(entry)));
    assert.deepEqual(new Set(answers.flat()), new Set(["store_failed"]));
    assert.equal(o.s.told.length, 1);
    o.shell.exec("ROLLBACK");
    assert.equal(await o.s.store().health.probe(), true);
  });
});

describe("what comes at once", () => {
  it("is made durable by one commit, settlements too", async () => {
    await using o = await startOutbox();
    await o.s.append(...makeEntries(10, { ownId: true }));
    const waiting = await o.s.read();
    const before = await commitsIn(logOf(o.path));
    const settling = waiting.map((delivery) => o.s.store().settle(delivery, delivered(delivery, o.s.clock.now())));
    const appending = makeEntries(64).map((entry) => o.s.append(entry));
    const probing = o.s.store().health.probe();
    assert.deepEqual(new Set(await Promise.all(settling)), new Set(["written"]));
    assert.equal((await Promise.all(appending)).length, 64);
    assert.equal(await probing, true);
    assert.equal((await commitsIn(logOf(o.path))) - before, 1);
  });

  it("writes nothing if it only reads, or finds nothing to do", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry());
    await o.fold();
    const before = await commitsIn(logOf(o.path));
    await o.s.read();
    await o.s.store().backlog.oldestWaitingAt("crm");
    await o.s.prune({ delivered: 0, failed: 0, seen: 0 }, 100);
    await o.s.append(makeEntry());
    assert.equal((await commitsIn(logOf(o.path))) - before, 0);
  });
});

describe("a call that cannot be stored", () => {
  it("costs only itself, in the middle of a group", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    const [waiting] = await o.s.read();
    assert.ok(waiting);
    o.shell.exec(failing("contents", "new.about LIKE '%\"bad\"%'"));

    const settling = o.s.store().settle(waiting, delivered(waiting, o.s.clock.now()));
    const ids = ["m1", "m2", "bad", "m3", "m1"];
    const answers = await Promise.all(ids.map((messageId) => o.s.append(makeEntry({ messageId }))));
    assert.deepEqual(answers.flat(), ["accepted", "accepted", "store_failed", "accepted", "duplicate"]);
    assert.equal(await settling, "written");
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1", "crm waiting: 3"]);
    assert.deepEqual(o.sql("SELECT message_id FROM events ORDER BY id"), [
      ...["before", "m1", "m2", "m3"].map((id) => ({ message_id: id })),
    ]);
  });

  it("leaves counts, ids and repeats as they were: the next try is no duplicate", async () => {
    await using o = await startOutbox();
    o.shell.exec(failing("contents", "new.tail LIKE '%warehouse%'"));
    const batch = makeEntries(3, { deliverTo: ["crm", "warehouse"] });
    assert.deepEqual(await o.s.append(...batch), ["store_failed"]);
    assert.deepEqual(await o.s.counts(), []);
    assert.deepEqual(await o.s.read(), []);

    o.shell.exec("DROP TRIGGER failing_contents");
    assert.deepEqual(await o.s.append(...batch), ["accepted", "accepted", "accepted"]);
    assert.deepEqual(await o.s.append(...batch), ["duplicate", "duplicate", "duplicate"]);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 3", "warehouse waiting: 3"]);
    await o.s.reopen();
    assert.deepEqual(await o.s.append(...batch), ["duplicate", "duplicate", "duplicate"]);
  });
});

describe("a disk that fails", () => {
  it("refuses new calls and is not writable, until a probe or a commit succeeds", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry({ messageId: "before" }));
    breakDisk(o);
    const { health } = o.s.store();
    assert.deepEqual(await Promise.all(makeEntries(3).map((entry) => o.s.append(entry))), [
      ...[["store_failed"], ["store_failed"], ["store_failed"]],
    ]);
    assert.equal((await health.state()).writable, false);
    assert.equal(await health.probe(), false);
    assert.equal((await health.state()).writable, false);

    mendDisk(o);
    assert.equal(await health.probe(), true);
    assert.equal((await health.state()).writable, true);
    assert.deepEqual(await o.s.append(...makeEntries(3)), ["accepted", "accepted", "accepted"]);
  });

  it("is told to the operator, with what SQLite says", async () => {
    await using o = await startOutbox();
    breakDisk(o);
    await o.s.append(makeEntry());
    const [{ what, args } = { what: "", args: [] }] = o.s.told;
    assert.deepEqual([what, args[0]], ["storeFailed", "commit"]);
    assert.match(String(args[1]), /disk I\/O error/);
  });

  it("lets a settlement be tried again, and reads what waits", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry());
    const [delivery] = await o.s.read();
    assert.ok(delivery);
    breakDisk(o);
    const settle = () => o.s.store().settle(delivery, delivered(delivery, o.s.clock.now()));
    assert.ok(isFault(await settle()));
    assert.deepEqual(await o.s.read(), [delivery]);
    assert.deepEqual(await o.s.counts(), ["crm waiting: 1"]);
    mendDisk(o);
    assert.equal(await settle(), "written");
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1"]);
  });

  it("answers a prune with a fault, and loses nothing by it", async () => {
    await using o = await startOutbox();
    await o.s.append(makeEntry());
    for (const one of await o.s.read()) await o.s.store().settle(one, delivered(one, o.s.clock.now()));
    const all = o.s.clock.now() + 1;
    o.shell.exec("CREATE TRIGGER failing_seen BEFORE DELETE ON seen BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END");
    const refused = await o.s.store().prune({ delivered: all, failed: all, seen: all }, 10);
    assert.equal(isFault(refused) && refused.code, "store_failed");
    assert.ok(o.s.told.some(({ what, args }) => what === "storeFailed" && /disk I\/O error/.test(String(args[1]))));
    assert.deepEqual(await o.s.counts(), ["crm delivered: 1"]);
    assert.deepEqual(await o.s.append(makeEntry()), ["duplicate"]);
    o.shell.exec("DROP TRIGGER failing_seen");
    const { delivered: count, seen } = await o.s.prune({ delivered: all, failed: all, seen: all }, 10);
    assert.deepEqual([count, seen], [1, 1]);
  });
});

function breakDisk({ shell }: TestOutbox): void {
  for (const table of ["contents", "segments"]) shell.exec(failing(table));
  shell.exec(failing("progress", "true", "UPDATE"));
  shell.exec(failing("meta"));
}

function mendDisk({ shell }: TestOutbox): void {
  for (const table of ["contents", "segments", "progress", "meta"]) shell.exec(`DROP TRIGGER failing_${table}`);
}
