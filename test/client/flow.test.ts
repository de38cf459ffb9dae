// Client, daemon and receiver in one process, with the daemon failing in each of its ways.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Fetch } from "../../src/client/platform.ts";
import { Secret } from "../../src/model/secret.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "../flow/daemon.ts";
import { makeSource } from "../flow/make.ts";
import { fetchFrom, type Way } from "./daemon.ts";
import { type ClientOptions, startClient, type TestClient } from "./world.ts";

/** Clients have random ids; two of one test must not have the same. */
async function start(way: Way = () => "open", options: ClientOptions = {}, daemon: DaemonOptions = {}) {
  const d = await startDaemon(daemon);
  const c = startClient({ clock: d.clock, fetch: fetchFrom(() => d, way), ...options });
  return { d, c, [Symbol.asyncDispose]: () => d.stop() };
}

/** What the receiver got, each as its type and its event. */
function received({ sent }: TestDaemon): readonly string[] {
  return sent.map(({ body }) => JSON.parse(body)).map(({ type, event }) => (event === undefined ? type : event));
}

function trackAll(c: TestClient, count: number): readonly string[] {
  const names = Array.from({ length: count }, (_, nth) => `E${nth}`);
  for (const name of names) void c.track(name);
  return names;
}

/** A network on which each request is so long on its way. */
function slowly(d: TestDaemon, ms: number): Fetch {
  const fetch = fetchFrom(() => d);
  return async (url, init) => {
    await new Promise<void>((arrive) => d.clock.after(ms, arrive));
    return fetch(url, init);
  };
}

