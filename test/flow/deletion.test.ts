import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_A, URL_B } from "./make.ts";

const two = {
  sources: [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })],
  destinations: [
    makeDestination({ sources: ["website"] }),
    makeDestination({ name: "warehouse", urls: [URL_B], sources: ["website", "app"] }),
  ],
};

describe("a deletion request (SPEC.md 6)", () => {
  it("sends one notification for each user and affected source: type, userId and timestamp, nothing else", async () => {
    await using d = await startDaemon();
    const { status, json } = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1", "u2"] } });
    await d.clock.rest();
    assert.equal(status, 200);
    const { id, ...said } = json;
    assert.match(String(id), /^del-[0-9a-f]{12}-[0-9a-f]{12}$/);
    assert.deepEqual(said, { success: true, status: "running", notifications: 2, sources: ["website"], untold: [] });
    const timestamp = new Date(d.clock.wall()).toISOString();
    const bodies = d.sent.map(({ body }) => body).sort();
    assert.deepEqual(bodies, [
      `{"type":"delete","userId":"u1","timestamp":"${timestamp}"}`,
      `{"type":"delete","userId":"u2","timestamp":"${timestamp}"}`,
    ]);
  });

  it("reaches every destination of each source, also one that takes only some types", async () => {
    const destinations = two.destinations.map((destination) => ({ ...destination, types: ["track"] as const }));
    await using d = await startDaemon({ config: { ...two, destinations } });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.rest();
    assert.deepEqual(d.sent.map(({ url }) => url).sort(), [URL_A, URL_B, URL_B]);
  });

  it("affects only the sources that it names", async () => {
    await using d = await startDaemon({ config: two });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], sources: ["app"] } });
    await d.clock.rest();
    assert.deepEqual(
      d.sent.map(({ url }) => url),
      [URL_B],
    );
  });

  it("is retried like every call", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth < 3 ? 500 : 200) });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.advance("10s");
    assert.equal(d.sent.length, 3);
    assert.equal((await d.row()).state, "delivered");
  });

  it("is answered only when it is durable", async () => {
    await using first = await startDaemon({ answers: () => "hang" });
    await first.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await using second = await first.crash({ answers: () => 200 });
    await second.clock.rest();
    assert.equal(second.sent.length, 1);
  });

  it("ends what waits in two places, for a first attempt here and for a retry there, without a failed commit", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "warehouse", urls: [URL_B] })];
    await using d = await startDaemon({ config: { destinations }, answers: ({ url }) => (url === URL_B ? 503 : 200) });
    await d.admin("POST", "/api/destinations/crm/pause");
    for (const messageId of ["m1", "m2"]) await d.call("/v1/track", { userId: "u1", event: "E", messageId });
    await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.rest();
    const reasons = (await d.rows()).filter(({ state }) => state === "failed").map(({ reason }) => reason);
    assert.deepEqual(reasons, Array(4).fill("user deleted"));
    assert.deepEqual(
      d.told.filter(({ what }) => what === "storeFailed"),
      [],
    );
  });
});

describe("a destination that has got events of the user before", () => {
  const [crm, lake] = [makeDestination(), makeDestination({ name: "lake", urls: [URL_B] })];
  const off = { ...lake, enabled: false };
  const to = (d: TestDaemon) =>
    d.sent.map(({ url, body }) => `${JSON.parse(body).type} ${url === URL_B ? "lake" : "crm"}`);

  for (const only of [true, false]) {
    it(`hears of the deletion when it is enabled again, over a crash (${only ? "the only one" : "one of two"})`, async () => {
      const others = only ? [] : [crm];
      await using first = await startDaemon({ config: { destinations: [...others, lake] } });
      await first.call("/v1/track", { userId: "u1", event: "E" });
      await first.clock.advance("2s");
      await using second = await first.crash({ config: { destinations: [...others, off] } });
      const { json } = await second.admin("POST", "/api/deletions", { body: { userIds: ["u1"], erase: true } });
      assert.partialDeepStrictEqual(json, { notifications: 1, untold: [] });
      await second.clock.advance("5h");
      assert.deepEqual(to(second), only ? [] : ["delete crm"]);
      const { status, notices } = (await second.admin("GET", `/api/deletions/${json.id}`)).json;
      const lakes = (notices as { destination: string; waiting: number }[]).find((one) => one.destination === "lake");
      assert.deepEqual([status, lakes?.waiting], ["running", 1]);
      await using third = await second.crash({ config: { destinations: [...others, lake] } });
      await third.clock.advance("1m");
      assert.deepEqual(to(third), ["delete lake"]);
      assert.equal((await third.admin("GET", `/api/deletions/${json.id}`)).json.stage, "done");
    });
  }

  it("is not waited for if it has never got any", async () => {
    await using d = await startDaemon({ config: { destinations: [crm, off] } });
    await d.call("/v1/track", { userId: "u1", event: "E" });
    const { json } = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await d.clock.advance("1m");
    assert.equal((await d.admin("GET", `/api/deletions/${json.id}`)).json.status, "finished");
  });

  it("is named if it is not in the config any more: in the answer, in the request's status, and in the log", async () => {
    await using first = await startDaemon({ config: { destinations: [crm, lake] } });
    await first.call("/v1/track", { userId: "u1", event: "E" });
    await first.clock.advance("30h");
    await using d = await first.crash({ config: { destinations: [crm] } });
    const { json } = await d.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    assert.deepEqual([json.notifications, json.untold], [1, ["lake"]]);
    await d.clock.advance("1m");
    assert.partialDeepStrictEqual((await d.admin("GET", `/api/deletions/${json.id}`)).json, {
      status: "finished",
      untold: ["lake"],
    });
    const told = d.told.filter(({ what }) => what === "deletionRequested");
    assert.partialDeepStrictEqual(told, [{ args: [{ untold: ["lake"] }] }]);
  });
});
