import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Secret } from "../../src/model/secret.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeSource } from "./make.ts";

const APP = { authorization: `Basic ${Buffer.from("app-key:").toString("base64")}` };
const SOURCES = [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })];

async function remove(d: TestDaemon, body: object): Promise<string> {
  const { json } = await d.admin("POST", "/api/deletions", { body });
  await d.clock.advance("3s");
  return String(json.id);
}

async function codeOf(d: TestDaemon, path: string, body: object, headers = {}): Promise<string> {
  const { status, json } = await d.ask(path, body, headers);
  return `${status} ${json.code ?? "taken"}`;
}

describe("a user who is suppressed", () => {
  it("is refused at the door in every way that a call names a user, and nobody else is", async () => {
    await using d = await startDaemon();
    await remove(d, { userIds: ["u1"], suppress: true });
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u1" }), "403 user_suppressed");
    assert.equal(await codeOf(d, "/v1/group", { userId: "u1", groupId: "g" }), "403 user_suppressed");
    assert.equal(await codeOf(d, "/v1/alias", { previousId: "u1", userId: "u9" }), "403 user_suppressed");
    assert.equal(await codeOf(d, "/v1/alias", { previousId: "u9", userId: "u1" }), "403 user_suppressed");
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u2" }), "200 taken");
    assert.equal(await codeOf(d, "/v1/identify", { anonymousId: "u1" }), "200 taken");
    const batch = [
      { type: "identify", userId: "u1", messageId: "m1" },
      { type: "identify", userId: "u2" },
    ];
    const { status, json } = await d.ask("/v1/batch", { batch });
    assert.deepEqual([status, json.accepted], [200, 1]);
    assert.partialDeepStrictEqual(json.rejected, [{ index: 0, messageId: "m1", code: "user_suppressed" }]);
  });

  it("is counted and explained, and no call of that user is kept", async () => {
    await using d = await startDaemon();
    const id = await remove(d, { userIds: ["u-4711"], suppress: true, erase: true });
    await d.ask("/v1/track", { userId: "u-4711", event: "E", messageId: "m1", properties: { mail: "me@example.com" } });
    const list = await d.admin("GET", "/api/rejected?code=user_suppressed");
    assert.partialDeepStrictEqual(list.json.rejected, [{ type: "track", messageId: "m1", source: "website" }]);
    assert.doesNotMatch(list.text, /4711|me@example/);
    const { json } = await d.admin("GET", "/api/events/m1");
    assert.partialDeepStrictEqual(json, { rejected: [{ code: "user_suppressed" }], events: [] });
    assert.ok(
      d.told.some(
        ({ what, args: [one] }) => what === "callRejected" && JSON.stringify(one).includes("user_suppressed"),
      ),
    );
    const { people } = (await d.admin("GET", `/api/deletions/${id}`)).json;
    assert.partialDeepStrictEqual(people, [{ userId: null, suppressed: true }]);
  });

  it("stays so after a crash, until the operator takes it back", async () => {
    await using first = await startDaemon();
    await remove(first, { userIds: ["u1", "u2"], suppress: true });
    await using d = await first.crash();
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u1" }), "403 user_suppressed");
    const { json } = await d.admin("POST", "/api/deletions/unsuppress", { body: { userIds: ["u1", "u7"] } });
    assert.deepEqual(json, { success: true, unsuppressed: 1 });
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u1" }), "200 taken");
    await using last = await d.crash();
    assert.equal(await codeOf(last, "/v1/identify", { userId: "u1" }), "200 taken");
    assert.equal(await codeOf(last, "/v1/identify", { userId: "u2" }), "403 user_suppressed");
  });

  it("is so in the sources that were named only", async () => {
    await using d = await startDaemon({ config: { sources: SOURCES } });
    await remove(d, { userIds: ["u1"], suppress: true, sources: ["app"] });
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u1" }), "200 taken");
    assert.equal(await codeOf(d, "/v1/identify", { userId: "u1" }, APP), "403 user_suppressed");
  });

  it("is so from the moment of the request on: no call slips through between", async () => {
    await using d = await startDaemon({ answers: () => "hang" });
    const before = d.ask("/v1/track", { userId: "u1", event: "Before" });
    const asked = d.admin("POST", "/api/deletions", { body: { userIds: ["u1"], suppress: true } });
    const rest = Array.from({ length: 20 }, () => d.ask("/v1/track", { userId: "u1", event: "After" }));
    const answers = await Promise.all([before, asked, ...rest]);
    await d.clock.rest();
    const taken = answers.slice(2).filter(({ status }) => status === 200).length;
    const waiting = (await d.rows()).filter(({ state }) => state === "waiting");
    assert.equal(waiting.length, 1, `${taken} were taken, and only the notification should wait`);
  });
});

