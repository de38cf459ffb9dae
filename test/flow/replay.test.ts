import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SLOW } from "../slow.ts";
import { type Answer, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";
import type { Behaviour, Sent } from "./network.ts";

async function call(d: TestDaemon, count: number, more: object = {}): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await d.ask("/v1/track", { userId: "u1", event: "E", messageId: `m${n}`, ...more });
  }
  await d.clock.rest();
}

async function replay(d: TestDaemon, body: object): Promise<Answer> {
  const answer = await d.admin("POST", "/api/replay", { body });
  await d.clock.rest();
  return answer;
}

async function retry(d: TestDaemon, id: string): Promise<Answer> {
  const answer = await d.admin("POST", `/api/deliveries/${id}/retry`, { body: {} });
  await d.clock.rest();
  return answer;
}

/** How often each messageId was sent. */
function sentTo({ sent }: TestDaemon, to = URL_A): Readonly<Record<string, number>> {
  const ids = sent.filter(({ url }) => url === to).map(({ body }) => String(JSON.parse(body).messageId));
  return Object.fromEntries(ids.toSorted().map((id) => [id, ids.filter((other) => other === id).length]));
}

async function states(d: TestDaemon): Promise<readonly string[]> {
  return (await d.rows()).map(({ event, destination, state }) => `${event}-${destination} ${state}`);
}

/** As its timeline: what set each attempt off, and what came of it. */
async function timeline(d: TestDaemon, id: string): Promise<readonly string[]> {
  const { json } = await d.admin("GET", `/api/deliveries/${id}`);
  const { first, last } = json.log as Record<"first" | "last", { trigger: string; reason: string }[]>;
  return [...first, ...last].map(({ trigger, reason }) => `${trigger}: ${reason}`);
}

/** Answers so to each attempt in turn, and 200 from then on. */
function inTurn(...answers: readonly Behaviour[]): (sent: Sent) => Behaviour {
  return ({ nth }) => answers[nth - 1] ?? 200;
}

/** The receiver is broken until it is mended. */
function breakable(broken: Behaviour) {
  let answer: Behaviour = broken;
  return { answers: () => answer, mend: () => (answer = 200) };
}

