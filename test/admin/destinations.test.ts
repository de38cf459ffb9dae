import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Pauses } from "../../src/model/destination-clock.ts";
import { fault } from "../../src/model/fault.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import { type At, HOUR } from "../../src/model/units.ts";
import type { WaitingDeliveries } from "../../src/model/waiting-deliveries.ts";
import { destinationBusy, destinationInUse } from "../../src/model/waiting-deliveries.ts";
import { START, UNSHIFTED } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { startAdmin } from "./make.ts";

const DISCARD = "/api/destinations/old/discard";
const MOVE = "/api/destinations/old/move";

const COUNTS = [
  { destination: "old", state: "waiting", count: 7 },
  { destination: "old", state: "failed", count: 2 },
  { destination: "crm", state: "waiting", count: 3 },
  { destination: "empty", state: "waiting", count: 0 },
  { destination: "done", state: "delivered", count: 1 },
] as const;

const DESTINATIONS = [
  makeDestination(),
  makeDestination({ name: "off", enabled: false }),
  makeDestination({ name: "warehouse" }),
];

type Stranded = NonNullable<NonNullable<Parameters<typeof startAdmin>[0]>["stranded"]>;

/** Nothing is delivered to `old`, for which seven wait, and to `off`. Notes what the store is asked. */
function start(stranded: Stranded = {}) {
  const asked: unknown[] = [];
  const waiting: WaitingDeliveries = {
    async discard(...what) {
      asked.push(["discard", ...what]);
      return { discarded: 5, more: true };
    },
    async move(...what) {
      asked.push(["move", ...what]);
      return { moved: 4, doubled: 1, more: true };
    },
  };
  const admin = startAdmin({ stranded: { destinations: () => DESTINATIONS, counts: COUNTS, waiting, ...stranded } });
  return {
    admin,
    asked,
    async post(path: string, body: unknown) {
      const { status, headers, text } = await admin.post(path, body);
      return { status, headers, json: JSON.parse(text) };
    },
  };
}

