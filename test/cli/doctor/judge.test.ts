import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ClockFacts,
  type ConfigFacts,
  type DiskFacts,
  type Finding,
  findingsOf,
  judgeClock,
  judgeConfig,
  judgeDaemon,
  judgeDisk,
  judgeFiles,
  judgeSecrets,
  judgeStore,
  type StoreFacts,
  worstOf,
} from "../../../src/cli/doctor/judge.ts";
import { examineWebhooks, judgeWebhook, type WebhookFacts } from "../../../src/cli/doctor/webhooks.ts";
import { toJson, toWords } from "../../../src/cli/doctor.ts";
import type { Problem } from "../../../src/model/config.ts";
import { DAY, GB, HOUR, MB } from "../../../src/model/units.ts";
import type { DaemonStatus } from "../../../src/wire/status.ts";
import { createFalseClock } from "../../flow/clock.ts";

const NOW = Date.UTC(2026, 10, 22, 12);

/** As `error disk_full`. */
function codes(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ level, code }) => (code === "ok" ? level : `${level} ${code}`));
}

describe("fairlead doctor, of the config", () => {
  const problem: Problem = {
    ...{ severity: "error", file: "/c.yaml", line: 4, column: 7, path: "sources.w.writeKey" },
    ...{ message: "needs the environment variable KEY, which is not set", text: "" },
  };
  const read = { kind: "read", file: "/c.yaml", modifiedAt: NOW, problems: [problem], summary: "1 source" } as const;
  const judge = (facts: Partial<Extract<ConfigFacts, { kind: "read" }>>) =>
    judgeConfig({ ...read, daemon: null, ...facts });

  it("finds each problem with its place, warnings as warnings", () => {
    const doubtful = { ...problem, severity: "warning" } as const;
    const findings = judge({ problems: [problem, doubtful] });
    assert.deepEqual(codes(findings), ["error config_invalid", "warning config_doubtful"]);
    assert.equal(findings[0]?.what, `/c.yaml:4:7: sources.w.writeKey: ${problem.message}`);
    assert.deepEqual(codes(judge({ problems: [] })), ["ok"]);
    const none = { kind: "unreadable", message: "there is none", remedy: null } as const;
    assert.deepEqual(codes(judgeConfig(none)), ["error config_unreadable"]);
    assert.match(judgeConfig(none)[0]?.remedy ?? "", /^name it with --config/);
    assert.equal(judgeConfig({ ...none, remedy: "use sudo" })[0]?.remedy, "use sudo");
  });

  it("makes no error of what the running daemon has read without one: its variables are not those of a shell", () => {
    const daemon = { file: "/c.yaml", readAt: NOW, refused: false };
    assert.deepEqual(codes(judge({ daemon })), ["warning config_unlike_here"]);
    for (const other of [{ readAt: NOW - 1 }, { refused: true }, { file: "/another.yaml" }]) {
      assert.deepEqual(codes(judge({ daemon: { ...daemon, ...other } })), ["error config_invalid"]);
    }
  });
});

describe("fairlead doctor, of files with secrets", () => {
  const file = { path: "/etc/key", holds: "secrets", mode: 0o600, inOpenFolders: true } as const;

  it("finds those that everybody can read or change", () => {
    const findings = judgeSecrets([{ ...file, mode: 0o646 }]);
    assert.deepEqual(codes(findings), ["error readable_by_all", "error writable_by_all"]);
    assert.deepEqual(
      findings.map(({ remedy }) => remedy),
      ["run chmod o-r /etc/key", "run chmod o-w /etc/key"],
    );
  });

  it("does not mind the group, nor a file in a folder that others cannot enter", () => {
    assert.deepEqual(codes(judgeSecrets([{ ...file, mode: 0o660 }])), ["ok"]);
    assert.deepEqual(codes(judgeSecrets([{ ...file, mode: 0o666, inOpenFolders: false }])), ["ok"]);
  });

  it("names those that it cannot see", () => {
    assert.deepEqual(codes(judgeSecrets([{ ...file, mode: null }])), ["skipped unseen"]);
    assert.deepEqual(codes(judgeSecrets([file, { ...file, path: "/etc/other", mode: null }])), [
      "ok",
      "skipped unseen",
    ]);
  });
});