describe("a delivery that is replayed", () => {
  it("is sent again when it has failed, and what came before stays in its timeline", async () => {
    await using d = await startDaemon({ answers: inTurn(400) });
    await call(d, 1);
    assert.deepEqual(await states(d), ["1-crm failed"]);
    await d.clock.advance("1h");
    assert.deepEqual((await retry(d, "1-crm")).json, { success: true, id: "1-crm", did: "replayed" });
    assert.deepEqual(await states(d), ["1-crm delivered"]);
    assert.deepEqual(await timeline(d, "1-crm"), ["first: 400", "replay: 200"]);
    const [sent, again] = d.sent;
    assert.equal(again?.body, sent?.body);
    assert.equal(again?.headers["X-Signature"], sent?.headers["X-Signature"]);
  });

  it("has four hours again, counted from its next attempt", SLOW, async () => {
    await using d = await startDaemon({ answers: () => 503 });
    await call(d, 1);
    await d.clock.advance("5h");
    assert.deepEqual(await states(d), ["1-crm expired"]);
    await retry(d, "1-crm");
    await d.clock.advance("3h50m");
    assert.deepEqual(await states(d), ["1-crm waiting"]);
    await d.clock.advance("30m");
    assert.deepEqual(await states(d), ["1-crm expired"]);
  });

  it("goes to each of its webhooks, also to those that had refused it for good", async () => {
    const config = { destinations: [makeDestination({ urls: [URL_A, URL_B] })] };
    const receiver = breakable(400);
    await using d = await startDaemon({ config, answers: receiver.answers });
    await call(d, 1);
    assert.deepEqual(await states(d), ["1-crm failed"]);
    receiver.mend();
    await retry(d, "1-crm");
    assert.deepEqual([sentTo(d, URL_A), sentTo(d, URL_B)], [{ m1: 2 }, { m1: 2 }]);
    assert.deepEqual(await states(d), ["1-crm delivered"]);
  });

  it("is sent again when it was delivered at once, and its first delivery stays in its timeline", async () => {
    await using d = await startDaemon();
    await call(d, 2);
    await d.clock.advance("10m");
    await retry(d, "2-crm");
    assert.deepEqual(sentTo(d), { m1: 1, m2: 2 });
    assert.deepEqual(await states(d), ["1-crm delivered", "2-crm delivered"]);
    assert.deepEqual(await timeline(d, "2-crm"), ["first: 200", "replay: 200"]);
    await retry(d, "2-crm");
    assert.deepEqual(await timeline(d, "2-crm"), ["first: 200", "replay: 200", "replay: 200"]);
    const [, second] = d.sent;
    assert.ok(d.sent.slice(2).every(({ body }) => body === second?.body));
  });

  it("counts as waiting since then, not since its event came", async () => {
    const receiver = breakable(400);
    await using d = await startDaemon({ answers: receiver.answers });
    await call(d, 1);
    await d.clock.advance("20h");
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await retry(d, "1-crm");
    await d.clock.advance("1m");
    const { json } = await d.admin("GET", "/api/status");
    const [crm] = json.destinations as { counts: { waiting: number }; oldestWaiting: number }[];
    assert.deepEqual([crm?.counts.waiting, crm?.oldestWaiting], [1, 60_000]);
    assert.deepEqual(await states(d), ["1-crm waiting"]);
  });

  it("survives a restart, and is delivered after it", async () => {
    const receiver = breakable(400);
    await using d = await startDaemon({ answers: receiver.answers });
    await call(d, 3);
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    assert.equal((await replay(d, { filter: {} })).json.replayed, 3);
    await using next = await d.crash({ answers: () => 200 });
    await next.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await next.clock.rest();
    assert.deepEqual(sentTo(next), { m1: 1, m2: 1, m3: 1 });
    assert.deepEqual(await timeline(next, "1-crm"), ["first: 400", "replay: 200"]);
  });

  it("is due at once if it waits still, and keeps its cutoff", async () => {
    await using d = await startDaemon({ answers: inTurn(503, 503, 503, 503) });
    await call(d, 1);
    await d.clock.advance("10s");
    assert.equal(d.sent.length, 4);
    assert.deepEqual((await retry(d, "1-crm")).json, { success: true, id: "1-crm", did: "hurried" });
    assert.deepEqual(await states(d), ["1-crm delivered"]);
    assert.equal(d.sent.length, 5);
    assert.deepEqual((await timeline(d, "1-crm")).at(-1), "retry: 200");
  });

  it("was due already, if nothing but its turn is missing", async () => {
    await using d = await startDaemon({ answers: () => 200 });
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await call(d, 1);
    assert.equal((await retry(d, "1-crm")).json.did, "due");
  });

  it("is not known, or its destination is not in the config any more", async () => {
    await using d = await startDaemon({ answers: () => 400 });
    await call(d, 1);
    assert.equal((await retry(d, "7-crm")).json.code, "unknown_delivery");
    assert.equal((await retry(d, "nonsense")).json.code, "unknown_delivery");
    await d.app.reload({ ...d.config, destinations: [makeDestination({ name: "new" })] });
    const { status, json } = await retry(d, "1-crm");
    assert.deepEqual([status, json.code], [404, "unknown_destination"]);
    assert.deepEqual(await states(d), ["1-crm failed"]);
  });
});