describe("POST /api/destinations/:name/discard", () => {
  it("ends a page of what waits for a destination that is gone, and says whether there is more", async () => {
    const { admin, asked, post } = start();
    const { status, json } = await post(DISCARD, { limit: 5 });
    assert.deepEqual([status, json], [200, { success: true, discarded: 5, more: true }]);
    assert.deepEqual(asked, [["discard", "old", 5]]);
    assert.deepEqual(admin.told, [["discarded", "old", 5]]);
  });

  it("takes 500 if nobody says how many, and one that is only disabled", async () => {
    const { asked, post } = start();
    assert.equal((await post("/api/destinations/off/discard", {})).status, 200);
    assert.deepEqual(asked, [["discard", "off", 500]]);
  });

  it("is not told to the log if it did nothing", async () => {
    const nothing = {
      discard: async () => ({ discarded: 0, more: false }),
    } as Partial<WaitingDeliveries> as WaitingDeliveries;
    const { admin, post } = start({ waiting: nothing });
    assert.deepEqual((await post(DISCARD, {})).json, { success: true, discarded: 0, more: false });
    assert.deepEqual(admin.told, []);
  });

  it("changes nothing on a dry run: it says how many wait", async () => {
    const { admin, asked, post } = start();
    assert.deepEqual((await post(DISCARD, { dryRun: true })).json, { success: true, waiting: 7 });
    assert.deepEqual((await post("/api/destinations/off/discard", { dryRun: true })).json.waiting, 0);
    assert.deepEqual((await post("/api/destinations/done/discard", { dryRun: true })).json.waiting, 0);
    assert.deepEqual([asked, admin.told], [[], []]);
  });

  const IN_USE =
    "crm is being served; before you move or discard its waiting deliveries, pause it, disable it or remove it from the config";

  it("refuses a destination that is served", async () => {
    const { asked, post } = start();
    for (const dryRun of [true, false]) {
      const { status, json } = await post("/api/destinations/crm/discard", { dryRun });
      assert.deepEqual([status, json.code, json.message], [409, "destination_in_use", IN_USE]);
    }
    assert.deepEqual(asked, []);
  });

  it("ends what waits for one that is paused, and leaves it paused", async () => {
    const { asked, post } = start({ pauses: { since: (name) => (name === "crm" ? 1 : null) } });
    assert.equal((await post("/api/destinations/crm/discard", { dryRun: true })).json.waiting, 3);
    assert.equal((await post("/api/destinations/crm/discard", {})).status, 200);
    assert.equal((await post("/api/destinations/crm/move", { to: "off" })).status, 200);
    assert.deepEqual(asked.length, 2);
  });

  it("refuses one that has come back in this very moment", async () => {
    const { admin, post } = start({ whileIdle: async (name) => destinationInUse(name) });
    const { status, json } = await post(DISCARD, {});
    assert.deepEqual([status, json.code], [409, "destination_in_use"]);
    assert.deepEqual(admin.told, []);
  });

  it("asks for patience while attempts still run", async () => {
    const { post } = start({ whileIdle: async (name) => destinationBusy(name) });
    const { status, headers, json } = await post(DISCARD, {});
    assert.deepEqual([status, json.code, headers.get("retry-after")], [409, "destination_busy", "1"]);
  });

  it("does not know a destination that is neither in the config nor in the store, and says which was meant", async () => {
    const { post } = start();
    const unknown = async (name: string) => {
      const { status, json } = await post(`/api/destinations/${encodeURIComponent(name)}/discard`, {});
      assert.deepEqual([status, json.code], [404, "unknown_destination"]);
      return json.message;
    };
    assert.equal(await unknown("odl"), 'there is no destination "odl"; did you mean old?');
    assert.equal(await unknown("wharehouse"), 'there is no destination "wharehouse"; did you mean warehouse?');
    assert.equal(await unknown("empty"), 'there is no destination "empty"; known are crm, off, warehouse, old, done');
    assert.equal(await unknown("a/b\n"), 'there is no destination "a/b\\n"; known are crm, off, warehouse, old, done');
  });

  it("answers what the store does when it cannot write", async () => {
    const failed = fault("store_failed", "the outbox cannot be written");
    const { admin, post } = start({ waiting: { discard: async () => failed, move: async () => failed } });
    assert.equal((await post(DISCARD, {})).status, 503);
    assert.equal((await post(MOVE, { to: "crm" })).json.code, "store_failed");
    assert.deepEqual(admin.told, []);
  });
});

describe("POST /api/destinations/:name/move", () => {
  it("moves a page to another destination, and says how many it had already", async () => {
    const { admin, asked, post } = start();
    const { status, json } = await post(MOVE, { to: "crm", limit: 5 });
    assert.deepEqual([status, json], [200, { success: true, moved: 4, doubled: 1, more: true }]);
    const by = { from: "old", to: "crm" };
    assert.deepEqual(asked, [["move", by, 5]]);
    assert.deepEqual(admin.told, [["moved", by, { moved: 4, doubled: 1, more: true }]]);
  });

  it("may move them to one that is disabled: they wait there until it is enabled", async () => {
    const { post } = start();
    assert.equal((await post(MOVE, { to: "off" })).status, 200);
  });

  it("changes nothing on a dry run: it says how many wait", async () => {
    const { admin, asked, post } = start();
    assert.deepEqual((await post(MOVE, { to: "crm", dryRun: true })).json, { success: true, waiting: 7 });
    assert.deepEqual([asked, admin.told], [[], []]);
  });

  it("refuses another destination that is not in the config, or is the same", async () => {
    const { asked, post } = start();
    for (const dryRun of [true, false]) {
      const unknown = await post(MOVE, { to: "wearhouse", dryRun });
      assert.deepEqual([unknown.status, unknown.json.code], [404, "unknown_destination"]);
      assert.equal(unknown.json.message, 'there is no destination "wearhouse"; did you mean warehouse?');
      // It is in the store, but nobody would ever deliver to it.
      assert.equal((await post("/api/destinations/off/move", { to: "old", dryRun })).status, 404);
      const same = await post("/api/destinations/off/move", { to: "off", dryRun });
      assert.deepEqual([same.status, same.json.code], [400, "invalid_request"]);
    }
    assert.deepEqual(asked, []);
  });

  it("refuses an old one that is served, is busy, or is unknown", async () => {
    const { post } = start();
    assert.equal((await post("/api/destinations/crm/move", { to: "off" })).json.code, "destination_in_use");
    assert.equal((await post("/api/destinations/nobody/move", { to: "off" })).json.code, "unknown_destination");
    const busy = start({ whileIdle: async (name) => destinationBusy(name) });
    assert.equal((await busy.post(MOVE, { to: "crm" })).json.code, "destination_busy");
  });
});

