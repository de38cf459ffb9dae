import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toWords } from "../../src/cli/explain.ts";
import { NAME } from "../../src/config/text-rules.ts";
import { TEST_NAME } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { trail } from "../../src/wire/deliveries.ts";
import { isReceived } from "../../src/wire/fields.ts";
import { type Answer, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_A, URL_B } from "./make.ts";

/** One that takes nothing of what a test call is, and another one. */
const PICKY = makeDestination({ name: "crm", urls: [URL_A], sources: ["website"], types: ["page"] });
const OTHER = makeDestination({ name: "erp", urls: [URL_B] });
const OFF = makeDestination({ name: "off", enabled: false });
const CONFIG = { destinations: [PICKY, OTHER, OFF] };

async function test(d: TestDaemon, name = "crm"): Promise<Answer> {
  const answer = await d.admin("POST", `/api/destinations/${name}/test`, { body: {} });
  await d.clock.rest();
  return answer;
}

async function explain(d: TestDaemon, messageId: unknown): Promise<string> {
  const { json } = await d.admin("GET", `/api/events/${messageId}`);
  return isReceived(trail, json) ? toWords(json, d.clock.now()) : assert.fail(JSON.stringify(json));
}

describe("a test call", () => {
  it("goes to its destination whatever that takes, and to no other; explain says so of each", async () => {
    await using d = await startDaemon({ config: CONFIG });
    const { status, json } = await test(d);
    assert.deepEqual([status, json.success, json.delivery, json.paused], [200, true, "1-crm", false]);
    assert.deepEqual(
      d.sent.map(({ url }) => url),
      [URL_A],
    );
    const { receivedAt: _, ...body } = JSON.parse(d.sent[0]?.body ?? "");
    assert.deepEqual(body, {
      version: 1,
      type: "track",
      userId: "fairlead:test",
      event: "Fairlead Test",
      properties: { test: true },
      timestamp: new Date(d.clock.now()).toISOString(),
      context: {},
      messageId: json.messageId,
    });
    const text = await explain(d, json.messageId);
    assert.match(text, /^A track call of user fairlead:test from fairlead:test was accepted /);
    assert.match(text, /^ {2}crm: delivered /m);
    assert.match(text, /^ {2}erp: does not get it, because it is a test of another destination\.$/m);
    assert.match(text, /^ {2}off: does not get it, because it is a test of another destination\.$/m);
    assert.deepEqual(d.told.find(({ what }) => what === "tested")?.args, [
      "crm",
      { messageId: json.messageId, delivery: "1-crm" },
    ]);
  });

  it("has the name of no source that a config can have, and counts for none that it has", async () => {
    assert.notEqual(NAME.fault(TEST_NAME), null);
    await using d = await startDaemon({ config: { ...CONFIG, sources: [makeSource()] } });
    await test(d);
    const { sources } = (await d.admin("GET", "/api/status")).json as { sources: readonly { lastAt: null }[] };
    assert.deepEqual(
      sources.map(({ lastAt }) => lastAt),
      [null],
    );
    const page = await d.admin("GET", `/api/deliveries?source=${encodeURIComponent(TEST_NAME)}`);
    assert.equal((page.json.deliveries as unknown[]).length, 1);
  });

  it("is signed and retried as any other, and each is another one", async () => {
    const signed = makeDestination({ name: "crm", sharedSecrets: [new Secret("s")] });
    await using d = await startDaemon({
      config: { destinations: [signed] },
      answers: ({ nth }) => (nth === 1 ? 503 : 200),
    });
    const first = await test(d);
    assert.equal((await d.row()).state, "waiting");
    await d.clock.advance("5s");
    assert.equal((await d.row()).state, "delivered");
    const second = await test(d);
    assert.notEqual(first.json.messageId, second.json.messageId);
    assert.equal(d.sent.length, 3);
    assert.ok(d.sent.every(({ headers }) => /^[0-9a-f]{40}$/.test(new Headers(headers).get("x-signature") ?? "")));
  });

  it("waits for a destination that is paused, and the answer says so", async () => {
    await using d = await startDaemon({ config: CONFIG });
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    const { status, json } = await test(d);
    assert.deepEqual([status, json.paused, d.sent.length], [200, true, 0]);
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await d.clock.rest();
    assert.equal(d.sent.length, 1);
  });

  it("is refused for a destination that is disabled or unknown: nothing would be sent", async () => {
    await using d = await startDaemon({ config: CONFIG });
    const off = await test(d, "off");
    assert.deepEqual([off.status, off.json.code], [409, "destination_disabled"]);
    const unknown = await test(d, "cmr");
    assert.deepEqual([unknown.status, unknown.json.code], [404, "unknown_destination"]);
    assert.match(String(unknown.json.message), /did you mean crm\?/);
    assert.deepEqual(await d.rows(), []);
  });

  it("is refused once its user was deleted and suppressed, and the refusal says how to undo that", async () => {
    await using d = await startDaemon({ config: CONFIG });
    const body = { userIds: [TEST_NAME], suppress: true };
    assert.equal((await d.admin("POST", "/api/deletions", { body })).status, 200);
    await d.clock.rest();
    const { status, json } = await test(d);
    assert.deepEqual([status, json.code], [403, "user_suppressed"]);
    assert.match(String(json.message), /fairlead deletions unsuppress fairlead:test/);
  });
});
