import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Destination } from "../../src/model/config.ts";
import { SECOND } from "../../src/model/units.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";

const OFF = makeDestination({ enabled: false });
const NEW = makeDestination({ name: "new", urls: [URL_B] });

type Both = AsyncDisposable & { readonly first: TestDaemon; readonly second: TestDaemon };

/** Two daemons that know of each other. The first one does what one does for all. */
async function startBoth(firsts: DaemonOptions = {}, seconds: DaemonOptions = firsts): Promise<Both> {
  const first = await startDaemon({ ...firsts, shared: true });
  const second = await startDaemon({ ...seconds, beside: first });
  await first.clock.advance("3s");
  return {
    first,
    second,
    async [Symbol.asyncDispose]() {
      await second.stop();
      await first.stop();
    },
  };
}

/** Calls with these messageIds, in one commit. */
function call(d: TestDaemon, ...ids: readonly string[]) {
  const batch = ids.map((messageId) => ({ type: "track", userId: "u1", event: "E", messageId }));
  return d.call("/v1/batch", { batch });
}

function ids(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `m${n + 1}`);
}

function arrived(d: TestDaemon, at = URL_A): readonly string[] {
  return d.sent.filter(({ url }) => url === at).map(({ body }) => JSON.parse(body).messageId);
}

async function reload(d: TestDaemon, ...destinations: readonly Destination[]): Promise<void> {
  await d.app.reload({ ...d.config, destinations });
  await d.clock.rest();
}

