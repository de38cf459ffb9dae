import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { LogLevel } from "../../src/model/config.ts";
import type { Answer, Settlement } from "../../src/model/delivery.ts";
import { fault } from "../../src/model/fault.ts";
import type { Report } from "../../src/model/report.ts";
import { HOUR, MINUTE, SECOND } from "../../src/model/units.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createReport } from "../../src/runtime/report.ts";
import { delivery, HOOK, LOGGED, progress, startReport } from "./start-report.ts";

describe("calls", () => {
  const refusal = { source: "website", type: "track", messageId: "x".repeat(300), fault: fault("invalid_call", "no") };

  it("counts answers and accepted calls, and writes nothing above debug", async () => {
    const { report, lines, count } = startReport("info");
    report.requestAnswered(200, 3);
    report.callsAccepted("website", ["track", "track", "page"], 1);
    assert.deepEqual(lines, []);
    assert.equal(await count('fairlead_requests_total{code="200"}'), 1);
    assert.equal(await count('fairlead_events_received_total{source="website",type="track"}'), 2);
    assert.equal(await count('fairlead_events_duplicate_total{source="website"}'), 1);
  });

  it("writes accepted calls at debug", () => {
    const { report, lines } = startReport();
    report.callsAccepted("website", ["track", "page"], 1);
    assert.deepEqual(lines, ["debug msg=call.accepted source=website count=2 duplicates=1"]);
  });

  it("warns of a refused call with its code, and cuts an endless messageId", () => {
    const { report, lines } = startReport();
    report.callRejected(refusal);
    assert.deepEqual(lines, [
      `warning msg=call.rejected code=invalid_call source=website type=track event=${"x".repeat(100)}… reason=no`,
    ]);
  });

  it("throttles refusals by source and code, and counts each", async () => {
    const { report, lines, count } = startReport();
    for (let i = 0; i < 5; i++) {
      report.callRejected(refusal);
      report.callRejected({ ...refusal, source: null });
      report.callRejected({ ...refusal, fault: fault("missing_id", "no id") });
    }
    assert.equal(lines.length, 3);
    assert.equal(await count('fairlead_events_rejected_total{source="website",reason="invalid_call"}'), 5);
    assert.equal(await count('fairlead_events_rejected_total{source="",reason="invalid_call"}'), 5);
    report.callRejected({ ...refusal, count: 7 });
    assert.equal(await count('fairlead_events_rejected_total{source="website",reason="invalid_call"}'), 12);
  });

  it("warns of events that go nowhere, once for the same rules, and counts each rule once an event", async () => {
    const { report, lines, count } = startReport();
    for (let i = 0; i < 3; i++) report.eventUnrouted("website", ["historical", "historical", "destination_disabled"]);
    report.eventUnrouted("website", []);
    assert.deepEqual(lines, [
      "warning msg=event.unrouted source=website rule=destination_disabled,historical",
      "warning msg=event.unrouted source=website rule=no_destination",
    ]);
    assert.equal(await count('fairlead_events_unrouted_total{source="website",rule="historical"}'), 3);
  });
});

