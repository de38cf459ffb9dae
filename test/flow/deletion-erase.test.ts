import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { HOUR } from "../../src/model/units.ts";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { SLOW } from "../slow.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig } from "./make.ts";
import type { Behaviour } from "./network.ts";
import { ENGINE, ONLY_SQLITE } from "./outbox.ts";

const ID = "erase-me-4711";

async function remove(d: TestDaemon, body: object): Promise<string> {
  const { status, json } = await d.admin("POST", "/api/deletions", { body });
  assert.equal(status, 200, JSON.stringify(json));
  await d.clock.advance("3s");
  return String(json.id);
}

async function show(d: TestDaemon, id: string) {
  return (await d.admin("GET", `/api/deletions/${id}`)).json;
}

/** All bodies and lists that the operator can get; compressed ones are not found in the files. */
async function shown(d: TestDaemon): Promise<string> {
  const list = await d.admin("GET", "/api/deliveries?limit=1000");
  const ids = (list.json.deliveries as { id: string }[]).map(({ id }) => id);
  const all = [list.text, (await d.admin("GET", "/api/rejected?limit=100")).text];
  for (const id of ids) all.push((await d.admin("GET", `/api/deliveries/${id}`)).text);
  return all.join("\n");
}

/** What is in the log goes into the file, as it does after some MB. */
async function checkpoint(d: TestDaemon): Promise<void> {
  if (ENGINE === "sqlite") await d.query("PRAGMA wal_checkpoint(PASSIVE)");
}

function answering(...answers: readonly Behaviour[]): () => Behaviour {
  let nth = 0;
  return () => answers[nth++] ?? 200;
}