describe("a body", () => {
  const LIMIT = "limit: must be a whole number from 1 to 1000";
  const wrong: readonly (readonly [path: string, body: unknown, message: string])[] = [
    [DISCARD, { limit: 0 }, LIMIT],
    [DISCARD, { limit: 1_001 }, LIMIT],
    [DISCARD, { limit: 1.5 }, LIMIT],
    [DISCARD, { limit: "5" }, LIMIT],
    [DISCARD, { dryRun: "yes" }, "dryRun: must be true or false"],
    [DISCARD, { to: "crm" }, "to: is unknown; known are limit and dryRun"],
    [DISCARD, null, "the body: must be an object with limit and dryRun"],
    [MOVE, {}, "to: is missing"],
    [MOVE, { to: "" }, "to: must name a destination"],
    [MOVE, { to: 5 }, "to: must name a destination"],
    [MOVE, { to: "crm", dryrun: true }, "dryrun: is unknown; known are to, limit and dryRun"],
    [MOVE, '"crm"', "the body: must be an object with to, limit and dryRun"],
  ];
  for (const [path, body, message] of wrong) {
    it(`is refused: ${path} ${JSON.stringify(body)}`, async () => {
      const { asked, post } = start();
      const { status, json } = await post(path, body);
      assert.deepEqual([status, json.code, json.message], [400, "invalid_request", message]);
      assert.deepEqual(asked, []);
    });
  }

  it("is refused if it is not JSON", async () => {
    const { post } = start();
    assert.equal((await post(DISCARD, "{")).json.code, "invalid_json");
  });
});

const PAUSABLE = [
  { destination: "crm", state: "waiting", count: 3 },
  { destination: "gone", state: "waiting", count: 7 },
  { destination: "empty", state: "waiting", count: 0 },
] as const;

const SINCE = "2026-11-20T10:00:00.000Z";

/** `crm` and `off` are in the config, `off` disabled; `gone` has left something waiting. */
function startPauses(pauses: Partial<Pauses> = {}, timeline: Timeline = UNSHIFTED) {
  const destinations = () => [makeDestination(), makeDestination({ name: "off", enabled: false })];
  const admin = startAdmin({ stranded: { destinations, counts: PAUSABLE, pauses }, timeline });
  return {
    admin,
    async post(name: string, what: "pause" | "resume" | "retry") {
      const { status, text } = await admin.post(`/api/destinations/${encodeURIComponent(name)}/${what}`, {});
      return { status, json: JSON.parse(text) };
    },
  };
}

