import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AttemptsLately, Lately } from "../../src/model/status.ts";
import { MINUTE } from "../../src/model/units.ts";
import { START } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { startAdmin } from "./make.ts";

const WELL: Lately = { perSecond: 2, failingSince: null, lastError: null, offline: false };
const SICK: Lately = {
  perSecond: 0,
  failingSince: START - MINUTE,
  lastError: { at: START, url: "https://a.example.com/hook", reason: "503" },
  offline: false,
};

function activityOf(known: Readonly<Record<string, Lately>>): AttemptsLately {
  return { of: (destination) => known[destination] ?? WELL };
}

async function statusOf(options: Parameters<typeof startAdmin>[0]) {
  const { status, text } = await startAdmin(options).get("/api/status");
  assert.equal(status, 200);
  return JSON.parse(text);
}

describe("GET /api/status", () => {
  it("says what runs, since when, on which config and outbox", async () => {
    const { version, pid, startedAt, config, outbox } = await statusOf({});
    assert.deepEqual([version, pid, startedAt], ["1.2.3", 4711, "2026-11-20T12:00:00.000Z"]);
    const readAt = "2026-11-20T12:00:00.000Z";
    assert.deepEqual(config, { file: "config.yaml", readAt, refused: null, needsRestart: [] });
    assert.deepEqual(outbox, {
      path: "/var/lib/fairlead/fairlead.db",
      ...{ used: 0, max: 1, free: null, full: null, writable: true, gone: null },
    });
  });

  it("says why the last config was refused, and what waits for a restart", async () => {
    const refused = { at: START, reason: "the config has errors" };
    const { config } = await statusOf({ status: { config: { refused, needsRestart: ["ingest.listen"] } } });
    assert.deepEqual(config.refused, { at: "2026-11-20T12:00:00.000Z", reason: "the config has errors" });
    assert.deepEqual(config.needsRestart, ["ingest.listen"]);
  });

  it("says of each source what comes from it", async () => {
    const arrivals = { of: () => ({ perSecond: 0.5, lastAt: START }) };
    const { sources } = await statusOf({ status: { arrivals } });
    assert.deepEqual(sources, [{ name: "website", enabled: true, perSecond: 0.5, lastAt: "2026-11-20T12:00:00.000Z" }]);
  });

  it("says of each destination how it is, since when, and why", async () => {
    const destinations = () => [
      makeDestination(),
      ...["sick", "away", "off"].map((name) => makeDestination({ name, enabled: name !== "off" })),
    ];
    const counts = [
      { destination: "sick", state: "waiting", count: 3 },
      { destination: "sick", state: "failed", count: 1 },
      { destination: "gone", state: "waiting", count: 7 },
      { destination: "long-gone", state: "delivered", count: 7 },
    ] as const;
    const activity = activityOf({ sick: SICK, away: { ...SICK, offline: true }, off: SICK });
    const status = { activity, oldestAt: START - MINUTE };
    const { destinations: said } = await statusOf({ stranded: { destinations, counts }, status });
    const brief = said.map(({ name, state, oldestWaiting }: Record<string, unknown>) => [name, state, oldestWaiting]);
    assert.deepEqual(brief, [
      ...[
        ["crm", "working", null],
        ["sick", "failing", MINUTE],
        ["away", "offline", null],
        ["off", "disabled", null],
      ],
      // What is gone is named as long as something waits for it.
      ["gone", "removed", MINUTE],
    ]);
    assert.deepEqual(said[1], {
      ...{ name: "sick", state: "failing", perSecond: 0, oldestWaiting: MINUTE, pausedSince: null },
      counts: { waiting: 3, delivered: 0, failed: 1, expired: 0 },
      failingSince: "2026-11-20T11:59:00.000Z",
      lastError: { at: "2026-11-20T12:00:00.000Z", url: "https://a.example.com/hook", reason: "503" },
    });
  });

  it("says since when one is paused, also if it is off or gone, and that its receiver is another matter", async () => {
    const destinations = () => [makeDestination(), makeDestination({ name: "off", enabled: false })];
    const counts = [{ destination: "gone", state: "waiting", count: 7 }] as const;
    const pauses = { since: () => START - MINUTE };
    const status = { activity: activityOf({ crm: SICK }) };
    const { destinations: said } = await statusOf({ stranded: { destinations, counts, pauses }, status });
    const since = "2026-11-20T11:59:00.000Z";
    assert.deepEqual(
      said.map(({ name, state, pausedSince }: Record<string, unknown>) => [name, state, pausedSince]),
      [
        ["crm", "paused", since],
        ["off", "disabled", since],
        ["gone", "removed", since],
      ],
    );
    assert.equal(said[0].lastError.reason, "503");
  });
});