describe("two daemons on one outbox", () => {
  it("recognise each other's messageIds", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    await call(first, "m1", "m2");
    await call(second, "m1", "m3");
    assert.deepEqual([arrived(first), arrived(second)], [["m1", "m2"], ["m3"]]);
  });

  it("pause a destination within two seconds when one of them is asked, and resume it", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    await first.admin("POST", "/api/destinations/crm/pause", { body: {} });
    await first.clock.advance("2s");
    await call(first, "m1");
    await call(second, "m2");
    await first.clock.advance("30s");
    assert.deepEqual([arrived(first), arrived(second)], [[], []]);
    await second.admin("POST", "/api/destinations/crm/resume", { body: {} });
    await first.clock.advance("2s");
    assert.deepEqual([arrived(first), arrived(second)], [["m1"], ["m2"]]);
  });

  it("try a destination within two seconds when one of them is asked, whatever its receiver has asked for", async () => {
    const silence = { status: 503, headers: { "Retry-After": "3600" } };
    let isWell = false;
    await using both = await startBoth({ answers: () => (isWell ? 200 : silence) });
    const { first, second } = both;
    await call(first, "m1");
    await call(second, "m2");
    await first.clock.advance("1m");
    assert.deepEqual([arrived(first), arrived(second)], [["m1"], ["m2"]]);
    isWell = true;
    const answer = await first.admin("POST", "/api/destinations/crm/retry", { body: {} });
    assert.deepEqual([answer.status, answer.json.waiting], [200, 2]);
    await first.clock.advance("2s");
    assert.deepEqual(
      [arrived(first), arrived(second)],
      [
        ["m1", "m1"],
        ["m2", "m2"],
      ],
    );
  });

  it("leave a receiver alone within two seconds when it has asked one of them for silence, for as long as it says", async () => {
    await using both = await startBoth(
      { answers: () => ({ status: 429, headers: { "Retry-After": "60" } }) },
      { answers: () => 200 },
    );
    const { first, second } = both;
    await call(first, "m1");
    await first.clock.advance("2s");
    await call(second, "m2");
    await first.clock.advance("57s");
    assert.deepEqual(arrived(second), []);
    await first.clock.advance("2s");
    assert.deepEqual(arrived(second), ["m2"]);
  });

  it("go on with the other webhooks of a destination, of which one has asked for silence", async () => {
    const destinations = [makeDestination({ urls: [URL_A, URL_B] })];
    const silence = { status: 503, headers: { "Retry-After": "60" } };
    const answers = ({ url }: { url: string }) => (url === URL_A ? silence : 503);
    await using both = await startBoth({ config: { destinations }, answers }, { config: { destinations } });
    const { first, second } = both;
    await call(first, "m1");
    await first.clock.advance("2s");
    await call(second, "m2");
    assert.deepEqual([arrived(second, URL_A), arrived(second, URL_B)], [[], ["m2"]]);
  });

  it("show what either of them has accepted, and what became of it", async () => {
    await using both = await startBoth({}, { answers: () => 503 });
    const { first, second } = both;
    await call(second, "m1");
    await first.clock.advance("100ms");
    const { json } = await first.admin("GET", "/api/events/m1");
    const [event] = json.events as { deliveries: { state: string; attempts: number }[] }[];
    assert.partialDeepStrictEqual(event?.deliveries, [{ state: "waiting", attempts: 1 }]);
  });

  it("end what waits at the other one for a user whose deletion one of them was asked for", async () => {
    await using both = await startBoth({ answers: ({ body }) => (JSON.parse(body).type === "delete" ? 200 : 503) });
    const { first, second } = both;
    await call(first, "m1");
    await call(second, "m2");
    const { json } = await second.admin("POST", "/api/deletions", { body: { userIds: ["u1"] } });
    await first.clock.advance("2s");
    const ended = (await first.rows()).filter(({ state }) => state === "failed");
    assert.equal(ended.length, 2);
    const sent = first.sent.length + second.sent.length;
    await first.clock.advance("30s");
    assert.equal(first.sent.length + second.sent.length, sent);
    for (const d of [first, second]) {
      const receipt = await d.admin("GET", `/api/deletions/${String(json.id)}`);
      assert.equal(receipt.json.status, "finished");
    }
    const notices = [...first.sent, ...second.sent].filter(({ body }) => JSON.parse(body).type === "delete");
    assert.equal(notices.length, 1);
  });

  it("move nothing while the other one has attempts under way", async () => {
    await using both = await startBoth({}, { answers: ({ url }) => (url === URL_A ? "hang" : 200) });
    const { first, second } = both;
    const move = () => first.admin("POST", "/api/destinations/crm/move", { body: { to: "new", limit: 100 } });
    await call(second, "m1");
    await first.clock.advance("2s");
    for (const d of [first, second]) await reload(d, OFF, NEW);
    assert.equal((await move()).json.code, "destination_busy");
    await first.clock.advance("6s");
    assert.equal((await move()).json.moved, 1);
    await first.clock.advance("2s");
    assert.deepEqual([arrived(first, URL_B), arrived(second, URL_B)], [[], ["m1"]]);
  });

  it("share the rate of a destination, and one that is left has all of it", async () => {
    const rate = { requests: 10, per: SECOND, burst: 10 };
    await using both = await startBoth({ config: { destinations: [makeDestination({ rate })] } });
    const { first, second } = both;
    await call(first, ...ids(100));
    await call(second, ...ids(200).slice(100));
    const [before, beforeToo] = [first.sent.length, second.sent.length];
    await first.clock.advance("4s");
    assert.deepEqual([first.sent.length - before, second.sent.length - beforeToo], [20, 20]);
    await second.stop();
    await first.clock.advance("4s");
    const kept = first.sent.length;
    await first.clock.advance("4s");
    assert.equal(first.sent.length - kept, 40);
  });

  it("share the attempts that a destination may have under way", async () => {
    const destinations = [makeDestination({ concurrency: 8 })];
    await using both = await startBoth({ config: { destinations }, answers: () => ({ status: 200, after: SECOND }) });
    const { first, second } = both;
    await call(first, ...ids(20));
    await call(second, ...ids(40).slice(20));
    assert.deepEqual([first.sent.length, second.sent.length], [4, 4]);
    await first.clock.advance("10s");
    await second.app.stop();
    await first.clock.advance("2s");
    const before = first.sent.length;
    await call(first, ...ids(60).slice(40));
    assert.equal(first.sent.length - before, 8);
  });

  it("send an audience that the one was asked for which does not do the work of all", async () => {
    await using both = await startBoth();
    const { first, second } = both;
    const path = "/api/sources/website/audiences/big";
    const answering = second.admin("PUT", path, { body: ["u1", "u2", "u3"] });
    // The list is read into a file, which takes as long as it takes.
    let isAnswered = false;
    void answering.finally(() => {
      isAnswered = true;
    });
    for (let seconds = 0; seconds < 60 && !isAnswered; seconds += 1) await first.clock.advance("1s");
    const { status, json } = await answering;
    assert.deepEqual([status, json.added, json.size], [200, 3, 3]);
    assert.deepEqual([first.sent.length, second.sent.length], [3, 0]);
    const sync = json.sync as { state: string };
    assert.equal(sync.state, "finished");
  });
});