describe("POST /api/destinations/:name/pause", () => {
  it("says since when, and how many wait, and tells the log", async () => {
    const { admin, post } = startPauses({ pause: async () => ({ since: START - 2 * HOUR, changed: true }) });
    const { status, json } = await post("crm", "pause");
    assert.equal(status, 200);
    assert.deepEqual(json, { success: true, paused: true, since: SINCE, changed: true, waiting: 3 });
    assert.deepEqual(admin.told, [["paused", "crm", 3]]);
  });

  it("is no error if it is paused, and nothing new for the log", async () => {
    const { admin, post } = startPauses({ pause: async () => ({ since: START - 2 * HOUR, changed: false }) });
    const { status, json } = await post("crm", "pause");
    assert.deepEqual([status, json.since, json.changed], [200, SINCE, false]);
    assert.deepEqual(admin.told, []);
  });

  it("says since when by the wall clock, wherever the daemon's own stands", async () => {
    const timeline = { ...UNSHIFTED, toWall: (at: At) => at + HOUR };
    const { post } = startPauses({ pause: async () => ({ since: START - 2 * HOUR, changed: false }) }, timeline);
    assert.equal((await post("crm", "pause")).json.since, "2026-11-20T11:00:00.000Z");
  });

  it("knows those that are disabled, and those that are only in the outbox", async () => {
    const { post } = startPauses({ pause: async () => ({ since: START, changed: true }) });
    assert.deepEqual([(await post("off", "pause")).json.waiting, (await post("gone", "pause")).json.waiting], [0, 7]);
  });

  it("does not know others, and says which was meant", async () => {
    const asked: string[] = [];
    const { post } = startPauses({ pause: async (name) => ({ since: asked.push(name), changed: true }) });
    for (const [name, hint] of [
      ["cmr", "; did you mean crm?"],
      ["empty", "; known are crm, off, gone"],
    ] as const) {
      const { status, json } = await post(name, "pause");
      assert.deepEqual([status, json.code], [404, "unknown_destination"]);
      assert.equal(json.message, `there is no destination "${name}"${hint}`);
    }
    assert.deepEqual(asked, []);
  });

  it("answers what the store does when it cannot write", async () => {
    const failed = fault("store_failed", "the outbox cannot be written");
    const { admin, post } = startPauses({ since: () => START, pause: async () => failed, resume: async () => failed });
    for (const what of ["pause", "resume"] as const) {
      const { status, json } = await post("crm", what);
      assert.deepEqual([status, json.code], [503, "store_failed"]);
    }
    assert.deepEqual(admin.told, []);
  });
});

describe("POST /api/destinations/:name/resume", () => {
  const resume = async () => ({ since: START - 2 * HOUR });

  it("says since when it was paused, how many wait, and that they are sent", async () => {
    const { admin, post } = startPauses({ resume });
    const { status, json } = await post("crm", "resume");
    assert.equal(status, 200);
    assert.deepEqual(json, { success: true, paused: false, since: SINCE, changed: true, waiting: 3, served: true });
    assert.deepEqual(admin.told, [
      ["tried", "crm"],
      ["resumed", "crm", { paused: 2 * HOUR, waiting: 3 }],
    ]);
  });

  it("says that nothing is sent, if the config does not have it, or has it disabled", async () => {
    const { post } = startPauses({ resume });
    for (const name of ["off", "gone"]) assert.equal((await post(name, "resume")).json.served, false);
  });

  it("is no error if it was not paused, and nothing for the log", async () => {
    const { admin, post } = startPauses();
    const { status, json } = await post("crm", "resume");
    assert.deepEqual([status, json.since, json.changed, json.paused], [200, null, false, false]);
    assert.deepEqual(admin.told, [["tried", "crm"]]);
  });

  it("knows what is paused, though the config and the outbox have lost it", async () => {
    const { post } = startPauses({ resume, since: (name) => (name === "lost" ? START : null) });
    assert.equal((await post("lost", "resume")).status, 200);
    assert.equal((await post("other", "resume")).status, 404);
  });
});

describe("POST /api/destinations/:name/retry", () => {
  it("has the destination tried, says how many wait, and tells the log", async () => {
    const { admin, post } = startPauses();
    assert.deepEqual(await post("crm", "retry"), { status: 200, json: { success: true, waiting: 3, served: true } });
    assert.deepEqual(admin.told, [
      ["retried", "crm"],
      ["retriedNow", "crm", 3],
    ]);
  });

  it("does nothing for one that is not served", async () => {
    const { admin, post } = startPauses();
    assert.equal((await post("off", "retry")).json.served, false);
    assert.deepEqual(admin.told, []);
  });

  it("answers why the other daemons cannot be told", async () => {
    const destinations = () => [makeDestination()];
    const retry = async () => fault("store_failed", "the outbox cannot be written");
    const admin = startAdmin({ stranded: { destinations, retry } });
    const { status, text } = await admin.post("/api/destinations/crm/retry", {});
    assert.deepEqual([status, JSON.parse(text).code, admin.told], [503, "store_failed", []]);
  });
});