describe("a replay by filter", () => {
  it("takes what failed and what expired, and leaves what was delivered and what waits", SLOW, async () => {
    const byId: Readonly<Record<string, Behaviour>> = { m1: 400, m2: 503, m3: 200, m4: 200 };
    let mended = false;
    const answers = ({ body }: Sent): Behaviour => (mended ? 200 : (byId[String(JSON.parse(body).messageId)] ?? 200));
    await using d = await startDaemon({ answers });
    await call(d, 3);
    await d.clock.advance("5h");
    assert.deepEqual(await states(d), ["1-crm failed", "2-crm expired", "3-crm delivered"]);
    mended = true;
    const { json } = await replay(d, { filter: {}, limit: 1 });
    assert.deepEqual([json.replayed, json.destinations], [1, { crm: 1 }]);
    const next = await replay(d, { filter: {}, limit: 1, cursor: json.cursor });
    assert.deepEqual([next.json.replayed, next.json.cursor], [1, null]);
    assert.deepEqual(sentTo(d).m3, 1);
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
  });

  it("chooses by state, destination, source, type, user and time", async () => {
    const receiver = breakable(400);
    await using d = await startDaemon({ answers: receiver.answers });
    await d.call("/v1/track", { userId: "u1", event: "E", messageId: "m1" });
    await d.call("/v1/identify", { userId: "u2", messageId: "m2" });
    await d.clock.advance("1h");
    await d.call("/v1/track", { userId: "u2", event: "E", messageId: "m3" });
    const dryRun = async (filter: object): Promise<unknown> =>
      (await replay(d, { filter, dryRun: true })).json.replayed;
    assert.equal(await dryRun({ state: "failed" }), 3);
    assert.equal(await dryRun({ state: "failed", type: "identify" }), 1);
    assert.equal(await dryRun({ state: "failed", user: "u2" }), 2);
    assert.equal(await dryRun({ state: "failed", user: "u2", type: "track" }), 1);
    assert.equal(await dryRun({ state: "failed", since: "30m" }), 1);
    assert.equal(await dryRun({ state: "failed", until: "30m" }), 2);
    assert.equal(await dryRun({ state: "failed", source: "website" }), 3);
    assert.equal(await dryRun({ state: "delivered" }), 0);
    assert.deepEqual(sentTo(d), { m1: 1, m2: 1, m3: 1 });
    receiver.mend();
    assert.equal((await replay(d, { filter: { state: "failed", user: "u2", type: "track" } })).json.replayed, 1);
    assert.deepEqual(sentTo(d), { m1: 1, m2: 1, m3: 2 });
  });

  it("says on a dry run how many there are, the oldest and the newest, and changes nothing", async () => {
    await using d = await startDaemon({ answers: () => 400 });
    const first = new Date(d.clock.wall()).toISOString();
    await call(d, 1);
    await d.clock.advance("1h");
    const last = new Date(d.clock.wall()).toISOString();
    await d.call("/v1/track", { userId: "u1", event: "E", messageId: "m2" });
    const { json } = await replay(d, { filter: { state: "failed" }, dryRun: true });
    assert.deepEqual(json, {
      ...{
        success: true,
        replayed: 2,
        destinations: { crm: 2 },
        left: 0,
        superseded: 0,
        deleted: 0,
        oldest: first,
        newest: last,
        cursor: null,
      },
    });
    assert.deepEqual(
      (await d.rows()).map(({ state }) => state),
      ["failed", "failed"],
    );
    assert.equal(d.told.filter(({ what }) => what === "replayed").length, 0);
  });

  it("goes page by page, and sends none twice though it fails again at once", async () => {
    await using d = await startDaemon({ answers: () => 400 });
    await call(d, 25);
    await d.clock.advance("1ms");
    let cursor: unknown = null;
    const counts: unknown[] = [];
    do {
      const { json } = await replay(d, { filter: { state: "failed" }, limit: 10, cursor });
      counts.push(json.replayed);
      ({ cursor } = json);
    } while (cursor !== null);
    assert.deepEqual(counts, [10, 10, 5]);
    assert.deepEqual(new Set(Object.values(sentTo(d))), new Set([2]));
    assert.equal(d.told.filter(({ what }) => what === "replayed").length, 3);
  });

  it("leaves what is delivered while it goes on, however soon, and though its time ends later", async () => {
    for (const until of [undefined, "2099-01-01T00:00:00Z"]) {
      await using d = await startDaemon({ answers: ({ nth }) => (nth === 1 ? 503 : 200) });
      await call(d, 4);
      await d.clock.advance("1ms");
      const filter = { state: "delivered", ...(until ? { until } : {}) };
      const { json } = await replay(d, { filter, limit: 2 });
      assert.equal(json.replayed, 2);
      // In the same millisecond as the page before.
      assert.equal((await retry(d, "1-crm")).json.did, "hurried");
      assert.deepEqual(
        (await states(d)).filter((one) => !one.endsWith(" delivered")),
        [],
      );
      const next = await replay(d, { filter, limit: 2, cursor: json.cursor });
      assert.deepEqual([next.json.replayed, next.json.cursor], [1, null]);
      assert.deepEqual(sentTo(d), { m1: 2, m2: 2, m3: 2, m4: 2 });
    }
  });

  it("sends again all that a receiver has lost in a time, first attempts and retries", SLOW, async () => {
    await using d = await startDaemon({ answers: ({ nth }) => (nth % 3 === 0 ? 503 : 200) });
    await call(d, 60);
    await d.clock.advance("1h");
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
    const before = sentTo(d);
    let cursor: unknown = null;
    let replayed = 0;
    do {
      const { json } = await replay(d, { filter: { state: "delivered", since: "2h" }, limit: 7, cursor });
      replayed += Number(json.replayed);
      ({ cursor } = json);
    } while (cursor !== null);
    assert.equal(replayed, 60);
    await d.clock.advance("1h");
    const after = sentTo(d);
    for (const [id, count] of Object.entries(before)) assert.ok((after[id] ?? 0) > count, id);
    assert.ok((await d.rows()).every(({ state }) => state === "delivered"));
  });

  it("leaves what has no destination any more, and says how many", async () => {
    const destinations = [makeDestination(), makeDestination({ name: "old", urls: [URL_B] })];
    const receiver = breakable(400);
    await using d = await startDaemon({ config: { destinations }, answers: receiver.answers });
    await call(d, 2);
    await d.app.reload({ ...d.config, destinations: [makeDestination()] });
    receiver.mend();
    const { json } = await replay(d, { filter: { state: "failed" } });
    assert.deepEqual([json.replayed, json.left, json.destinations], [2, 2, { crm: 2 }]);
    assert.deepEqual(
      [sentTo(d, URL_A), sentTo(d, URL_B)],
      [
        { m1: 2, m2: 2 },
        { m1: 1, m2: 1 },
      ],
    );
  });

  it("leaves what was given up by command, but for what is named by its id", async () => {
    const receiver = breakable(503);
    await using d = await startDaemon({ answers: receiver.answers });
    await call(d, 3);
    await d.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await d.clock.advance("10s");
    await d.admin("POST", "/api/destinations/crm/discard", { body: {} });
    await d.admin("POST", "/api/destinations/crm/resume", { body: {} });
    receiver.mend();
    const { json } = await replay(d, { filter: { state: "failed" } });
    assert.deepEqual([json.replayed, json.left], [0, 3]);
    assert.equal((await retry(d, "2-crm")).json.did, "replayed");
    assert.deepEqual(await states(d), ["1-crm failed", "2-crm delivered", "3-crm failed"]);
  });

  it("is refused with words if it is not understood", async () => {
    await using d = await startDaemon();
    const messages: readonly [body: object, message: RegExp][] = [
      [{}, /^filter: is missing; \{\} means all$/],
      [{ filter: [] }, /^filter: must be an object with state, destination, /],
      [{ filter: { stat: "failed" } }, /^filter\.stat: is unknown; known are state, destination, /],
      [{ filter: { state: "waiting" } }, /^filter\.state: must be one of .*; waiting deliveries are sent anyway$/],
      [{ filter: { since: "yesterday" } }, /^filter\.since: must be a time with its zone/],
      [{ filter: {}, limit: 0 }, /^limit: must be a whole number from 1 to 1000$/],
      [{ filter: {}, cursor: "x" }, /^cursor must come from an answer to the same query/],
      [{ filter: {}, cursor: "failed:x" }, /^cursor must come from an answer to the same query/],
      [{ filter: {}, cursor: "failed:1:x" }, /^cursor must come from an answer to the same query/],
      [{ filter: {}, cursor: "delivered:1:" }, /^cursor must come from an answer to the same query/],
      [{ filter: { state: "failed" }, cursor: "expired:1:" }, /^cursor must come from an answer to the same query/],
      [{ filter: {}, dryRun: 1 }, /^dryRun: must be true or false$/],
      [{ filter: {}, states: 1 }, /^states: is unknown; known are filter, limit, cursor and dryRun$/],
    ];
    for (const [body, message] of messages) {
      const { status, json } = await replay(d, body);
      assert.deepEqual([status, json.code], [400, "invalid_request"], JSON.stringify(body));
      assert.match(String(json.message), message);
    }
  });
});