describe("a client and its daemon", () => {
  it("bring all six calls to the receiver, with their fields", async () => {
    await using both = await start();
    const { c, d } = both;
    const who = { userId: "u", anonymousId: "a" };
    void c.call("identify", { ...who, traits: { plan: "pro" } });
    void c.call("track", {
      ...who,
      event: "Signed Up",
      properties: { total: 36.5, at: new Date(0) },
      context: { ip: "1.2.3.4" },
    });
    void c.call("page", { anonymousId: "a", category: "Docs", name: "Home", traits: { url: "https://x" } });
    void c.call("screen", { ...who, name: "Start" });
    void c.call("group", { ...who, groupId: "g", traits: { name: "Initech" } });
    void c.call("alias", { userId: "u", previousId: "a" });
    assert.equal((await c.client.flush()).delivered.length, 6);
    await d.clock.rest();
    const bodies = d.sent.map(({ body }) => JSON.parse(body));
    assert.deepEqual(
      bodies.map(({ type }) => type),
      ["identify", "track", "page", "screen", "group", "alias"],
    );
    const [identify, track, page, screen, group, alias] = bodies;
    assert.deepEqual(identify.traits, { plan: "pro" });
    assert.deepEqual(track.properties, { total: 36.5, at: "1970-01-01T00:00:00.000Z" });
    assert.deepEqual([track.context.ip, track.context.library.name], ["1.2.3.4", "fairlead-client"]);
    assert.deepEqual(
      [page.userId, page.anonymousId, page.category, page.name, page.properties],
      [undefined, "a", "Docs", "Home", { url: "https://x" }],
    );
    assert.equal(screen.name, "Start");
    assert.deepEqual([group.groupId, group.traits], ["g", { name: "Initech" }]);
    assert.deepEqual([alias["Previous ID"], alias["User ID"]], ["a", "u"]);
  });

  it("keep the order of a change of identity: anonymous, alias, identify, then the new user (SPEC.md 4.3 rule 7)", async () => {
    await using both = await start(() => "open", { size: 1 });
    const { c, d } = both;
    void c.call("track", { anonymousId: "anon-1", event: "Visited" });
    void c.call("alias", { previousId: "anon-1", userId: "user-1" });
    void c.call("identify", { userId: "user-1", traits: { email: "ada@example.com" } });
    void c.call("track", { userId: "user-1", event: "Signed Up" });
    const { delivered } = await c.client.close(10_000);
    assert.equal(delivered.length, 4);
    await d.clock.rest();
    const seen = d.sent.map(({ body }) => JSON.parse(body));
    assert.deepEqual(
      seen.map((body) => [
        body.type,
        body.userId ?? body["User ID"],
        body.anonymousId ?? body["Previous ID"],
        body.event,
      ]),
      [
        ["track", undefined, "anon-1", "Visited"],
        ["alias", "user-1", "anon-1", undefined],
        ["identify", "user-1", undefined, undefined],
        ["track", "user-1", undefined, "Signed Up"],
      ],
    );
  });

  for (const [transit, recently] of [
    [0, "2026-11-20T12:10:00.000Z"],
    [28, "2026-11-20T12:10:00.000Z"],
    [29_000, "2026-11-20T12:10:00.000Z"],
    // So long on the way that nobody can tell it from a clock that is slow.
    [300_000, "2026-11-20T12:15:00.000Z"],
  ] as const) {
    it(`keep the times of a historical import, and of recent calls: ${transit} ms on the way`, async () => {
      const d = await startDaemon();
      await using _ = { [Symbol.asyncDispose]: () => d.stop() };
      const c = startClient({ clock: d.clock, fetch: slowly(d, transit), timeout: 600_000 });
      void c.track("old", { timestamp: "2012-12-02T00:30:12.984Z" });
      void c.client.flush();
      await c.clock.advance("10m");
      void c.track("new");
      await c.clock.advance("10m");
      const [old, recent] = d.sent.map(({ body }) => JSON.parse(body));
      assert.deepEqual([old.timestamp, old.sentAt], ["2012-12-02T00:30:12.984Z", undefined]);
      assert.equal(recent.timestamp, recently);
    });
  }

  it("correct a wrong clock for recent calls alone, in the same batch", async () => {
    const d = await startDaemon();
    await using _ = { [Symbol.asyncDispose]: () => d.stop() };
    const ahead = { wall: () => d.clock.wall() + 5 * 3_600_000 };
    const c = startClient({ clock: d.clock, fetch: fetchFrom(() => d), world: ahead });
    void c.track("old", { timestamp: "2012-12-02T00:30:12.984Z" });
    void c.track("new");
    await c.clock.advance("5s");
    const bodies = d.sent.map(({ body }) => JSON.parse(body));
    assert.deepEqual(
      bodies.map(({ event, timestamp, originalTimestamp }) => [event, timestamp, originalTimestamp]),
      [
        ["old", "2012-12-02T00:30:12.984Z", "2012-12-02T00:30:12.984Z"],
        ["new", "2026-11-20T12:00:00.000Z", "2026-11-20T17:00:00.000Z"],
      ],
    );
  });
});

