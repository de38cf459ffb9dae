import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toWords } from "../../src/cli/explain.ts";
import { Secret } from "../../src/model/secret.ts";
import { trail as trailShape } from "../../src/wire/deliveries.ts";
import { isReceived, type Received } from "../../src/wire/fields.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, makeSource, URL_A, URL_B } from "./make.ts";

const CALL = { userId: "u1", event: "Order Completed" };

async function trail(d: TestDaemon, messageId: string): Promise<Received<typeof trailShape>> {
  const { json } = await d.admin("GET", `/api/events/${encodeURIComponent(messageId)}`);
  return isReceived(trailShape, json) ? json : assert.fail(JSON.stringify(json));
}

async function explain(d: TestDaemon, messageId: string): Promise<string> {
  return toWords(await trail(d, messageId), d.clock.now());
}

describe("what became of a call", () => {
  it("was refused, and why", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", { userId: "u1", messageId: "m1" });
    await d.clock.advance("3m");
    assert.match(
      await explain(d, "m1"),
      /^A track call of website was refused \S+Z \(3m ago\): missing_event: .* It came as POST \/v1\/track from 127/,
    );
  });

  it("was delivered: by whom, when, and after how many rounds", async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth < 3 ? 503 : 204) });
    const at = new Date(d.clock.now()).toISOString();
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    await d.clock.advance("10s");
    const text = await explain(d, "m1");
    assert.ok(
      text.startsWith(`A track call of user u1 from website was accepted ${at} (10s ago), as event 1.\n`),
      text,
    );
    assert.match(
      text,
      /^ {2}crm: delivered \S+Z, 3s after acceptance, after 3 rounds of attempts: \S+\/hook answered 204\.$/m,
    );
    await d.call("/v1/track", { ...CALL, messageId: "m2" });
    assert.match(await explain(d, "m2"), /crm: delivered \S+Z, 0ms after acceptance, at the first attempt: /);
  });

  it("waits, until when and why; or because nothing is delivered there", async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    const dueAt = new Date(d.clock.now() + 1_000).toISOString();
    const waits = `  crm: waits until ${dueAt}, after 1 round of attempts; last result: 503. See \`fairlead deliveries show 1-crm\`.`;
    assert.ok((await explain(d, "m1")).split("\n").includes(waits), await explain(d, "m1"));
    await d.app.reload({ ...d.config, destinations: [] });
    assert.match(await explain(d, "m1"), /Nothing is delivered to it now: the destination is removed\.$/);
  });

  it("failed or expired, with the reason", async () => {
    await using d = await startDaemon({ answers: ({ url }) => (url === URL_A ? 422 : 500), config: twoDestinations() });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    await d.clock.advance("5h");
    const text = await explain(d, "m1");
    assert.match(
      text,
      /^ {2}crm: failed \S+Z, 0ms after acceptance, at the first attempt: refused: answered 422\. See /m,
    );
    assert.match(
      text,
      /^ {2}lake: expired \S+Z, 4h\S* after acceptance, after \d+ rounds of attempts: no success within 4h; /m,
    );
  });

  it("was not for a destination, because of which rule", async () => {
    const destinations = [
      makeDestination({ name: "off", enabled: false }),
      makeDestination({ name: "app-only", sources: ["app"] }),
      makeDestination({ name: "people", types: ["identify"] }),
      makeDestination({ name: "named" }),
      makeDestination({ name: "present", historical: "skip" }),
    ];
    await using d = await startDaemon({ config: makeConfig({ destinations }) });
    const timestamp = new Date(d.clock.wall() - 3 * 24 * 3_600_000).toISOString();
    await d.call("/v1/track", { ...CALL, messageId: "m1", integrations: { named: false }, timestamp });
    const text = await explain(d, "m1");
    for (const line of [
      "off: does not get it, because it was disabled at that time.",
      "app-only: does not get it, because its `sources` do not include that one.",
      "people: does not get it, because its `types` do not include that type.",
      "named: does not get it, because the call's `integrations` disable it.",
      "present: does not get it, because the call was more than a day old when it arrived, and its `historical` is skip.",
    ]) {
      assert.ok(text.split("\n").includes(`  ${line}`), `${line} is not in\n${text}`);
    }
  });

  it("was a repeat: the first is explained, and until when it makes others repeats", async () => {
    await using d = await startDaemon();
    const until = new Date(d.clock.now() + 24 * 3_600_000).toISOString();
    for (const _ of [1, 2]) await d.call("/v1/track", { ...CALL, messageId: "m1" });
    assert.match(
      await explain(d, "m1"),
      new RegExp(`^ {2}Until ${until}, another call from website with this messageId is a repeat`, "m"),
    );
    await d.clock.advance("23h 30m");
    assert.equal(d.sent.length, 1);
    assert.equal((await trail(d, "m1")).events.length, 1);
  });

  it("was taken of two sources: both are told", async () => {
    const sources = [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })];
    await using d = await startDaemon({ config: makeConfig({ sources }) });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    const authorization = `Basic ${Buffer.from("app-key:").toString("base64")}`;
    await d.ask("/v1/track", { ...CALL, messageId: "m1" }, { authorization });
    await d.clock.rest();
    assert.deepEqual(
      (await trail(d, "m1")).events.map(({ event, source }) => [event, source]),
      [
        [2, "app"],
        [1, "website"],
      ],
    );
  });

  it("is known by an id that this server chose, and by any that a client may choose", async () => {
    await using d = await startDaemon();
    await d.call("/v1/track", CALL);
    const own = JSON.parse(d.sent[0]?.body ?? "").messageId;
    assert.match(own, /^fl-/);
    assert.deepEqual([(await trail(d, own)).events.length, (await trail(d, own)).seen], [1, []]);
    assert.doesNotMatch(await explain(d, own), /repeat/);
    for (const messageId of ["a/b?c=%2F#d e", 'q"\\u0000\u2028', "日本語🙂"]) {
      await d.call("/v1/track", { ...CALL, messageId });
      assert.deepEqual(
        (await trail(d, messageId)).events.map((event) => event.messageId),
        [messageId],
      );
    }
  });

  it("is told as long as anything is kept of it, and then it is said that nothing is", async () => {
    await using d = await startDaemon({ answers: ({ url }) => (url === URL_A ? 422 : 200), config: twoDestinations() });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    await d.clock.advance("24h 10m");
    const text = await explain(d, "m1");
    assert.match(text, /crm: failed/);
    assert.doesNotMatch(text, /lake/);
    assert.match(text, /^ {2}Other destinations may have got it: /m);
    d.clock.skip("29d 22h");
    await d.clock.advance("2h");
    assert.match(await explain(d, "m1"), /^Nothing is known of m1\.\n {2}No stored event has this messageId, /);
  });

  it("was taken, but is not kept any more", async () => {
    const config = makeConfig();
    await using d = await startDaemon({ config: { ...config, outbox: { ...config.outbox, keepDelivered: 60_000 } } });
    await d.call("/v1/track", { ...CALL, messageId: "m1" });
    await d.clock.advance("10m");
    assert.match(
      await explain(d, "m1"),
      /^A call from website was accepted \S+Z \(10m ago\)\.\n {2}Its event is no longer stored, so none of its deliveries is waiting: /,
    );
  });
});

function twoDestinations() {
  return makeConfig({ destinations: [makeDestination(), makeDestination({ name: "lake", urls: [URL_B] })] });
}
