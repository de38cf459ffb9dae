import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AdminWorld } from "../../src/admin/world.ts";
import { toWords } from "../../src/cli/status.ts";
import { StoreAway } from "../../src/model/fault.ts";
import { HOUR, MB, MINUTE } from "../../src/model/units.ts";
import type { DaemonStatus } from "../../src/wire/status.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const ago = (ms: number): string => new Date(NOW - ms).toISOString();

const CRM: DaemonStatus["destinations"][number] = {
  name: "crm",
  state: "working",
  pausedSince: null,
  failingSince: null,
  lastError: null,
  perSecond: 12.25,
  heldBack: null,
  oldestWaiting: null,
  webhooks: [],
  counts: { waiting: 0, delivered: 5, failed: 0, expired: 0 },
};

const STATUS: DaemonStatus = {
  clock: { plausible: true, code: null, reason: null, since: null },
  version: "1.2.3",
  pid: 4711,
  startedAt: ago(3 * HOUR + 12 * MINUTE),
  access: "full",
  config: { file: "/etc/fairlead/config.yaml", readAt: ago(HOUR), refused: null, needsRestart: [] },
  outbox: {
    path: "/var/lib/fairlead/fairlead.db",
    used: 12.4 * MB,
    max: 1024 * MB,
    free: 50 * 1024 * MB,
    full: null,
    away: null,
    gone: null,
    writable: true,
  },
  problems: [],
  daemons: [],
  sources: [{ name: "website", enabled: true, perSecond: 0.05, lastAt: ago(4_000), limits: null }],
  destinations: [CRM],
};

function words(status: Partial<DaemonStatus>): string {
  return toWords({ ...STATUS, ...status }, NOW);
}

describe("fairlead status", () => {
  it("exits with 1 while the database does not answer, and prints what the daemon knows", SLOW, async () => {
    const away = async () => Promise.reject(new StoreAway("connection refused"));
    await using daemon = await serveAdmin({
      version: "1.2.3",
      pid: 4711,
      startedAt: NOW,
      lastReload: () => ({ file: "config.yaml", readAt: NOW, refused: null, needsRestart: [] }),
      health: { state: async () => ROOMY } as unknown as AdminWorld["health"],
      outbox: () => ({ path: "postgres://db/fairlead", postgres: null }),
      sharing: { daemons: away, beatAt: () => NOW } as unknown as AdminWorld["sharing"],
      backlog: { counts: away, oldestWaitingAt: away },
      sources: () => [],
      destinations: () => [],
    });
    const { code, out, err } = await daemon.run(["status"]);
    assert.deepEqual([code, err], [1, ""]);
    assert.match(
      out,
      /calls are refused, and waiting deliveries are unknown: postgres:\/\/db\/fairlead does not answer \(connection refused\)/,
    );
  });
});

const ROOMY = {
  writable: false,
  refusal: null,
  gone: null,
  full: null,
  crowding: null,
  size: { used: 0, max: 1, free: null },
};

