import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { Secret } from "../../src/model/secret.ts";
import { type LiveLine, liveLine } from "../../src/wire/live.ts";
import { startDaemon, type TestDaemon } from "./daemon.ts";
import { makeConfig, makeDestination, URL_A, URL_B } from "./make.ts";

const TRACK = { type: "track", userId: "u1", event: "Bought", messageId: "m1" };

type Watch = {
  /** The lines so far, but for the first, which comes at once. Each is as `/openapi.json` says. */
  lines(): Promise<readonly LiveLine[]>;
  events(): Promise<readonly Record<string, unknown>[]>;
  ended(): boolean;
  close(): Promise<void>;
};

/** Watches, and reads everything as it comes. */
async function watch(d: TestDaemon, query = "", headers = {}): Promise<Watch> {
  const response = await d.open(`/api/live${query}`, { headers });
  const shown = ["content-type", "x-accel-buffering"].map((name) => response.headers.get(name));
  assert.deepEqual([response.status, ...shown], [200, "application/x-ndjson", "no"]);
  const reader = response.body?.getReader() ?? assert.fail("no body");
  const lines: LiveLine[] = [];
  let ended = false;
  void (async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      lines.push(v.parse(liveLine, JSON.parse(new TextDecoder().decode(part.value))));
    ended = true;
  })();
  const own: Watch = {
    async lines() {
      await d.clock.rest();
      return lines.slice(1);
    },
    events: async () => (await own.lines()).flatMap(({ events }) => events),
    ended: () => ended,
    close: () => reader.cancel(),
  };
  return own;
}

