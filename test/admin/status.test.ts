import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StoreAway } from "../../src/model/fault.ts";
import type { Sharing } from "../../src/model/sharing.ts";
import type { DestinationHealth, Health } from "../../src/model/status.ts";
import { HOUR, MINUTE } from "../../src/model/units.ts";
import { START, UNSHIFTED } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { startAdmin, WELL } from "./make.ts";

const URL = "https://a.example.com/hook";
const SICK: DestinationHealth = {
  state: "failing",
  failingSince: START - MINUTE,
  lastError: { at: START, url: URL, reason: "503" },
  heldSince: null,
  webhooks: [
    {
      url: URL,
      state: "down",
      failingSince: START - MINUTE,
      lastFailure: { at: START, reason: "503" },
      nextTryAt: START + MINUTE,
    },
  ],
};

function healthOf(known: Readonly<Record<string, DestinationHealth>>): Health {
  return { of: ({ name }) => known[name] ?? WELL };
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
      used: 0,
      max: 1,
      free: null,
      full: null,
      writable: true,
      away: null,
      gone: null,
    });
  });

  it("says whether the machine's clock can be believed, and shows its own times by it", async () => {
    assert.deepEqual((await statusOf({})).clock, { plausible: true, code: null, reason: null, since: null });
    const doubt = { plausible: false, code: "behind", reason: "it says 2025", since: START } as const;
    const timeline = { ...UNSHIFTED, toWall: (at: number) => at - HOUR, health: () => doubt };
    const { clock, startedAt } = await statusOf({ timeline });
    assert.deepEqual(clock, { ...doubt, since: "2026-11-20T11:00:00.000Z" });
    assert.equal(startedAt, "2026-11-20T11:00:00.000Z");
  });

  it("says why the last config was refused, and what waits for a restart", async () => {
    const refused = { at: START, reason: "the config has errors" };
    const { config } = await statusOf({ status: { config: { refused, needsRestart: ["ingest.listen"] } } });
    assert.deepEqual(config.refused, { at: "2026-11-20T12:00:00.000Z", reason: "the config has errors" });
    assert.deepEqual(config.needsRestart, ["ingest.listen"]);
  });

  it("lists the daemons that share the outbox", async () => {
    const known = { version: "1.2.3", host: "m1", pid: 7, silentFor: 20, alive: true, leads: true };
    const daemon = { ...known, name: "a", self: true, streams: [{ id: 1, waiting: 4 }] };
    const sharing = { daemons: async () => [{ ...daemon, startedAt: START }] } as unknown as Sharing;
    assert.deepEqual((await statusOf({ stranded: { sharing } })).daemons, [
      { ...daemon, startedAt: "2026-11-20T12:00:00.000Z" },
    ]);
    assert.deepEqual((await statusOf({})).daemons, []);
  });

  it("has one of them that is silent among the problems", async () => {
    const daemon = {
      name: "a",
      version: "1",
      host: "m1",
      pid: 7,
      self: false,
      leads: false,
      streams: [],
      startedAt: START,
    };
    const daemons = async () => [
      { ...daemon, alive: true, silentFor: 20 },
      { ...daemon, alive: false, silentFor: 9_000 },
    ];
    const { problems } = await statusOf({ stranded: { sharing: { daemons } as unknown as Sharing } });
    assert.deepEqual(problems, [
      {
        level: "warning",
        code: "daemon_silent",
        what: "the daemon on m1 (process 7) has been silent for 9s: other daemons deliver its events",
        since: null,
        remedy: "see its log, and start it again",
      },
    ]);
  });

  it("says what it knows while the database does not answer, since when that is, and why", async () => {
    const away = async () => Promise.reject(new StoreAway("cannot connect to PostgreSQL at db:5432"));
    const sharing = { daemons: away, beatAt: () => START - MINUTE } as unknown as Sharing;
    const destinations = () => [makeDestination()];
    const said = await statusOf({
      stranded: { sharing, destinations, counts: away },
      status: { webhooks: healthOf({ crm: SICK }) },
    });
    const since = "2026-11-20T11:59:00.000Z";
    assert.deepEqual(said.outbox.away, { since, reason: "cannot connect to PostgreSQL at db:5432" });
    assert.equal(said.daemons, null);
    assert.partialDeepStrictEqual(said.destinations, [
      { name: "crm", state: "failing", counts: null, oldestWaiting: null },
    ]);
    assert.deepEqual(said.problems.slice(0, 2), [
      {
        level: "error",
        code: "database_away",
        what: "calls are refused, and waiting deliveries are unknown: /var/lib/fairlead/fairlead.db does not answer (cannot connect to PostgreSQL at db:5432)",
        since,
        remedy:
          "check the server and the connection to it (fairlead doctor); the daemon continues by itself when it answers",
      },
      {
        level: "error",
        code: "webhook_down",
        what: "crm: https://a.example.com/hook does not answer (503)",
        since,
        remedy: "when it works again: fairlead retry crm",
        destination: "crm",
      },
    ]);
  });

  it("waits five seconds for a database that does not answer", async () => {
    const sharing = { daemons: () => new Promise(() => {}), beatAt: () => START } as unknown as Sharing;
    const admin = startAdmin({ stranded: { sharing } });
    const asking = admin.get("/api/status");
    await admin.clock.advance("5s");
    const { outbox } = JSON.parse((await asking).text);
    assert.equal(outbox.away.reason, "no answer within 5s");
  });

  it("says of each source what comes from it", async () => {
    const arrivals = { of: () => ({ perSecond: 0.5, lastAt: START }) };
    const { sources } = await statusOf({ status: { arrivals } });
    const lastAt = "2026-11-20T12:00:00.000Z";
    assert.deepEqual(sources, [{ name: "website", enabled: true, perSecond: 0.5, lastAt, limits: null }]);
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
    const webhooks = healthOf({ sick: SICK, away: { ...SICK, state: "offline" }, off: SICK });
    const status = { webhooks, oldestAt: START - MINUTE };
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
      name: "sick",
      state: "failing",
      perSecond: 0,
      heldBack: null,
      oldestWaiting: MINUTE,
      pausedSince: null,
      counts: { waiting: 3, delivered: 0, failed: 1, expired: 0 },
      failingSince: "2026-11-20T11:59:00.000Z",
      lastError: { at: "2026-11-20T12:00:00.000Z", url: URL, reason: "503" },
      webhooks: [
        {
          url: URL,
          state: "down",
          failingSince: "2026-11-20T11:59:00.000Z",
          lastFailure: { at: "2026-11-20T12:00:00.000Z", reason: "503" },
          nextTryAt: "2026-11-20T12:01:00.000Z",
        },
      ],
    });
  });

  it("says which rate holds back a destination, and since when, while something waits that could be sent", async () => {
    const rate = { requests: 30, per: MINUTE, burst: 1 };
    const destinations = () => [
      ...["crm", "idle", "paused"].map((name) => makeDestination({ name, rate })),
      makeDestination({ name: "off", rate, enabled: false }),
      makeDestination({ name: "free" }),
    ];
    const waiting = ["crm", "paused", "off", "free"].map(
      (destination) => ({ destination, state: "waiting", count: 3 }) as const,
    );
    const pauses = { since: (name: string) => (name === "paused" ? START : null) };
    const webhooks = { of: () => ({ ...WELL, heldSince: START - MINUTE }) };
    const { destinations: said } = await statusOf({
      stranded: { destinations, counts: waiting, pauses },
      status: { webhooks },
    });
    assert.deepEqual(
      said.map(({ name, heldBack }: Record<string, unknown>) => [name, heldBack]),
      [
        ["crm", { rate: "30/m", since: "2026-11-20T11:59:00.000Z" }],
        ...["idle", "paused", "off", "free"].map((name) => [name, null]),
      ],
    );
  });

  it("says since when one is paused, also if it is off or gone, and that its receiver is another matter", async () => {
    const destinations = () => [makeDestination(), makeDestination({ name: "off", enabled: false })];
    const counts = [{ destination: "gone", state: "waiting", count: 7 }] as const;
    const pauses = { since: () => START - MINUTE };
    const status = { webhooks: healthOf({ crm: SICK }) };
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
