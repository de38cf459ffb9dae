import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_B } from "./make.ts";
import type { Behaviour } from "./network.ts";

/** A receiver that answers so until it is told otherwise. */
function receiver(first: Behaviour) {
  let answer = first;
  function answerNow(next: Behaviour): void {
    answer = next;
  }
  return { answers: () => answer, answer: answerNow };
}

async function track(d: TestDaemon, userId: string, more: object = {}): Promise<void> {
  await d.call("/v1/track", { userId, event: "E", ...more });
}

async function remove(d: TestDaemon, body: object): Promise<string> {
  const { status, json } = await d.admin("POST", "/api/deletions", { body });
  assert.equal(status, 200, JSON.stringify(json));
  await d.clock.rest();
  return String(json.id);
}

async function show(d: TestDaemon, id: string) {
  return (await d.admin("GET", `/api/deletions/${id}`)).json;
}

async function states(d: TestDaemon): Promise<readonly string[]> {
  return (await d.rows()).map((row) => `${row.event}-${row.destination} ${row.state} ${row.reason ?? ""}`.trim());
}

function typesSent({ sent }: TestDaemon): readonly string[] {
  return sent.map(({ body }) => JSON.parse(body).type);
}

describe("what waits of a user who is deleted", () => {
  it("fails in the commit of the notification, and is not sent any more; others' go on", async () => {
    const r = receiver(503);
    await using d = await startDaemon({ answers: r.answers });
    await track(d, "u1");
    await track(d, "u2");
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await track(d, "u1");
    await remove(d, { userIds: ["u1"] });
    assert.deepEqual(
      (await states(d)).map((line) => line.replace(/ (answered )?503$/, "")),
      [...["1-crm failed user deleted", "2-crm waiting", "3-crm failed user deleted", "4-crm waiting"]],
    );
    const before = d.sent.length;
    r.answer(200);
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await d.clock.advance("1h");
    assert.deepEqual(typesSent(d).slice(before).toSorted(), ["delete", "track"]);
  });

  it("fails however much it is, and for destinations that are gone or disabled", async () => {
    const config = { destinations: [makeDestination({ enabled: false, name: "lake" }), makeDestination()] };
    await using first = await startDaemon({
      answers: () => 503,
      config: { destinations: [makeDestination({ name: "lake" })] },
    });
    const batch = Array.from({ length: 350 }, (_, n) => ({ type: "track", userId: n % 2 ? "u1" : "u2", event: "E" }));
    await first.call("/v1/batch", { batch });
    await using d = await first.crash({ config, answers: () => 200 });
    await remove(d, { userIds: ["u1"] });
    const all = await states(d);
    assert.equal(all.filter((line) => line.endsWith("failed user deleted")).length, 175);
    // Those of somebody else, and the notification, as it is disabled only.
    assert.equal(all.filter((line) => line.includes("-lake waiting")).length, 176);
  });

  it("fails where it is an alias away from that user, and stays in sources that are not named", async () => {
    const sources = [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })];
    await using d = await startDaemon({ config: { sources }, answers: () => 503 });
    await d.call("/v1/alias", { previousId: "u1", userId: "u9" });
    const authorization = `Basic ${Buffer.from("app-key:").toString("base64")}`;
    await d.ask("/v1/track", { userId: "u1", event: "E" }, { authorization });
    await d.clock.rest();
    await remove(d, { userIds: ["u1"], sources: ["website"] });
    const [alias, other] = await states(d);
    assert.equal(alias, "1-crm failed user deleted");
    assert.match(other ?? "", /^2-crm waiting/);
  });

  it("is not sent again, one by one or by a filter; what came after the request is", async () => {
    const r = receiver(400);
    await using d = await startDaemon({ answers: r.answers });
    await track(d, "u1");
    r.answer(200);
    await track(d, "u1");
    await track(d, "u2");
    await remove(d, { userIds: ["u1"] });
    await track(d, "u1");
    const one = await d.admin("POST", "/api/deliveries/1-crm/retry", { body: {} });
    assert.deepEqual([one.status, one.json.code], [409, "user_deleted"]);
    for (const [state, replayed, deleted] of [
      ["failed", 0, 1],
      ["delivered", 3, 1],
    ]) {
      const { json } = await d.admin("POST", "/api/replay", { body: { filter: { state } } });
      assert.partialDeepStrictEqual(json, { replayed, deleted, left: 0 });
    }
  });
});