describe("the status of a daemon, for a person", () => {
  it("is a line for each thing while all is well", () => {
    assert.equal(
      words({}),
      [
        "Problems: none.",
        "",
        "fairlead 1.2.3, process 4711, running for 3h 12m",
        "config   /etc/fairlead/config.yaml, read 1h ago",
        "outbox   /var/lib/fairlead/fairlead.db, 12.4MB of 1GB",
        "",
        "source   calls/s  last call",
        "website  0.05     4s ago",
        "",
        "destination  state    sent/s  waiting  oldest  failed  expired",
        "crm          working  12      0        -       0       0",
      ].join("\n"),
    );
  });

  it("lists the daemons that share the outbox: what they hold, and which one leads", () => {
    const known = { version: "1.2.3", startedAt: ago(HOUR), silentFor: 1_000, alive: true, self: false, leads: false };
    const daemons = [
      {
        ...known,
        name: "a",
        host: "m1",
        pid: 10,
        leads: true,
        streams: [
          { id: 1, waiting: 4 },
          { id: 3, waiting: 8 },
        ],
      },
      { ...known, name: "b", host: "machine-2", pid: 4711, self: true, streams: [{ id: 2, waiting: 0 }] },
      { ...known, name: "c", host: "m3", pid: 9, version: "1.2.2", alive: false, silentFor: 8_000, streams: [] },
    ];
    const said = words({ daemons }).split("\n\n")[2]?.split("\n");
    assert.deepEqual(said, [
      "daemon on  process  version  running for  heartbeat      streams  waiting",
      "m1         10       1.2.3    1h           1s ago         1,3      12       leader",
      "machine-2  4711     1.2.3    1h           1s ago         2        0        this one",
      "m3         9        1.2.2    1h           SILENT for 8s  -        0",
    ]);
  });

  it("says first what is wrong, since when, and what to do", () => {
    const problems = [
      {
        level: "error",
        code: "webhook_down",
        what: "lake: https://lake/ does not answer",
        since: ago(MINUTE),
        remedy: "x",
      },
      {
        level: "warning",
        code: "unserved",
        what: "old is not in the config",
        since: null,
        remedy: "fairlead move old",
      },
    ];
    const said = words({ problems });
    assert.ok(
      said.startsWith(
        "Problems:\n  ! [1m] lake: https://lake/ does not answer\n      x\n" +
          "  - old is not in the config\n      fairlead move old\n\nfairlead 1.2.3",
      ),
      said,
    );
  });

  it("says of a destination since when it fails, how many of its webhooks, and what waits", () => {
    const counts = { waiting: 1_204, delivered: 0, failed: 2, expired: 1 };
    const lake = { ...CRM, name: "lake", state: "failing", failingSince: ago(12 * MINUTE), perSecond: 0 };
    const said = words({ destinations: [CRM, { ...lake, counts, oldestWaiting: 14 * MINUTE }] });
    assert.match(said, /^lake {9}failing for 12m {2}0 {7}1204 {5}14m {5}2 {7}1$/m);
    const well = { url: "https://a/", state: "working", failingSince: null, lastFailure: null, nextTryAt: null };
    const down = { ...well, state: "down", failingSince: ago(MINUTE) };
    assert.match(
      words({ destinations: [{ ...CRM, state: "degraded", webhooks: [well, down] }] }),
      /degraded \(1 of 2 webhooks\)/,
    );
  });

  it("says that the machine's clock cannot be right, since when and why, and nothing of one that can", () => {
    const none = { code: null, reason: null, since: null };
    assert.equal(words({ clock: { plausible: true, ...none } }), words({}));
    const reason = "the machine's clock says 1972-01-01T00:00:00.000Z, before this Fairlead was built";
    const said = words({ clock: { plausible: false, code: "before_build", reason, since: ago(2 * HOUR) } });
    assert.match(said, /^clock {4}WRONG for 2h: the machine's clock says 1972-.* was built; events get wrong times$/m);
  });

  it("says since when one is paused, whatever else it is", () => {
    const paused = { ...CRM, state: "paused", pausedSince: ago(2 * HOUR), perSecond: 0 };
    assert.match(words({ destinations: [paused] }), /^crm {10}paused for 2h {2}0 /m);
    const off = { ...paused, state: "disabled", failingSince: ago(MINUTE) };
    assert.match(words({ destinations: [off] }), /^crm {10}disabled, paused for 2h {2}0 /m);
  });

  it("says which rate holds one back, whatever else it is", () => {
    const heldBack = { rate: "30/m", since: ago(2 * HOUR) };
    assert.match(words({ destinations: [{ ...CRM, heldBack }] }), /^crm {10}working, limited to 30\/m for 2h {2}/m);
    const sick = { ...CRM, state: "failing", failingSince: ago(MINUTE), heldBack };
    assert.match(words({ destinations: [sick] }), /^crm {10}failing for 1m, limited to 30\/m for 2h {2}/m);
  });

  it("says that a config is not in force, and why, and what waits for a restart", () => {
    const refused = { at: ago(5 * MINUTE), reason: "the config has errors" };
    const said = words({ config: { ...STATUS.config, refused, needsRestart: ["ingest.listen"] } });
    assert.match(said, /^ {9}REFUSED 5m ago: the config has errors\n {9}needs a restart: ingest\.listen$/m);
  });

  it("says that calls are refused, and why", () => {
    const { outbox } = STATUS;
    assert.match(words({ outbox: { ...outbox, writable: false } }), /: CANNOT BE WRITTEN, calls are refused/);
    const full = { ...outbox, used: outbox.max, full: "maxSize" };
    assert.match(
      words({ outbox: { ...full, free: null } }),
      /1GB of 1GB: FULL \(outbox\.maxSize\), calls are refused$/m,
    );
    assert.match(
      words({ outbox: { ...outbox, full: "freeDisk", free: 12 * MB, writable: false } }),
      /12\.4MB of 1GB: FULL \(outbox\.freeDisk, 12MB of the disk free\), calls are refused$/m,
    );
  });

  it("says what is not known while the database does not answer, and shows the rest", () => {
    const outbox = { ...STATUS.outbox, writable: false, away: { since: ago(MINUTE), reason: "connection refused" } };
    const said = words({ outbox, daemons: null, destinations: [{ ...CRM, counts: null }] });
    assert.match(
      said,
      /, 12\.4MB of 1GB: UNREACHABLE, calls are refused; the number of waiting deliveries is not known$/m,
    );
    assert.match(said, /^website {2}0\.05 {5}4s ago$/m);
    assert.match(said, /^crm {10}working {2}12 {6}\? {8}\? {7}\? {7}\?$/m);
  });

  it("says what there is not", () => {
    const said = words({ sources: [], destinations: [] });
    assert.match(said, /^There are no sources\.\n\nThere are no destinations\.$/m);
    const [source] = STATUS.sources;
    assert.ok(source);
    assert.match(
      words({ sources: [{ ...source, enabled: false, lastAt: null }] }),
      /^website {2}disabled {2}none yet$/m,
    );
  });

  it("cannot be made to write to the terminal", () => {
    const problem = { level: "error", code: "x", what: "\u001b[2J", since: null, remedy: "\u001b[2J" };
    assert.ok(!words({ problems: [problem], destinations: [{ ...CRM, name: "\u001b[2J" }] }).includes("\u001b"));
  });
});