describe("the daemon", () => {
  it("tells what it does at info, a broken reload as an error, and unserved deliveries as a warning", () => {
    const { report, lines } = startReport();
    report.daemon("started", { version: "1.0.0", took: 35 });
    report.daemon("reload_failed", { problems: 2 });
    report.daemon("unserved", { destination: "old", count: 5 });
    assert.deepEqual(lines, [
      "info msg=daemon.started version=1.0.0 took=35",
      "error msg=daemon.reload_failed problems=2",
      "warning msg=daemon.unserved destination=old count=5",
    ]);
  });

  it("shows in the metrics whether the last reload was taken", async () => {
    const { report, count } = startReport();
    report.daemon("reload_failed", {});
    assert.equal(await count("fairlead_config_last_reload_successful"), 0);
    report.daemon("reloaded", {});
    assert.equal(await count("fairlead_config_last_reload_successful"), 1);
  });

  it("asks for a report of the impossible, with the stack on the same line", () => {
    const { report, lines } = startReport();
    report.unexpected("settle", new TypeError("x is not a function"));
    assert.equal(lines.length, 1);
    assert.match(
      lines[0] ?? "",
      /^error msg=daemon\.unexpected doing=settle reason="x is not a function" hint="this is a bug/,
    );
    assert.match(lines[0] ?? "", / stack=".*report\.test\.ts/);
  });
});

describe("a report that cannot be made", () => {
  const tellAll = (report: Report, odd: never) => {
    for (const tell of Object.values(report) as ((...told: never[]) => void)[]) tell(odd, odd, odd, odd);
  };

  it("does not stop the work when standard error is gone", () => {
    const { clock, metrics } = startReport();
    const write = () => {
      throw new Error("EPIPE");
    };
    const log = createLog({ level: "debug", format: "json", write, isTerminal: false, journald: false });
    const report = createReport({ log, metrics, clock });
    assert.doesNotThrow(() => report.laneOpened("crm", HOOK));
    assert.doesNotThrow(() => report.settled(delivery, { ...progress, state: "failed", reason: "410" }));
  });

  it("says so itself when what it was told makes no sense", () => {
    const { report, lines } = startReport();
    const odd = {
      get message() {
        throw new Error("odd");
      },
    };
    for (const told of [undefined, null, odd, Object.create(null)]) tellAll(report, told as never);
    assert.ok(lines.some((line) => /^error msg=daemon\.unexpected doing="report attempted"/.test(line)));
  });
});

describe("attempts", () => {
  it("logs a failure with what was sent where, and what came back", () => {
    const { report, lines } = startReport();
    report.attempted(delivery, sent(answered(503)));
    assert.deepEqual(lines, [
      `warning msg=attempt.failed delivery=7-crm event=m-1 destination=crm attempt=3 url=${LOGGED} status=503 duration=120ms outcome=status_5xx`,
    ]);
  });

  it("logs a timeout and a refused certificate as errors", () => {
    const { report, lines } = startReport();
    report.attempted(delivery, sent({ kind: "timeout", after: 5 * SECOND }));
    report.attempted(delivery, sent({ kind: "untrusted", code: "SELF_SIGNED", message: "self-signed certificate" }));
    assert.match(lines[0] ?? "", /^error msg=attempt\.failed .* outcome=timeout reason="no answer within 5s"$/);
    assert.match(
      lines[1] ?? "",
      /^error .* outcome=untrusted code=SELF_SIGNED reason="certificate refused, nothing was sent: self-signed/,
    );
  });

  it("says where a redirect pointed to, and how long the receiver asked to be left alone", () => {
    const { report, lines } = startReport();
    report.attempted(delivery, sent(answered(308, "https://new.example.com/in?token=y")));
    report.attempted(delivery, sent({ kind: "answered", status: 429, retryAfter: MINUTE, location: null }));
    assert.match(lines[0] ?? "", / location=https:\/\/new\.example\.com\/in$/);
    assert.match(lines[1] ?? "", / retryAfter=1m$/);
  });

  it("does not write 10,000 lines for 10,000 failures, but counts them", async () => {
    const { clock, report, lines, count } = startReport();
    for (let i = 0; i < 10_000; i++) {
      if (i === 5_000) await clock.advance("10s");
      report.attempted(delivery, sent({ kind: "unreachable", code: "ECONNREFUSED", message: "connection refused" }));
    }
    assert.deepEqual(
      lines.map((line) => /suppressed=\d+/.exec(line)?.[0]),
      [undefined, "suppressed=4999", undefined],
    );
    assert.equal(await count('fairlead_attempts_total{destination="crm",webhook="1",outcome="unreachable"}'), 10_000);
  });

  it("throttles each webhook and each kind of failure by itself", () => {
    const { report, lines } = startReport();
    for (let i = 0; i < 3; i++) {
      report.attempted(delivery, sent(answered(503)));
      report.attempted(delivery, sent(answered(404)));
      report.attempted(delivery, sent(answered(503), "https://other.example.com/"));
      report.attempted({ ...delivery, destination: "shop" }, sent(answered(503)));
    }
    assert.equal(lines.length, 4);
  });

  it("logs the first failure after a success at once", () => {
    const { report, lines } = startReport("info");
    report.attempted(delivery, sent(answered(503)));
    report.attempted(delivery, sent(answered(503)));
    report.attempted(delivery, sent(answered(204)));
    report.attempted(delivery, sent(answered(503)));
    assert.equal(lines.length, 2);
    assert.match(lines[1] ?? "", / suppressed=1$/);
  });

  it("takes no success of another webhook for one of this", () => {
    const { report, lines } = startReport("info");
    report.attempted(delivery, sent(answered(503)));
    report.attempted(delivery, sent(answered(200), "https://other.example.com/"));
    report.attempted(delivery, sent(answered(503)));
    assert.equal(lines.length, 1);
  });

  it("counts every outcome under its name", async () => {
    const { report, count } = startReport("error");
    const failed = { code: "X", message: "x" };
    const kinds = ["unreachable", "offline", "untrusted"] as const;
    for (const kind of kinds) report.attempted(delivery, sent({ kind, ...failed }));
    report.attempted(delivery, sent({ kind: "timeout", after: 5 * SECOND }));
    report.attempted(delivery, sent({ kind: "released" }));
    for (const status of [204, 301, 410, 500]) report.attempted(delivery, sent(answered(status)));
    for (const outcome of [...kinds, "timeout", "released", "delivered", "status_3xx", "status_4xx", "status_5xx"]) {
      assert.equal(
        await count(`fairlead_attempts_total{destination="crm",webhook="1",outcome="${outcome}"}`),
        1,
        outcome,
      );
    }
    assert.equal(await count('fairlead_attempt_duration_seconds_count{destination="crm",webhook="1"}'), 5);
  });
});

describe("deliveries", () => {
  const settle = (settlement: Settlement, level: LogLevel = "debug") => {
    const started = startReport(level);
    started.report.settled(delivery, settlement);
    return started;
  };

  it("logs one that was delivered, or waits for its next attempt, at debug", () => {
    const delivered = settle({ ...progress, state: "delivered", url: HOOK, status: 200 });
    assert.deepEqual(delivered.lines, [
      `debug msg=delivery.delivered delivery=7-crm event=m-1 destination=crm attempt=3 url=${LOGGED} status=200 age=6m`,
    ]);
    const waiting = settle({ ...progress, state: "waiting", dueAt: 6 * MINUTE + 42 * SECOND, reason: "503" });
    assert.deepEqual(waiting.lines, [
      "debug msg=delivery.retrying delivery=7-crm event=m-1 destination=crm attempt=3 next=42s age=6m reason=503",
    ]);
  });

  it("logs one that was given up as an error", () => {
    const { report, lines } = startReport("error");
    const reason = "no success within 4h; last answer 503";
    report.settled(delivery, { ...progress, attemptedAt: 4 * HOUR, state: "expired", reason });
    report.settled(delivery, { ...progress, state: "failed", reason: "410" });
    assert.equal(
      lines[0],
      'error msg=delivery.expired delivery=7-crm event=m-1 destination=crm attempt=3 age=4h reason="no success within 4h; last answer 503"',
    );
    assert.match(lines[1] ?? "", /^error msg=delivery\.failed .* reason=410$/);
  });

  it("logs ten of those given up for a destination in ten seconds with their ids, and how many more there were", async () => {
    const { report, lines, clock } = startReport("error");
    for (let id = 1; id <= 10_000; id += 1) {
      report.settled({ ...delivery, id }, { ...progress, state: "failed", reason: "410" });
    }
    const ids = lines.map((line) => /^error msg=delivery\.failed delivery=(\S+) /.exec(line)?.[1]);
    assert.deepEqual(
      ids,
      Array.from({ length: 10 }, (_, nth) => `${nth + 1}-crm`),
    );
    await clock.advance("10s");
    assert.deepEqual(lines.slice(10), [
      'error msg=delivery.failed destination=crm hint="list them: fairlead deliveries --state failed --destination crm" suppressed=9990',
    ]);
  });

  it("says what was left out at the stop", () => {
    const { report, lines } = startReport("error");
    for (let id = 1; id <= 11; id += 1) {
      report.settled({ ...delivery, id }, { ...progress, state: "failed", reason: "410" });
    }
    report.summarize();
    assert.match(lines[10] ?? "", / suppressed=1$/);
  });

  it("counts those that came to an end, and not those that wait", async () => {
    const { report, count, metrics } = startReport("error");
    report.settled(delivery, { ...progress, state: "delivered", url: HOOK, status: 200 });
    report.settled(delivery, { ...progress, state: "waiting", dueAt: 0, reason: "503" });
    assert.equal(await count('fairlead_deliveries_settled_total{destination="crm",state="delivered"}'), 1);
    assert.equal(await count('fairlead_deliveries_settled_total{destination="crm",state="expired"}'), 0);
    assert.doesNotMatch(await metrics.text(), /settled_total\{.*waiting/);
  });

  it("tells of lanes that close and open, and of deliveries released at the stop", () => {
    const { report, lines } = startReport("info");
    report.laneClosed("crm", HOOK, "connection refused", 30 * SECOND);
    report.laneOpened("crm", HOOK);
    report.released(12);
    assert.deepEqual(lines, [
      `warning msg=lane.closed destination=crm url=${LOGGED} reason="connection refused" probe=30s`,
      `info msg=lane.opened destination=crm url=${LOGGED}`,
      "info msg=delivery.released count=12",
    ]);
  });
});

function answered(status: number, location: string | null = null): Answer {
  return { kind: "answered", status, retryAfter: null, location };
}

function sent(answer: Answer, url = HOOK) {
  return { ...answer, url, duration: 120 };
}
