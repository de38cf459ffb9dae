import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { HOUR, MINUTE, SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { START } from "./clock.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, makeSource, URL_B } from "./make.ts";
import { type Behaviour, REFUSED, type Sent } from "./network.ts";

const ORDERED = makeDestination({ order: "user" });
const UNORDERED = makeDestination();

/** A call for each of these, as `ann1`: the user and a number. */
async function call(d: TestDaemon, ...names: readonly string[]): Promise<void> {
  const batch = names.map((messageId) => ({ type: "track", userId: userOf(messageId), event: "E", messageId }));
  for (let at = 0; at < batch.length; at += 500) await d.ask("/v1/batch", { batch: batch.slice(at, at + 500) });
  await d.clock.rest();
}

function userOf(name: string): string {
  return name.replace(/\d+$/, "");
}

function many(user: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${user}${n + 1}`);
}

function nameOf({ body }: Pick<Sent, "body">): string {
  return JSON.parse(body).messageId;
}

function arrived({ sent }: TestDaemon, user?: string): readonly string[] {
  return sent.map(nameOf).filter((name) => user === undefined || userOf(name) === user);
}

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

function start(answers: (sent: Sent) => Behaviour, destination: Destination = ORDERED): Promise<TestDaemon> {
  return startDaemon({ config: { destinations: [destination] }, answers });
}

const SLOWLY: Behaviour = { status: 200, after: SECOND };

describe("a destination with an order", () => {
  it("gets the deliveries of a user one after the other, and those of others at the same time", async () => {
    await using d = await start(() => SLOWLY);
    await call(d, "ann1", "ann2", "bob1", "ann3", "bob2");
    assert.deepEqual(arrived(d), ["ann1", "bob1"]);
    await d.clock.advance("1s");
    assert.deepEqual(arrived(d), ["ann1", "bob1", "ann2", "bob2"]);
    await d.clock.advance("1s");
    assert.deepEqual(arrived(d), ["ann1", "bob1", "ann2", "bob2", "ann3"]);
  });

  it("without one gets them all at once", async () => {
    await using d = await start(() => SLOWLY, UNORDERED);
    await call(d, "ann1", "ann2", "ann3");
    assert.equal(d.sent.length, 3);
  });

  it("holds the later ones of a user back while an earlier one is retried, and nobody else's", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" && sent.at < START + MINUTE ? 500 : 200));
    await call(d, "ann1", "ann2", "bob1", "ann3", "bob2");
    await d.clock.advance("50s");
    assert.deepEqual(new Set(arrived(d, "ann")), new Set(["ann1"]));
    assert.deepEqual(arrived(d, "bob"), ["bob1", "bob2"]);
    await d.clock.advance("5m");
    assert.deepEqual(arrived(d, "ann").slice(-3), ["ann1", "ann2", "ann3"]);
  });

  it("goes on with a user once an earlier one is given up", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" ? 400 : nameOf(sent) === "bob1" ? 503 : 200));
    await call(d, "ann1", "ann2", "bob1", "bob2");
    assert.deepEqual(arrived(d, "ann"), ["ann1", "ann2"]);
    await d.clock.advance("3h 50m");
    assert.ok(!arrived(d).includes("bob2"));
    await d.clock.advance("30m");
    assert.equal(arrived(d).at(-1), "bob2");
  });

  it("knows a user by the userId, else by the anonymousId, and an alias by the user it names", async () => {
    await using d = await start(() => SLOWLY);
    const calls = [
      { type: "track", anonymousId: "a-1", event: "E", messageId: "m1" },
      { type: "page", anonymousId: "a-1", messageId: "m2" },
      { type: "identify", userId: "ann", anonymousId: "a-1", messageId: "m3" },
      { type: "alias", previousId: "a-1", userId: "ann", messageId: "m4" },
      { type: "group", userId: "ann", groupId: "g", messageId: "m5" },
    ];
    await d.call("/v1/batch", { batch: calls });
    assert.deepEqual(arrived(d), ["m1", "m3"]);
    await d.clock.advance("1s");
    assert.deepEqual(arrived(d).slice(2), ["m2", "m4"]);
    await d.clock.advance("1s");
    assert.deepEqual(arrived(d).slice(4), ["m5"]);
  });

  it("sends the deletion of a user after what is being sent of them", async () => {
    await using d = await start(() => SLOWLY);
    await call(d, "ann1", "ann2");
    await d.admin("POST", "/api/deletions", { body: { userIds: ["ann"] } });
    await d.clock.advance("3s");
    const types = d.sent.map(({ body }) => JSON.parse(body).type);
    assert.equal(types[0], "track");
    assert.equal(types.at(-1), "delete");
    const times = d.sent.map(({ at }) => at - START);
    assert.ok(
      times.every((at, nth) => at === nth * SECOND),
      times.join(),
    );
  });

  it("does not send the newest first while its receiver refuses everything", async () => {
    await using d = await start(({ at }) => (at < START + HOUR ? 500 : 200));
    await call(d, ...many("ann", 300), ...many("bob", 300));
    await d.clock.advance("30m");
    assert.deepEqual(new Set(arrived(d)), new Set(["ann1", "bob1"]));
    await d.clock.advance("2h");
    for (const user of ["ann", "bob"]) assert.deepEqual([...new Set(arrived(d, user))], many(user, 300));
  });

  it("holds it over an outage of the receiver, whose end has the retries sent early", async () => {
    await using d = await start(({ at }) => (at < START + HOUR ? REFUSED : 200));
    const names = Array.from({ length: 40 }, (_, n) => many(`u${n}x`, 5)).flat();
    await call(d, ...names);
    await d.clock.advance("2h");
    for (let n = 0; n < 40; n += 1) assert.deepEqual([...new Set(arrived(d, `u${n}x`))], many(`u${n}x`, 5));
  });

  it("is not filled by one user who is held back, however many of them wait", SLOW, async () => {
    await using d = await start((sent) => (userOf(nameOf(sent)) === "ann" && sent.at < START + HOUR ? 500 : 200));
    await call(d, ...many("ann", 3_000), ...many("bob", 200), ...many("ann", 3_100).slice(3_000));
    await d.clock.advance("5s");
    assert.deepEqual(arrived(d, "bob"), many("bob", 200));
    await d.clock.advance("3h");
    assert.deepEqual([...new Set(arrived(d, "ann"))], many("ann", 3_100));
  });

  it("goes on after a withdrawal of the delivery that held back the others", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" ? 500 : 200));
    await call(d, "ann1", "ann2", "ann3");
    await d.clock.advance("10s");
    await reload(d, { ...ORDERED, enabled: false });
    await d.clock.advance("10s");
    const answer = await d.admin("POST", "/api/destinations/crm/discard", { body: {} });
    assert.equal(answer.status, 200, answer.text);
    await reload(d, ORDERED);
    await call(d, "ann4");
    assert.equal(arrived(d).at(-1), "ann4");
  });

  it("goes on at once when a deletion has withdrawn what held back the others", async () => {
    const sources = [makeSource(), makeSource({ name: "app", writeKey: new Secret("app-key") })];
    const answers = (sent: Sent): Behaviour => (nameOf(sent) === "ann1" ? 500 : 200);
    await using d = await startDaemon({ config: { sources, destinations: [ORDERED] }, answers });
    const authorization = `Basic ${Buffer.from("app-key:").toString("base64")}`;
    await d.ask("/v1/track", { userId: "ann", event: "E", messageId: "ann1" }, { authorization });
    await call(d, "ann2");
    assert.deepEqual(arrived(d), ["ann1"]);
    await d.admin("POST", "/api/deletions", { body: { userIds: ["ann"], sources: ["app"] } });
    await d.clock.rest();
    assert.deepEqual(arrived(d).slice(0, 2), ["ann1", "ann2"]);
    assert.equal(JSON.parse(d.sent[2]?.body ?? "{}").type, "delete");
  });

  it("keeps the order of what was moved to it", async () => {
    const lake = makeDestination({ name: "lake", urls: [URL_B], enabled: true });
    await using d = await startDaemon({
      config: { destinations: [lake, { ...ORDERED, enabled: false }] },
      answers: ({ url }) => (url === URL_B ? 500 : SLOWLY),
    });
    await call(d, "ann1", "ann2", "bob1", "ann3");
    await d.clock.advance("1m");
    await reload(d, ORDERED);
    const answer = await d.admin("POST", "/api/destinations/lake/move", { body: { to: "crm" } });
    assert.equal(answer.status, 200, answer.text);
    await call(d, "ann4");
    await d.clock.advance("10s");
    const toCrm = d.sent.filter(({ url }) => url !== URL_B).map(nameOf);
    assert.deepEqual(
      toCrm.filter((name) => userOf(name) === "ann"),
      ["ann1", "ann2", "ann3", "ann4"],
    );
  });

  it("sends what is replayed one after the other as well, before what waits of the user", async () => {
    await using d = await start((sent) => (sent.at < START + MINUTE ? 400 : SLOWLY));
    await call(d, ...many("ann", 5));
    await d.clock.advance("2m");
    await call(d, "ann6", "ann7");
    await d.admin("POST", "/api/replay", { body: { filter: { state: "failed" } } });
    await d.clock.advance("20s");
    const since = d.sent.filter(({ at }) => at >= START + 2 * MINUTE);
    assert.deepEqual(since.map(nameOf), ["ann6", ...many("ann", 5), "ann7"]);
    assert.ok(since.every(({ at }, nth) => at === START + 2 * MINUTE + nth * SECOND));
  });

  it("sends what is replayed while it is paused in its order, however many pages of it there are", SLOW, async () => {
    await using d = await start((sent) => (sent.at < START + MINUTE ? 400 : 200));
    const names = Array.from({ length: 600 }, (_, n) => (n % 2 === 0 ? `ann${n}` : `u${n}x${n}`));
    await call(d, ...names);
    await d.clock.advance("2m");
    const { length } = d.sent;
    await d.admin("POST", "/api/destinations/crm/pause");
    let cursor: unknown = null;
    do {
      const body = { filter: { state: "failed" }, limit: 200, ...(cursor !== null && { cursor }) };
      ({ cursor } = (await d.admin("POST", "/api/replay", { body })).json);
      await d.clock.advance("1s");
    } while (cursor !== null);
    await d.admin("POST", "/api/destinations/crm/resume");
    await d.clock.advance("1m");
    assert.equal(d.sent.length, 2 * length);
    const again = d.sent.slice(length).map(nameOf);
    assert.deepEqual(
      again.filter((name) => userOf(name) === "ann"),
      names.filter((name) => userOf(name) === "ann"),
    );
  });
});

describe("a delivery that is held back", () => {
  /** What each waits for, by messageId. */
  async function heldBack(d: TestDaemon): Promise<Readonly<Record<string, unknown>>> {
    const { json } = await d.admin("GET", "/api/deliveries?state=waiting");
    const list = json.deliveries as { messageId: string; heldBack: unknown }[];
    return Object.fromEntries(list.map((one) => [one.messageId, one.heldBack]));
  }

  it("says that it waits for an earlier one of its user", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" ? 500 : 200));
    await call(d, "ann1", "ann2");
    const user = { by: "user", why: "an earlier delivery of the same user" };
    assert.deepEqual(await heldBack(d), { ann1: null, ann2: user });
    const [, id] = (await d.rows()).map(({ event, destination }) => `${event}-${destination}`);
    assert.deepEqual((await d.admin("GET", `/api/deliveries/${id}`)).json.heldBack, user);
    const { json } = await d.admin("GET", "/api/events/ann2");
    const [event] = json.events as { deliveries: { heldBack: unknown }[] }[];
    assert.deepEqual(event?.deliveries[0]?.heldBack, user);
  });

  it("says that it waits for its destination's rate", async () => {
    const rate = { requests: 1, per: MINUTE, burst: 1 };
    await using d = await start(() => 200, { ...UNORDERED, rate });
    await call(d, "ann1", "ann2");
    assert.deepEqual(await heldBack(d), { ann2: { by: "rate", why: "its turn: crm takes 1/m" } });
    await d.clock.advance("2m");
    assert.deepEqual(await heldBack(d), {});
  });

  it("says that it waits for the requests that are under way", async () => {
    await using d = await start(() => SLOWLY, { ...UNORDERED, concurrency: 2 });
    await call(d, "ann1", "ann2", "ann3");
    const turn = { by: "concurrency", why: "its turn: 2 requests are under way to crm" };
    assert.deepEqual((await heldBack(d)).ann3, turn);
    await d.clock.advance("1s");
    assert.equal((await heldBack(d)).ann3, null);
  });

  it("is not said to wait for a limit while its receiver is down, or nothing is sent to it", async () => {
    const rate = { requests: 1, per: MINUTE, burst: 1 };
    await using d = await start(() => REFUSED, { ...UNORDERED, concurrency: 1 });
    await call(d, ...many("ann", 20));
    await d.clock.advance("5m");
    assert.deepEqual(new Set(Object.values(await heldBack(d))), new Set([null]));
    await reload(d, { ...UNORDERED, rate, enabled: false });
    assert.deepEqual(new Set(Object.values(await heldBack(d))), new Set([null]));
  });
});

describe("a reload", () => {
  it("that gives a destination its order lets what is being sent end first", async () => {
    await using d = await start(() => SLOWLY, { ...UNORDERED, concurrency: 3 });
    await call(d, ...many("ann", 6));
    assert.deepEqual(arrived(d), many("ann", 3));
    await d.clock.advance("500ms");
    await reload(d, ORDERED);
    await d.clock.advance("10s");
    assert.deepEqual(arrived(d), many("ann", 6));
    const late = d.sent.slice(3).map(({ at }) => at);
    assert.ok(late.every((at, nth) => nth === 0 || at - (late[nth - 1] ?? 0) >= SECOND));
  });

  it("that takes it away sends all at once from then on", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" ? 500 : 200));
    await call(d, ...many("ann", 4));
    await d.clock.advance("5s");
    assert.deepEqual(new Set(arrived(d)), new Set(["ann1"]));
    await reload(d, UNORDERED);
    await d.clock.advance("2s");
    assert.deepEqual(new Set(arrived(d)), new Set(many("ann", 4)));
  });

  it("of anything else leaves the lines as they are", async () => {
    await using d = await start((sent) => (nameOf(sent) === "ann1" && sent.at < START + MINUTE ? 500 : 200));
    await call(d, ...many("ann", 4));
    await d.clock.advance("5s");
    await reload(d, { ...ORDERED, concurrency: 2 });
    await d.clock.advance("10s");
    assert.deepEqual(new Set(arrived(d)), new Set(["ann1"]));
    await d.clock.advance("5m");
    assert.deepEqual([...new Set(arrived(d))], many("ann", 4));
  });
});

describe("after a crash", () => {
  it("a retry that is stored holds back the later ones of its user, before anything else is sent", async () => {
    const answers = (sent: Sent): Behaviour => (nameOf(sent) === "ann1" && sent.at < START + HOUR ? 500 : 200);
    await using before = await start(answers);
    await call(before, ...many("ann", 4));
    await before.clock.advance("10m");
    await using d = await before.crash({ answers });
    await call(d, "ann5", "bob1");
    assert.deepEqual(arrived(d), ["bob1"]);
    await d.clock.advance("2h");
    assert.deepEqual([...new Set(arrived(d, "ann"))], many("ann", 5));
  });

  it("nothing comes for the first time after a later one", async () => {
    const answers = () => SLOWLY;
    await using before = await start(answers);
    await call(before, ...many("ann", 10));
    await before.clock.advance("3500ms");
    await using d = await before.crash({ answers });
    await d.clock.advance("30s");
    const all = [...new Set([...arrived(before), ...arrived(d)])];
    assert.deepEqual(all, many("ann", 10));
  });
});