describe("fairlead doctor, of the disk", () => {
  const facts: DiskFacts = {
    ...{ outbox: "/o.db", space: { free: 8 * GB, total: 10 * GB }, used: 100 * MB },
    ...{ maxSize: GB, freeDisk: 64 * MB, copies: [] },
  };
  const free = (bytes: number): Partial<DiskFacts> => ({ space: { free: bytes, total: 10 * GB } });
  const judge = (more: Partial<DiskFacts>) => codes(judgeDisk({ ...facts, ...more }));

  it("finds one that is full, and one that will be before the outbox is", () => {
    assert.deepEqual(judge({}), ["ok"]);
    assert.deepEqual(judge(free(64 * MB - 1)), ["error disk_full"]);
    // What the outbox has already need not be free.
    assert.deepEqual(judge(free(GB + 64 * MB - 100 * MB)), ["ok"]);
    assert.deepEqual(judge(free(GB + 64 * MB - 100 * MB - 1)), ["warning disk_small"]);
    assert.deepEqual(judge({ space: null }), ["skipped unseen"]);
  });

  it("names kept copies, and that they may go where room is needed", () => {
    const copies = [{ path: "/o.db.schema-5", size: 3 * MB }];
    const [full, kept] = judgeDisk({ ...facts, ...free(0), copies });
    assert.match(full?.remedy ?? "", /; remove old copies: \/o\.db\.schema-5 \(3MB\)$/);
    assert.equal(kept?.what, "old copies beside the outbox: /o.db.schema-5 (3MB)");
  });
});

describe("fairlead doctor, of the clock", () => {
  const judge = (more: Partial<ClockFacts>) =>
    codes(judgeClock({ wall: NOW, synchronized: true, builtAt: NOW - DAY, seenAt: NOW - HOUR, ...more }));

  it("finds one that was never set, is behind the outbox, or kept right by nobody", () => {
    assert.deepEqual(judge({}), ["ok"]);
    assert.deepEqual(judge({ wall: 0 }), ["error clock_unset"]);
    assert.deepEqual(judge({ seenAt: NOW + HOUR }), ["warning clock_behind"]);
    assert.deepEqual(judge({ seenAt: NOW - 31 * DAY }), ["warning clock_ahead"]);
    assert.deepEqual(judge({ wall: NOW + 76 * 365 * DAY, seenAt: null }), ["warning clock_ahead"]);
    assert.deepEqual(judge({ synchronized: false }), ["warning clock_unsynchronized"]);
    assert.deepEqual(judge({ synchronized: null }), ["skipped unseen"]);
    assert.deepEqual(judge({ seenAt: null }), ["ok"]);
  });
});

describe("fairlead doctor, of files and connections", () => {
  const judge = (limit: number | null, open: number | null = 10) => codes(judgeFiles({ of: "daemon", limit, open }));

  it("finds too few, and those that are nearly used up", () => {
    assert.deepEqual(judge(16_384), ["ok"]);
    assert.deepEqual(judge(Number.POSITIVE_INFINITY), ["ok"]);
    assert.deepEqual(judge(1_024), ["warning files_few"]);
    assert.deepEqual(judge(256), ["error files_few"]);
    assert.deepEqual(judge(16_384, 14_000), ["warning files_used"]);
    assert.deepEqual(judge(null), ["skipped unseen"]);
  });
});

describe("fairlead doctor, of the outbox", () => {
  const contents = {
    ...{ schema: 6, events: 1, newestAt: NOW, computations: 0, suppressed: 0 },
    deliveries: { waiting: 1, delivered: 0, failed: 0, expired: 0 },
  };
  const read: Extract<StoreFacts, { kind: "read" }> = {
    ...{ kind: "read", path: "/o.db", bytes: MB, schema: 6, newest: 6, refused: null, contents, damage: [] },
  };
  const judge = (more: Partial<Extract<StoreFacts, { kind: "read" }>>) => codes(judgeStore({ ...read, ...more }));

  it("finds damage, and says so where it did not look", () => {
    assert.deepEqual(judge({}), ["ok", "ok"]);
    assert.deepEqual(judge({ damage: ["page 7: never used"] }), ["ok", "error store_damaged"]);
    assert.deepEqual(judge({ damage: null }), ["ok", "skipped unchecked"]);
    assert.deepEqual(codes(judgeStore({ kind: "broken", path: "/o.db", why: "not a database" })), [
      "error store_damaged",
    ]);
  });

  it("finds a schema that is newer, older, or none at all", () => {
    const refused = { code: "schema_newer", message: "its schema is version 7" };
    assert.deepEqual(judge({ schema: 7, refused }), ["error schema_newer", "ok"]);
    assert.deepEqual(judge({ schema: 5 }), ["warning schema_older", "ok"]);
    assert.deepEqual(judge({ contents: null }), ["error store_unknown", "ok"]);
  });

  it("says where there is none, and where this user may not look", () => {
    assert.deepEqual(codes(judgeStore({ kind: "missing", path: "/o.db" })), ["warning store_missing"]);
    assert.deepEqual(codes(judgeStore({ kind: "closed", path: "/o.db", why: "permission denied" })), [
      "skipped unseen",
    ]);
  });
});