describe("GET /api/live", () => {
  it("shows what is accepted, refused and attempted, a quarter of a second later at most", async () => {
    await using d = await startDaemon({
      answers: ({ nth }) => (nth === 1 ? 503 : 200),
      config: { destinations: [makeDestination({ urls: [`${URL_A}?token=x`] })] },
    });
    const watcher = await watch(d);
    await d.call("/v1/track", TRACK);
    await d.call("/v1/track", { event: "nobody", messageId: "m2" });
    await d.clock.advance("250ms");
    const at = "2026-11-20T12:00:00.000Z";
    const message = "a call needs a userId or an anonymousId";
    const shown = { source: "website", type: "track" };
    const attempt = { destination: "crm", delivery: "1-crm", url: URL_A, ...shown, messageId: "m1", duration: 0 };
    const [line, ...others] = await watcher.lines();
    assert.deepEqual(others, []);
    const found = line?.events.map((one) => ("message" in one ? { ...one, message } : one));
    assert.deepEqual(
      { ...line, events: found },
      {
        at: "2026-11-20T12:00:00.250Z",
        events: [
          { kind: "accepted", at, ...shown, event: "Bought", messageId: "m1", userId: "u1", destinations: ["crm"] },
          { kind: "attempted", at, ...attempt, attempt: 1, status: 503, reason: "503" },
          { kind: "refused", at, ...shown, messageId: "m2", code: "missing_id", message },
        ],
        omitted: 0,
      },
    );
    await d.clock.advance("3s");
    assert.deepEqual((await watcher.events()).at(-1), {
      ...{ kind: "attempted", at: "2026-11-20T12:00:01.000Z", ...attempt, attempt: 2, status: 200, reason: null },
    });
    await watcher.close();
  });

  it("gives a sign of life every five seconds while nothing happens", async () => {
    await using d = await startDaemon();
    const watcher = await watch(d);
    await d.clock.advance("20s");
    const times = (await watcher.lines()).map(({ at, events, omitted }) => [at.slice(17, 19), events.length, omitted]);
    assert.deepEqual(times, [
      ["05", 0, 0],
      ["10", 0, 0],
      ["15", 0, 0],
      ["20", 0, 0],
    ]);
    await watcher.close();
  });

  const filters: Readonly<Record<string, readonly string[]>> = {
    "?kind=accepted": ["accepted m1", "accepted m2"],
    "?kind=refused,attempted": ["attempted m1", "attempted m2", "refused m3", "attempted m1"],
    "?source=website": ["accepted m1", "attempted m1", "accepted m2", "attempted m2", "refused m3", "attempted m1"],
    "?destination=lake": ["accepted m1", "attempted m1"],
    "?destination=crm&kind=attempted": ["attempted m1", "attempted m2"],
    "?type=page": ["accepted m2", "attempted m2"],
    "?user=u1": ["accepted m1", "attempted m1", "attempted m1"],
    "?user=u3": ["refused m3"],
  };
  for (const [query, expected] of Object.entries(filters)) {
    it(`shows only what matches ${query}`, async () => {
      const destinations = [makeDestination(), makeDestination({ name: "lake", urls: [URL_B], types: ["track"] })];
      await using d = await startDaemon({ config: { destinations } });
      const watcher = await watch(d, query);
      await d.call("/v1/track", TRACK);
      await d.call("/v1/page", { userId: "u2", name: "u1", messageId: "m2", properties: { text: '"u1"' } });
      await d.call("/v1/track", { userId: "u3", messageId: "m3" });
      await d.clock.advance("250ms");
      const found = (await watcher.events()).map(({ kind, messageId }) => `${kind} ${messageId}`);
      assert.deepEqual(found.sort(), [...expected].sort());
      await watcher.close();
    });
  }

  it("shows at most 50 events of a burst, some of all of it in their order, and counts the others", async () => {
    await using d = await startDaemon();
    const watcher = await watch(d, "?kind=accepted");
    const batch = Array.from({ length: 1_000 }, (_, nth) => ({ ...TRACK, messageId: `m${nth}` }));
    await d.ask("/v1/batch", { batch });
    await d.clock.rest();
    await d.clock.advance("250ms");
    const [line] = await watcher.lines();
    const shown = line?.events.map(({ messageId }) => Number(messageId?.slice(1))) ?? [];
    assert.deepEqual([shown.length, line?.omitted], [50, 950]);
    assert.deepEqual(
      shown,
      shown.toSorted((one, other) => one - other),
    );
    await watcher.close();
  });

  it("drops and counts what a slow reader does not fetch", async () => {
    await using d = await startDaemon();
    const response = await d.open("/api/live?kind=accepted");
    const reader = response.body?.getReader() ?? assert.fail("no body");
    const other = await watch(d, "?kind=accepted");
    for (let second = 0; second < 30; second += 1) {
      const batch = Array.from({ length: 100 }, (_, nth) => ({ ...TRACK, messageId: `m${second}-${nth}` }));
      await d.ask("/v1/batch", { batch });
      await d.clock.advance("1s");
    }
    let size = 0;
    const lines: LiveLine[] = [];
    while (size < 64 * 1_024) {
      const { value = new Uint8Array() } = await reader.read();
      size += value.byteLength;
      lines.push(JSON.parse(new TextDecoder().decode(value)));
    }
    assert.ok(size < 96 * 1_024, `${size} bytes were kept for it`);
    await d.clock.advance("250ms");
    lines.push(JSON.parse(new TextDecoder().decode((await reader.read()).value)));
    const sum = lines.reduce((total, { events, omitted }) => total + events.length + omitted, 0);
    assert.equal(sum, 3_000);
    assert.ok(lines.every(({ events }) => events.length <= 50));
    assert.equal((await other.lines()).filter(({ events }) => events.length > 0).length, 30);
    await other.close();
  });

  it("ends when its reader fetches nothing for a minute", async () => {
    await using d = await startDaemon();
    const response = await d.open("/api/live?kind=accepted");
    const batch = Array.from({ length: 50 }, () => ({ ...TRACK, messageId: undefined }));
    for (let second = 0; second < 90; second += 1) {
      await d.ask("/v1/batch", { batch });
      await d.clock.advance("1s");
    }
    const reader = response.body?.getReader() ?? assert.fail("no body");
    await assert.rejects(reader.read(), /too slow/);
  });

  it("ends after an hour", async () => {
    await using d = await startDaemon();
    const watcher = await watch(d);
    await d.clock.advance("59m 59s");
    assert.equal(watcher.ended(), false);
    await d.clock.advance("1s");
    assert.equal(watcher.ended(), true);
  });

  it("ends when the daemon stops, whether it is read or not", async () => {
    const d = await startDaemon();
    const watcher = await watch(d);
    await d.open("/api/live");
    await d.stop();
    assert.equal(watcher.ended(), true);
  });

  it("ends when its token is not the token any more", async () => {
    const { admin } = makeConfig();
    await using d = await startDaemon({ config: { admin: { ...admin, token: new Secret("old") } } });
    const watcher = await watch(d, "", { authorization: "Bearer old" });
    await d.app.reload({ ...d.config, admin: { ...admin, token: new Secret("new") } });
    await d.clock.advance("1s");
    assert.equal(watcher.ended(), true);
  });

  it("has eight watchers at most, and room again when one leaves", async () => {
    await using d = await startDaemon();
    const watchers = await Promise.all(Array.from({ length: 8 }, () => watch(d)));
    const { status, json, headers } = await d.admin("GET", "/api/live");
    assert.deepEqual([status, json.code, headers.get("retry-after")], [429, "too_many_watchers", "5"]);
    await watchers[3]?.close();
    watchers[3] = await watch(d);
    await d.call("/v1/track", TRACK);
    await d.clock.advance("250ms");
    for (const watcher of watchers) assert.equal((await watcher.events()).length, 2);
    for (const watcher of watchers) await watcher.close();
  });

  it("is not watched by a HEAD request", async () => {
    await using d = await startDaemon();
    for (let n = 0; n < 20; n += 1) {
      const { status, body } = await d.open("/api/live", { method: "HEAD" });
      assert.deepEqual([status, body], [200, null]);
    }
    await (await watch(d)).close();
  });

  it("refuses a filter that can match nothing", async () => {
    await using d = await startDaemon();
    const wrong = {
      "kind=accepted,lost": 'kind must be one or more of accepted,refused,attempted (got "accepted,lost")',
      "type=order": 'type must be one of identify, track, page, screen, group, alias, delete (got "order")',
      "name=x": "name is unknown; known are kind, source, destination, type and user",
      "destination=cmr": 'there is no destination "cmr"; did you mean crm?',
      "source=websit": 'there is no source "websit"; did you mean website?',
    };
    for (const [query, message] of Object.entries(wrong))
      assert.equal((await d.admin("GET", `/api/live?${query}`)).json.message, message);
  });
});
