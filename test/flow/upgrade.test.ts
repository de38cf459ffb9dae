import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { openDatabase } from "../../src/store/sqlite/driver.ts";
import { SCHEMA_VERSION } from "../../src/store/sqlite/schema.ts";
import { createFalseClock } from "./clock.ts";
import { type DaemonOptions, startDaemon, type TestDaemon } from "./daemon.ts";
import { makeDestination, URL_A, URL_B } from "./make.ts";

type Row = Readonly<Record<string, unknown>>;
/** What the version that wrote a store read in it, and when. */
type Written = { readonly at: number; readonly events: readonly Row[]; readonly deliveries: readonly Row[] };
type Kept = { readonly outbox: Uint8Array; readonly written: Written };

/** Each schema, with a store that its own version wrote: test/fixtures/stores/README.md. */
const SCHEMAS = [10];

function readKept(schema: number): Kept {
  const file = (end: string) => readFileSync(new URL(`../fixtures/stores/schema-${schema}.${end}`, import.meta.url));
  return { outbox: gunzipSync(file("db.gz")), written: JSON.parse(file("json").toString()) };
}

/** `old` is not in the config any more. */
const SERVED = [
  makeDestination(),
  makeDestination({ name: "lake", urls: [URL_B, "https://c.example.com/hook"], types: ["track"] }),
];
const DISABLED = SERVED.map((destination) => ({ ...destination, enabled: false }));

/** The present daemon on such a store, right after the older one has ended. */
function startOn({ outbox, written }: Kept, options: DaemonOptions): Promise<TestDaemon> {
  return startDaemon({ ...options, outbox, clock: createFalseClock(written.at) });
}

/** What a view shows now, without the columns that the older one did not have. */
async function read(d: TestDaemon, view: "events" | "deliveries", like: Row | undefined): Promise<readonly Row[]> {
  const db = await openDatabase(d.config.outbox.path);
  const order = view === "events" ? "id" : "event, destination";
  const rows = db.prepare<[], Row>(`SELECT * FROM ${view} ORDER BY ${order}`).all();
  db.close();
  const columns = Object.keys(like ?? {});
  return rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])));
}

function waitingFor(destination: string, { deliveries }: Written): readonly unknown[] {
  const theirs = deliveries.filter((row) => row.destination === destination && row.state === "waiting");
  return theirs.map((row) => row.message_id).sort();
}

function sentTo(d: TestDaemon, ...urls: readonly string[]): readonly unknown[] {
  const to = d.sent.filter(({ url }) => urls.includes(url));
  return to.map(({ body }) => JSON.parse(body).messageId).sort();
}

for (const schema of SCHEMAS) {
  const kept = readKept(schema);
  const { written } = kept;

  describe(`a store of schema ${schema}`, () => {
    it("is brought up to date, and every event and delivery in it is what it was", async () => {
      await using d = await startOn(kept, { config: { destinations: DISABLED } });
      assert.deepEqual(await read(d, "events", written.events[0]), written.events);
      assert.deepEqual(await read(d, "deliveries", written.deliveries[0]), written.deliveries);
      const db = await openDatabase(d.config.outbox.path);
      assert.equal(db.pragma("user_version", { simple: true }), SCHEMA_VERSION);
      assert.deepEqual(db.pragma("integrity_check"), [{ integrity_check: "ok" }]);
      const counted = db.prepare<[], Row>(
        "SELECT destination, state, count(*) AS count FROM deliveries GROUP BY 1, 2 ORDER BY 1, 2",
      );
      const counts = db.prepare<[], Row>("SELECT * FROM counts WHERE count > 0 ORDER BY destination, state");
      assert.deepEqual(counts.all(), counted.all());
      db.close();
    });

    it("goes on being delivered: what waits, and nothing else", async () => {
      await using d = await startOn(kept, { config: { destinations: SERVED } });
      await d.clock.advance("15m");
      assert.deepEqual(sentTo(d, URL_A), waitingFor("crm", written));
      assert.deepEqual(sentTo(d, URL_B), []);
      await d.admin("POST", "/api/destinations/lake/resume", { body: {} });
      await d.clock.rest();
      assert.deepEqual(sentTo(d, URL_B), waitingFor("lake", written));
      const waiting = (await d.rows()).filter(({ state }) => state === "waiting");
      assert.deepEqual(
        waiting.map(({ destination }) => destination),
        ["old"],
      );
    });

    it("knows its repeats, what became of a call and why, and replays what had failed", async () => {
      await using d = await startOn(kept, { config: { destinations: SERVED } });
      const again = await d.call("/v1/track", { messageId: "delivered", event: "Again", userId: "u1" });
      assert.deepEqual([again.status, again.json.duplicate ?? 1], [200, 1]);
      const { json } = await d.admin("GET", "/api/events/failed");
      const [{ deliveries = [] } = {}] = json.events as { deliveries?: Record<string, unknown>[] }[];
      const [failed] = deliveries.filter(({ state }) => state === "failed");
      assert.equal(failed?.reason, "refused: answered 400");
      await d.admin("POST", `/api/deliveries/${failed?.id}/retry`, { body: {} });
      await d.clock.rest();
      assert.ok(sentTo(d, URL_A).includes("failed"));
      assert.ok(!sentTo(d, URL_A).includes("delivered"));
    });

    it("takes new calls, and gives them numbers that none has had", async () => {
      await using d = await startOn(kept, { config: { destinations: SERVED } });
      assert.equal((await d.call("/v1/track", { messageId: "new", event: "E", userId: "u9" })).status, 200);
      const [newest] = (await d.rows()).toSorted((a, b) => b.event - a.event);
      assert.equal(newest?.event, 1 + Math.max(...written.events.map(({ id }) => Number(id))));
    });

    it("still refuses a user who was suppressed, and knows the members of an audience", async () => {
      await using d = await startOn(kept, {});
      const refused = await d.call("/v1/track", { event: "E", userId: "u-erased" });
      assert.equal(refused.json.code, "user_suppressed");
      const path = "/api/sources/website/audiences/Big%20Spenders";
      const { json } = await d.admin("PUT", path, { body: ["u2"] });
      assert.deepEqual([json.added, json.removed, json.size], [0, 1, 1]);
    });
  });
}