describe("a daemon in trouble", () => {
  it("that is away for a minute costs nothing", async () => {
    let away = true;
    await using both = await start(() => (away ? "down" : "open"));
    const { c, d } = both;
    const names = trackAll(c, 50);
    await d.clock.advance("1m");
    assert.deepEqual(d.sent, []);
    away = false;
    await d.clock.advance("1m");
    assert.deepEqual(received(d), names);
    assert.deepEqual(c.lost, []);
  });

  it("that took a batch, and whose answer was lost, delivers each call once", async () => {
    await using both = await start((nth) => (nth === 1 ? "answer lost" : "open"));
    const { c, d } = both;
    const names = trackAll(c, 3);
    const flushed = c.client.flush();
    await d.clock.advance("1s");
    assert.deepEqual(received(d), names);
    const { delivered, duplicates } = await flushed;
    assert.deepEqual([delivered.length, duplicates], [3, 3]);
  });

  it("that is killed with calls under way delivers each after its restart", async () => {
    const first = await startDaemon({ answers: () => 503 });
    let current: TestDaemon = first;
    const c = startClient({
      clock: first.clock,
      fetch: fetchFrom(
        () => current,
        (nth) => (nth === 1 ? "answer lost" : "open"),
      ),
    });
    void c.track("E");
    const flushed = c.client.flush();
    await first.clock.rest();
    await using second = await first.crash({ answers: () => 200 });
    current = second;
    await second.clock.advance("10s");
    assert.deepEqual([received(second), (await flushed).duplicates], [["E"], 1]);
  });

  it("whose store is full is asked again until it has room", async () => {
    let free = 0;
    await using both = await start(
      () => "open",
      {},
      {
        config: {
          outbox: {
            path: "",
            postgres: null,
            maxSize: 2 ** 30,
            freeDisk: 2 ** 20,
            keepDelivered: 1_000,
            keepFailed: 1_000,
          },
        },
        space: async () => ({ free, total: 2 ** 40 }),
      },
    );
    const { c, d } = both;
    void c.track("E");
    await d.clock.advance("30s");
    assert.deepEqual([received(d), c.lost], [[], []]);
    free = 2 ** 39;
    await d.clock.advance("1m");
    assert.deepEqual(received(d), ["E"]);
  });

  it("that is stopped and started again takes its calls then", async () => {
    const first = await startDaemon();
    let current = first;
    const c = startClient({ clock: first.clock, fetch: fetchFrom(() => current) });
    await first.stop();
    void c.track("E");
    const flushed = c.client.flush();
    await first.clock.advance("10s");
    await using second = await startDaemon({ clock: first.clock });
    current = second;
    await second.clock.advance("1m");
    assert.equal((await flushed).delivered.length, 1);
    assert.deepEqual([received(first), received(second)], [[], ["E"]]);
  });

  for (const [what, source, code] of [
    ["does not know the write key", { writeKey: new Secret("another") }, "unknown_write_key"],
    ["has its source switched off", { enabled: false }, "source_disabled"],
  ] as const) {
    it(`that ${what} is asked once, and each call comes back with that code`, async () => {
      await using both = await start(() => "open", {}, { config: { sources: [makeSource(source)] } });
      const { c } = both;
      const names = trackAll(c, 2);
      const { lost } = await c.client.flush();
      assert.deepEqual(
        lost.map(({ code, status, reason, attempts }) => [code, status, reason, attempts]),
        Array(2).fill([code, 401, "refused", 1]),
      );
      assert.deepEqual(
        c.lost.map(({ call }) => call.event),
        names,
      );
    });
  }

  it("that rejects one call of a batch takes the others, and says which and why", async () => {
    await using both = await start();
    const { c, d } = both;
    void c.track("good");
    void c.track("deep", { properties: nested(250) });
    void c.track("odd", { context: { ip: nested(250) } });
    void c.track("also good");
    const { delivered, lost } = await c.client.flush();
    await d.clock.rest();
    assert.equal(delivered.length, 2);
    assert.deepEqual(
      lost.map(({ call, code, reason }) => [call.event, code, reason]),
      [
        ["deep", "too_deep", "rejected"],
        ["odd", "too_deep", "rejected"],
      ],
    );
    assert.deepEqual(received(d), ["good", "also good"]);
  });

  it("that does not come back before close is over leaves its calls to the program, for the next time", async () => {
    let away = true;
    await using both = await start(() => (away ? "down" : "open"));
    const { c, d } = both;
    const names = trackAll(c, 3);
    const closed = c.client.close(2_000);
    await d.clock.advance("2s");
    const { undelivered } = await closed;
    assert.deepEqual(
      undelivered.map(({ event }) => event),
      names,
    );
    away = false;
    const next = startClient({ clock: d.clock, fetch: fetchFrom(() => d) });
    for (const { type, ...call } of undelivered) void next.call(type, call);
    assert.deepEqual(
      (await next.client.close(1_000)).delivered,
      undelivered.map(({ messageId }) => messageId),
    );
    await d.clock.rest();
    assert.deepEqual(received(d), names);
  });
});

function nested(levels: number): object {
  let value: object = {};
  for (let level = 0; level < levels; level += 1) value = { value };
  return value;
}