describe("a daemon that dies beside another one", () => {
  it("has what it accepted sent by that one within ten seconds, and twice only what was under way", async () => {
    const destinations = [makeDestination({ concurrency: 8 })];
    const answers = () => ({ status: 200, after: 100 });
    await using both = await startBoth({ config: { destinations }, answers });
    const { first, second } = both;
    await call(second, ...ids(100));
    await first.clock.advance("1s");
    const before = arrived(second);
    assert.ok(before.length >= 20 && before.length <= 60, `it has sent ${before.length}`);
    await second.die();
    await first.clock.advance("10s");
    assert.deepEqual(arrived(second), before);
    const after = arrived(first);
    assert.equal(new Set(after).size, after.length);
    assert.deepEqual([...new Set([...before, ...after])].sort(), [...ids(100)].sort());
    // Each attempt takes 100 ms, and its outcome is written within 25 ms.
    const underWay = new Set(before.slice(-2 * 4));
    assert.deepEqual(
      after.filter((id) => before.includes(id) && !underWay.has(id)),
      [],
    );
    assert.ok((await first.rows()).every(({ state }) => state === "delivered"));
  });

  it("has its retries made by that one, the work that one does for all as well, and its messageIds known", async () => {
    await using both = await startBoth({ answers: () => 503 }, { answers: () => 200 });
    const { first, second } = both;
    await call(first, "m1");
    await first.die();
    await second.clock.advance("10s");
    assert.deepEqual(arrived(second), ["m1"]);
    await call(second, "m1");
    const answering = second.admin("PUT", "/api/sources/website/audiences/big", { body: ["u1", "u2"] });
    await second.clock.advance("2s");
    assert.equal((await answering).json.added, 2);
    assert.equal(second.sent.length, 3);
  });
});

describe("a daemon that was kept from running until another one took its stream", () => {
  it("has each new call sent once when it runs again, and what was taken only until it hears of that", async () => {
    const destinations = [makeDestination({ concurrency: 8 })];
    await using both = await startBoth({ config: { destinations }, answers: () => ({ status: 200, after: 100 }) });
    const { first, second } = both;
    await call(second, ...ids(100));
    await first.clock.advance("1s");
    second.freeze();
    const calling = call(second, "new1", "new2", "m1");
    await first.clock.advance("15s");
    const taken = arrived(first);
    const before = arrived(second);
    assert.deepEqual([...new Set([...before, ...taken])].sort(), [...ids(100)].sort());
    second.thaw();
    await calling;
    await first.clock.advance("10s");
    // What it had in memory it sends again only until it hears that the stream is lost.
    const again = arrived(second).slice(before.length);
    assert.deepEqual(again.filter((id) => id.startsWith("new")).sort(), ["new1", "new2"]);
    assert.ok(again.length <= 2 + 2 * 8, `it has sent ${again.length}`);
    assert.deepEqual(arrived(first), taken);
    const rows = await first.rows();
    assert.deepEqual([rows.length, rows.every(({ state }) => state === "delivered")], [102, true]);
    const { json } = await first.admin("GET", "/api/status");
    assert.match(JSON.stringify(json.destinations), /"delivered":102/);
  });
});

describe("a daemon that stops beside another one", () => {
  it("leaves that one what waits, at once", async () => {
    await using both = await startBoth({ answers: () => 200 }, { answers: () => 503 });
    const { first, second } = both;
    await call(second, ...ids(5));
    const stopping = second.app.stop();
    await first.clock.advance("3s");
    await stopping;
    assert.deepEqual([...arrived(first)].sort(), ids(5));
  });

  it("has each event sent once while one daemon after the other is restarted", async () => {
    await using both = await startBoth({ answers: () => ({ status: 200, after: 300 }) });
    const { first, second } = both;
    const all = [first, second];
    for (const [nth, old] of [first, second].entries()) {
      await call(old, `old${nth}`, `older${nth}`);
      await call(second, `other${nth}`);
      const stopping = old.app.stop();
      await first.clock.advance("1s");
      await stopping;
      const next = await startDaemon({ beside: first });
      all.push(next);
      await call(next, `new${nth}`);
      await first.clock.advance("3s");
    }
    const sent = all.flatMap((d) => arrived(d)).sort();
    assert.deepEqual(sent, ["new0", "new1", "old0", "old1", "older0", "older1", "other0", "other1"]);
    for (const next of all.slice(2)) await next.stop();
  });
});