describe("the calls that were refused before", () => {
  it("are forgotten when their user is erased, and others are not", async () => {
    await using d = await startDaemon();
    for (const userId of ["u-1", "u-12", 'a"b', "x/y", 47]) await d.ask("/v1/track", { userId });
    await remove(d, { userIds: ["u-1", 'a"b', "x/y", "47"], erase: true });
    const { json } = await d.admin("GET", "/api/rejected");
    const samples = (json.rejected as { sample: string }[]).map(({ sample }) => sample);
    assert.deepEqual(samples, ['{"userId":"u-12"}']);
  });
});

describe("ids with halves of surrogate pairs", () => {
  // UTF-8 has one character for all of these.
  const [HIGH, LOW, REPLACED, LITERAL] = ["u-\ud800", "u-\udc00", "u-\ufffd", JSON.stringify("u-\ud800")];
  const OTHERS = [LOW, REPLACED, LITERAL];

  it("are suppressed one by one, also after a restart", async () => {
    await using first = await startDaemon();
    await remove(first, { userIds: [HIGH], suppress: true });
    await using d = await first.crash();
    assert.equal(await codeOf(d, "/v1/identify", { userId: HIGH }), "403 user_suppressed");
    for (const userId of OTHERS) assert.equal(await codeOf(d, "/v1/identify", { userId }), "200 taken");
    assert.deepEqual(
      (await d.admin("POST", "/api/deletions/unsuppress", { body: { userIds: OTHERS } })).json.unsuppressed,
      0,
    );
    assert.deepEqual(
      (await d.admin("POST", "/api/deletions/unsuppress", { body: { userIds: [HIGH] } })).json.unsuppressed,
      1,
    );
    assert.equal(await codeOf(d, "/v1/identify", { userId: HIGH }), "200 taken");
  });

  it("are told of, withdrawn and erased one by one", async () => {
    let answer = 503;
    await using d = await startDaemon({ answers: () => answer });
    const audience = "/api/sources/website/audiences/Beta";
    assert.equal((await d.admin("PUT", audience, { body: [REPLACED] })).status, 200);
    await d.clock.advance("3s");
    for (const userId of [HIGH, ...OTHERS]) await d.call("/v1/identify", { userId, traits: { is: "kept" } });
    answer = 200;
    const id = await remove(d, { userIds: [HIGH, LITERAL], erase: true });
    await d.clock.advance("10m");
    const shown = (await d.admin("GET", `/api/deletions/${id}`)).json;
    assert.partialDeepStrictEqual(shown, { status: "finished", stage: "done", erased: { events: 4, deliveries: 2 } });
    const bodies = d.sent.map(({ body }) => JSON.parse(body) as { type: string; userId: string });
    const idsOf = (type: string) => bodies.filter((body) => body.type === type).map(({ userId }) => userId);
    assert.deepEqual(idsOf("delete").sort(), [LITERAL, HIGH]);
    const { json } = await d.admin("GET", "/api/deliveries?limit=100");
    const kept = new Set((json.deliveries as { userId: string | null }[]).map(({ userId }) => userId));
    assert.deepEqual([...kept].filter((one) => one !== null).sort(), [LOW, REPLACED].sort());
    const { audiences } = (await d.admin("GET", "/api/sources/website/audiences")).json;
    assert.partialDeepStrictEqual(audiences, [{ name: "Beta", size: 1 }]);
  });
});