describe("fairlead doctor, of the daemon", () => {
  const status: DaemonStatus = {
    ...{
      version: "1.0.0",
      pid: 7,
      startedAt: "",
      access: "full",
      problems: [],
      sources: [],
      destinations: [],
      daemons: [],
    },
    clock: { plausible: true, code: null, reason: null, since: null },
    config: { file: "/c.yaml", readAt: "", refused: null, needsRestart: [] },
    outbox: { path: "/o.db", used: MB, max: GB, writable: true, free: GB, full: null, away: null, gone: null },
  };
  const judge = (more: Partial<DaemonStatus>, outbox: string | null = "/o.db") =>
    codes(judgeDaemon({ kind: "answers", status: { ...status, ...more }, version: "1.0.0", outbox }));

  it("finds one of another version than this binary", () => {
    assert.deepEqual(judge({}), ["ok"]);
    assert.deepEqual(judge({ version: "0.9.0" }), ["warning version_differs"]);
  });

  it("finds what it says of itself", () => {
    const config = {
      ...status.config,
      refused: { at: "", reason: "the config has errors" },
      needsRestart: ["outbox.path"],
    };
    assert.deepEqual(judge({ config }), ["error config_refused", "warning restart_needed"]);
    const full = { ...status.outbox, writable: false, full: "outbox.maxSize" };
    assert.deepEqual(judge({ outbox: full }), ["error store_failed", "error store_full"]);
    assert.deepEqual(judge({ outbox: { ...status.outbox, used: 0.95 * GB } }), ["warning store_crowded"]);
    const away = { since: "2026-11-20T12:00:00.000Z", reason: "connection refused" };
    assert.deepEqual(judge({ outbox: { ...status.outbox, writable: false, away } }), ["error database_away"]);
    assert.deepEqual(judge({}, "/another.db"), ["warning outbox_differs"]);
  });

  it("tells one that does not run from one that does not answer this user", () => {
    assert.deepEqual(codes(judgeDaemon({ kind: "down", message: "nobody" })), ["warning daemon_down"]);
    assert.deepEqual(codes(judgeDaemon({ kind: "closed", message: "permission denied" })), ["skipped unseen"]);
  });
});

describe("fairlead doctor, of webhooks", () => {
  const webhook = { name: "crm, webhook 1", origin: "https://a.example.com" };
  const judge = (reached: WebhookFacts["reached"]) => codes([judgeWebhook({ ...webhook, reached }, NOW)]);

  it("finds those that cannot be reached or trusted, and certificates that end within 14 days", () => {
    assert.deepEqual(judge({ kind: "reached", ms: 5, until: null }), ["ok"]);
    assert.deepEqual(judge({ kind: "reached", ms: 5, until: NOW + 14 * DAY }), ["ok"]);
    assert.deepEqual(judge({ kind: "reached", ms: 5, until: NOW + 14 * DAY - 1 }), ["warning certificate_ends"]);
    assert.deepEqual(judge({ kind: "untrusted", reason: "it has expired", until: NOW - 1 }), [
      "error webhook_untrusted",
    ]);
    assert.deepEqual(judge({ kind: "failed", reason: "name not found" }), ["error webhook_unreachable"]);
  });

  it("says which it could not look at", async () => {
    assert.deepEqual(judge({ kind: "behind proxy", proxy: "proxy:3128" }), ["skipped behind_proxy"]);
    assert.deepEqual(judge({ kind: "unknown", why: "its url cannot be known here" }), ["skipped unseen"]);
    const none = { tree: null, config: null, problems: [], files: [], origins: new Map(), configFiles: [] };
    const fail = () => assert.fail();
    const resolve = { env: () => undefined, file: fail, folder: fail, credential: fail };
    const found = await examineWebhooks(
      { inspected: { ...none, placeOf: fail }, file: "/c.yaml", resolve },
      { clock: createFalseClock(), begins: fail },
    );
    assert.deepEqual(codes(found), ["skipped none"]);
  });
});

describe("what fairlead doctor says", () => {
  const { ok, skipped, warning, error } = { ...findingsOf("disk"), error: findingsOf("webhooks").error };
  const all = [
    ok("fine"),
    skipped("unseen", "dark"),
    warning("disk_small", "narrow", "make room"),
    error("x", "bad\u001B", "mend it"),
  ];

  it("is a page with each finding, its code, and what to do", () => {
    assert.deepEqual(toWords(all).split("\n"), [
      "ok       disk      fine",
      "skipped  disk      dark [unseen]",
      "warning  disk      narrow [disk_small]",
      "                   → make room",
      "error    webhooks  bad\\u001b [x]",
      "                   → mend it",
      "",
      "1 error, 1 warning, 1 could not be checked.",
    ]);
    assert.match(toWords([ok("fine")]), /\n\nNo problems found\.$/);
  });

  it("is as bad as the worst of it", () => {
    assert.equal(worstOf(all), "error");
    assert.equal(worstOf(all.slice(0, 3)), "warning");
    assert.equal(worstOf(all.slice(0, 2)), "skipped");
    assert.equal(worstOf([]), "ok");
    assert.equal(JSON.parse(toJson(all, "1.0.0")).worst, "error");
  });
});