describe("a user who is erased", () => {
  it("is in no file of the outbox any more once the notification has gone out; others are", async () => {
    await using d = await startDaemon({ answers: answering(200, { status: 400, body: `no ${ID}` }, 503) });
    for (const n of [1, 2, 3]) {
      await d.call("/v1/track", {
        userId: ID,
        event: "E",
        messageId: `${ID}-${n}`,
        properties: { mail: `${ID}@x.org` },
      });
    }
    await d.call("/v1/alias", { previousId: ID, userId: "other-user" });
    await d.call("/v1/track", { userId: "other-user", event: "Kept" });
    await d.call("/v1/track", { userId: ID });
    assert.match(await shown(d), new RegExp(ID));
    assert.notDeepEqual(await d.outbox.findText(ID), []);
    const id = await remove(d, { userIds: [ID], erase: true });
    assert.partialDeepStrictEqual(await show(d, id), {
      status: "finished",
      stage: "done",
      erased: { events: 5, deliveries: 2 },
    });
    assert.deepEqual(await d.outbox.findText(ID), []);
    assert.doesNotMatch(await shown(d), new RegExp(ID));
    assert.deepEqual(await d.outbox.findText("Kept"), [ENGINE === "sqlite" ? "db" : "segments"]);
    assert.equal(JSON.parse(d.sent.at(-1)?.body ?? "").userId, ID);
  });

  it("leaves counts, and a receipt that only who knows the userId can match", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", { userId: ID, event: "E" });
    const before = await d.rows();
    const id = await remove(d, { userIds: [ID, "never-seen"], erase: true });
    const receipt = await show(d, id);
    assert.equal("salt" in receipt, false);
    const { salt } = (await d.admin("GET", "/api/deletions/salt")).json;
    const { people } = receipt;
    const sha = async (text: string) =>
      Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))).toString("hex");
    assert.deepEqual(people, [
      { userId: null, hash: await sha(`${salt}:${ID}`), suppressed: false },
      { userId: null, hash: await sha(`${salt}:never-seen`), suppressed: false },
    ]);
    assert.equal(((await d.admin("GET", `/api/deletions?user=${ID}`)).json.deletions as unknown[]).length, 1);
    const after = await d.rows();
    assert.deepEqual(
      after.slice(0, 1).map(({ state, event }) => [event, state]),
      before.map(({ state, event }) => [event, state]),
    );
    const { json } = await d.admin("GET", "/api/status");
    assert.partialDeepStrictEqual(json, { destinations: [{ counts: { waiting: 0, delivered: 3, failed: 0 } }] });
  });

  it("is not sent again: what is left of an event says nothing", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", { userId: ID, event: "E" });
    await remove(d, { userIds: [ID], erase: true });
    const { json } = await d.admin("POST", "/api/replay", { body: { filter: { state: "delivered" } } });
    assert.partialDeepStrictEqual(json, { replayed: 0, deleted: 2 });
    assert.equal((await d.admin("POST", "/api/deliveries/1-crm/retry", { body: {} })).status, 409);
    assert.equal(d.sent.length, 2);
  });

  it("is kept while a notification was given up, until it is replayed", async () => {
    await using d = await startDaemon({ answers: answering(200, 400, 200) });
    await d.call("/v1/track", { userId: ID, event: "E" });
    const id = await remove(d, { userIds: [ID], erase: true });
    assert.partialDeepStrictEqual(await show(d, id), { status: "failed", erased: null, people: [{ userId: ID }] });
    await d.admin("POST", "/api/deliveries/2-crm/retry", { body: {} });
    await d.clock.advance("3s");
    assert.partialDeepStrictEqual(await show(d, id), { status: "finished", stage: "done", people: [{ userId: null }] });
    assert.deepEqual(await d.outbox.findText(ID), []);
  });

  it("goes at the operator's word though a notification was given up", async () => {
    await using d = await startDaemon({ answers: answering(200, 400) });
    await d.call("/v1/track", { userId: ID, event: "E" });
    const id = await remove(d, { userIds: [ID], erase: true });
    const { json } = await d.admin("POST", `/api/deletions/${id}/erase`, { body: {} });
    assert.equal(json.success, true);
    await d.clock.advance("3s");
    assert.partialDeepStrictEqual(await show(d, id), { status: "failed", stage: "done", people: [{ userId: null }] });
    assert.deepEqual(await d.outbox.findText(ID), []);
    const plain = await remove(d, { userIds: ["u2"] });
    const refused = await d.admin("POST", `/api/deletions/${plain}/erase`, { body: {} });
    assert.equal(refused.json.code, "invalid_request");
    assert.equal((await d.admin("POST", "/api/deletions/del-0/erase", { body: {} })).json.code, "unknown_deletion");
  });

  it("goes with a notification that was given up, when that is removed by age", async () => {
    const { outbox } = makeConfig();
    const keepFailed = { outbox: { ...outbox, keepFailed: HOUR } };
    await using d = await startDaemon({ answers: answering(200, 400), config: keepFailed });
    await d.call("/v1/track", { userId: ID, event: "E" });
    const id = await remove(d, { userIds: [ID], erase: true });
    await d.clock.advance("50m");
    assert.partialDeepStrictEqual(await show(d, id), { status: "failed", stage: "settling", people: [{ userId: ID }] });
    await d.clock.advance("20m");
    assert.partialDeepStrictEqual(await show(d, id), { status: "failed", stage: "done", notices: [{ failed: 1 }] });
    assert.deepEqual(await d.outbox.findText(ID), []);
  });

  it("goes from older requests too, and what came after the request stays", async () => {
    await using d = await startDaemon();
    const older = await remove(d, { userIds: [ID] });
    await d.call("/v1/track", { userId: ID, event: "E" });
    await remove(d, { userIds: [ID], erase: true });
    assert.partialDeepStrictEqual(await show(d, older), { status: "finished", people: [{ userId: null }] });
    assert.deepEqual(await d.outbox.findText(ID), []);
    await d.call("/v1/track", { userId: ID, event: "Back" });
    assert.match(await shown(d), /Back/);
  });

  it(
    "is gone seconds after a reader of the files has let go, and only the log is waited for meanwhile",
    ONLY_SQLITE,
    async () => {
      await using d = await startDaemon();
      await d.call("/v1/track", { userId: ID, event: "E" });
      const reader = await openDatabase(d.config.outbox.path);
      reader.exec("BEGIN; SELECT * FROM segments");
      const id = await remove(d, { userIds: [ID], erase: true });
      await d.clock.advance("10m");
      assert.partialDeepStrictEqual(await show(d, id), {
        status: "running",
        stage: "erasing",
        people: [{ userId: null }],
      });
      assert.notDeepEqual(await d.outbox.findText(ID), []);
      reader.exec("COMMIT");
      await d.clock.advance("6s");
      assert.partialDeepStrictEqual(await show(d, id), { status: "finished", stage: "done" });
      assert.deepEqual(await d.outbox.findText(ID), []);
      reader.close();
    },
  );

  it("is erased after a crash, if that was in between", async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    await first.call("/v1/track", { userId: ID, event: "E" });
    const { json } = await first.admin("POST", "/api/deletions", { body: { userIds: [ID], erase: true } });
    await using d = await first.crash({ answers: () => 200 });
    await d.clock.advance("5s");
    assert.partialDeepStrictEqual(await show(d, String(json.id)), { status: "finished", erased: { events: 2 } });
    assert.deepEqual(await d.outbox.findText(ID), []);
  });

  it("is nowhere, whatever has become of the events before", SLOW, async () => {
    const anyAnswer = fc.constantFrom(200, 200, 400, 503, 500);
    const anyCall = fc.record({ user: fc.constantFrom(ID, "u2", "u3"), size: fc.constantFrom(1, 100, 1_500, 20_000) });
    await fc.assert(
      fc.asyncProperty(fc.array(anyCall, { maxLength: 60 }), fc.array(anyAnswer), async (calls, answers) => {
        const answer = answering(...answers);
        await using d = await startDaemon({
          answers: ({ body }) => {
            const { type, userId } = JSON.parse(body);
            // Some say what they have got.
            return type === "delete" ? 200 : { status: Number(answer()), body: `${userId} is unknown. `.repeat(20) };
          },
        });
        for (const [n, { user, size }] of calls.entries()) {
          await d.ask("/v1/track", {
            userId: user,
            event: "E",
            properties: { text: `${user} `.repeat(size / 14 + 1) },
          });
          if (n % 7 === 0) await d.clock.advance("2s");
          if (n % 10 === 9) await checkpoint(d);
        }
        await d.clock.advance("20m");
        const id = await remove(d, { userIds: [ID], erase: true });
        await d.clock.advance("10m");
        assert.partialDeepStrictEqual(await show(d, id), { status: "finished", stage: "done" });
        assert.deepEqual(await d.outbox.findText(ID), []);
        assert.doesNotMatch(await shown(d), new RegExp(ID));
      }),
      { numRuns: 15 },
    );
  });
});
