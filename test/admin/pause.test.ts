import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fault } from "../../src/model/fault.ts";
import type { Pauses } from "../../src/model/pause.ts";
import type { Timeline } from "../../src/model/timeline.ts";
import { type At, HOUR } from "../../src/model/units.ts";
import { START, UNSHIFTED } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { startAdmin } from "./make.ts";

const COUNTS = [
  { destination: "crm", state: "waiting", count: 3 },
  { destination: "gone", state: "waiting", count: 7 },
  { destination: "empty", state: "waiting", count: 0 },
] as const;

const SINCE = "2026-11-20T10:00:00.000Z";

/** `crm` and `off` are in the config, `off` disabled; `gone` has left something waiting. */
function start(pauses: Partial<Pauses> = {}, timeline: Timeline = UNSHIFTED) {
  const destinations = () => [makeDestination(), makeDestination({ name: "off", enabled: false })];
  const admin = startAdmin({ stranded: { destinations, counts: COUNTS, pauses }, timeline });
  return {
    admin,
    async post(name: string, what: "pause" | "resume") {
      const { status, text } = await admin.post(`/api/destinations/${encodeURIComponent(name)}/${what}`, {});
      return { status, json: JSON.parse(text) };
    },
  };
}

describe("POST /api/destinations/:name/pause", () => {
  it("says since when, and how many wait, and tells the log", async () => {
    const { admin, post } = start({ pause: async () => ({ since: START - 2 * HOUR, changed: true }) });
    const { status, json } = await post("crm", "pause");
    assert.equal(status, 200);
    assert.deepEqual(json, { success: true, paused: true, since: SINCE, changed: true, waiting: 3 });
    assert.deepEqual(admin.told, [["paused", "crm", 3]]);
  });

  it("is no error if it is paused, and nothing new for the log", async () => {
    const { admin, post } = start({ pause: async () => ({ since: START - 2 * HOUR, changed: false }) });
    const { status, json } = await post("crm", "pause");
    assert.deepEqual([status, json.since, json.changed], [200, SINCE, false]);
    assert.deepEqual(admin.told, []);
  });

  it("says since when by the wall clock, wherever the daemon's own stands", async () => {
    const timeline = { ...UNSHIFTED, toWall: (at: At) => at + HOUR };
    const { post } = start({ pause: async () => ({ since: START - 2 * HOUR, changed: false }) }, timeline);
    assert.equal((await post("crm", "pause")).json.since, "2026-11-20T11:00:00.000Z");
  });

  it("knows those that are disabled, and those that are only in the outbox", async () => {
    const { post } = start({ pause: async () => ({ since: START, changed: true }) });
    assert.deepEqual([(await post("off", "pause")).json.waiting, (await post("gone", "pause")).json.waiting], [0, 7]);
  });

  it("does not know others, and says which was meant", async () => {
    const asked: string[] = [];
    const { post } = start({ pause: async (name) => ({ since: asked.push(name), changed: true }) });
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
    const { admin, post } = start({ since: () => START, pause: async () => failed, resume: async () => failed });
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
    const { admin, post } = start({ resume });
    const { status, json } = await post("crm", "resume");
    assert.equal(status, 200);
    assert.deepEqual(json, { success: true, paused: false, since: SINCE, changed: true, waiting: 3, served: true });
    assert.deepEqual(admin.told, [
      ["tried", "crm"],
      ["resumed", "crm", { paused: 2 * HOUR, waiting: 3 }],
    ]);
  });

  it("says that nothing is sent, if the config does not have it, or has it disabled", async () => {
    const { post } = start({ resume });
    for (const name of ["off", "gone"]) assert.equal((await post(name, "resume")).json.served, false);
  });

  it("is no error if it was not paused, and nothing for the log", async () => {
    const { admin, post } = start();
    const { status, json } = await post("crm", "resume");
    assert.deepEqual([status, json.since, json.changed, json.paused], [200, null, false, false]);
    assert.deepEqual(admin.told, [["tried", "crm"]]);
  });

  it("knows what is paused, though the config and the outbox have lost it", async () => {
    const { post } = start({ resume, since: (name) => (name === "lost" ? START : null) });
    assert.equal((await post("lost", "resume")).status, 200);
    assert.equal((await post("other", "resume")).status, 404);
  });
});