describe("the status of a deletion request", () => {
  it("follows its notifications, with counts for each source and destination", async () => {
    const r = receiver(503);
    const destinations = [makeDestination(), makeDestination({ name: "lake", urls: [URL_B] })];
    await using d = await startDaemon({
      config: { destinations },
      answers: (sent) => (sent.url === URL_B ? 200 : r.answers()),
    });
    const id = await remove(d, { userIds: ["u1", "u2"] });
    await d.clock.advance("2s");
    const none = { source: "website", waiting: 0, delivered: 0, failed: 0, expired: 0, forgotten: 0 };
    assert.partialDeepStrictEqual(await show(d, id), { status: "running", users: 2, endedAt: null });
    assert.deepEqual((await show(d, id)).notices, [
      { ...none, destination: "crm", waiting: 2 },
      { ...none, destination: "lake", delivered: 2 },
    ]);
    r.answer(200);
    await d.clock.advance("5m");
    const { status, stage, notices } = await show(d, id);
    assert.deepEqual([status, stage], ["finished", "done"]);
    assert.partialDeepStrictEqual(notices, [{ delivered: 2 }, { delivered: 2 }]);
    assert.deepEqual(
      d.told.filter(({ what }) => what === "deletionEnded").map(({ args: [one] }) => (one as { id: string }).id),
      [id],
    );
  });

  it("is failed when one was given up, and finished when that was replayed", async () => {
    const r = receiver(400);
    await using d = await startDaemon({ answers: r.answers });
    const id = await remove(d, { userIds: ["u1"] });
    await d.clock.advance("2s");
    assert.partialDeepStrictEqual(await show(d, id), { status: "failed", stage: "settling", notices: [{ failed: 1 }] });
    r.answer(200);
    const { status } = await d.admin("POST", "/api/deliveries/1-crm/retry", { body: {} });
    assert.equal(status, 200);
    await d.clock.advance("2s");
    assert.partialDeepStrictEqual(await show(d, id), {
      status: "finished",
      stage: "done",
      notices: [{ delivered: 1 }],
    });
  });

  it("is finished soon after the last success, also where nothing else is written", async () => {
    await using d = await startDaemon({ answers: () => ({ status: 200, after: 300 }) });
    await track(d, "u1");
    await d.clock.advance("5s");
    const id = await remove(d, { userIds: ["u1"] });
    await d.clock.advance("5s");
    assert.partialDeepStrictEqual(await show(d, id), { status: "finished", notices: [{ delivered: 1 }] });
  });

  it("is finished at once when nobody is to be told", async () => {
    await using d = await startDaemon({ config: { destinations: [] } });
    const id = await remove(d, { userIds: ["u1"] });
    assert.partialDeepStrictEqual(await show(d, id), { status: "finished", sources: [], notices: [] });
  });

  it("is known for all requests, the newest first, and for those of one user", async () => {
    await using d = await startDaemon();
    const ids: string[] = [];
    for (const userIds of [["u1"], ["u2"], ["u1", "u3"]]) ids.unshift(await remove(d, { userIds }));
    const list = async (query: string) => {
      const { json } = await d.admin("GET", `/api/deletions?${query}`);
      return { ids: (json.deletions as { id: string }[]).map(({ id }) => id), cursor: json.cursor };
    };
    assert.deepEqual(await list(""), { ids, cursor: null });
    const page = await list("limit=2");
    assert.deepEqual(page.ids, ids.slice(0, 2));
    assert.deepEqual((await list(`limit=2&cursor=${page.cursor}`)).ids, ids.slice(2));
    assert.deepEqual((await list("user=u1")).ids, [ids[0], ids[2]]);
    assert.equal((await d.admin("GET", "/api/deletions/del-0")).json.code, "unknown_deletion");
  });

  it("goes on after a crash: each notification is made once", async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    const userIds = Array.from({ length: 90 }, (_, n) => `u${n}`);
    const answer = await first.admin("POST", "/api/deletions", { body: { userIds } });
    await using second = await first.crash({ answers: () => 200 });
    await second.clock.advance("5s");
    const sent = second.sent.map(({ body }) => JSON.parse(body).userId);
    assert.deepEqual(sent.toSorted(), userIds.toSorted());
    const shown = await show(second, String(answer.json.id));
    assert.partialDeepStrictEqual(shown, { status: "finished", notices: [{ delivered: 90 }] });
  });
});
