import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fault } from "../../src/model/fault.ts";
import type { Report } from "../../src/model/report.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createReport } from "../../src/runtime/report.ts";
import { delivery, HOOK, progress, startReport } from "./start-report.ts";

describe("calls", () => {
  const refusal = { source: "website", type: "track", messageId: "x".repeat(300), fault: fault("invalid_call", "no") };

  it("counts answers and accepted calls, and writes nothing above debug", async () => {
    const { report, lines, count } = startReport("info");
    report.requestAnswered(200);
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

describe("the store", () => {
  it("logs a failure with its causes, once in ten seconds for each thing it was doing, and then how often", async () => {
    const { clock, report, lines, count } = startReport();
    const error = new Error("cannot commit", { cause: new Error("disk is full") });
    for (let i = 0; i < 4; i++) report.storeFailed("append", error);
    report.storeFailed("settle", "odd");
    await clock.advance("10s");
    report.storeFailed("append", error);
    assert.deepEqual(lines, [
      'error msg=store.failed doing=append reason="cannot commit: disk is full"',
      "error msg=store.failed doing=settle reason=odd",
      "error msg=store.failed doing=append suppressed=3",
      'error msg=store.failed doing=append reason="cannot commit: disk is full"',
    ]);
    assert.equal(await count("fairlead_store_errors_total"), 6);
  });

  it("warns of a slow commit", async () => {
    const { report, lines, count } = startReport();
    report.slowCommit(2_300, 512);
    assert.deepEqual(lines, ["warning msg=store.slow_commit duration=2s rows=512"]);
    assert.equal(await count("fairlead_slow_commits_total"), 1);
  });

  it("says at info what it pruned, at debug if it was only dedup keys, and nothing if it was nothing", async () => {
    const { report, lines, count } = startReport();
    const none = { delivered: 0, failed: 0, expired: 0, unrouted: 0, seen: 0 };
    report.pruned(none, "age");
    report.pruned({ ...none, seen: 9 }, "age");
    report.pruned({ ...none, delivered: 4, seen: 1 }, "age");
    assert.deepEqual(lines, [
      "debug msg=store.pruned reason=age delivered=0 failed=0 expired=0 unrouted=0 seen=9",
      "info msg=store.pruned reason=age delivered=4 failed=0 expired=0 unrouted=0 seen=1",
    ]);
    assert.equal(await count('fairlead_pruned_total{state="seen",reason="age"}'), 10);
  });

  it("warns now and then of what it prunes for want of space, and counts it apart", async () => {
    const { report, lines, count } = startReport();
    const counts = { delivered: 500, failed: 0, expired: 0, unrouted: 0, seen: 0 };
    for (let n = 0; n < 100; n += 1) report.pruned(counts, "space");
    assert.deepEqual(lines, [
      "warning msg=store.pruned reason=space delivered=500 failed=0 expired=0 unrouted=0 seen=0",
    ]);
    assert.equal(await count('fairlead_pruned_total{state="delivered",reason="space"}'), 50_000);
  });

  it("tells of a deletion request", () => {
    const { report, lines } = startReport();
    const request = { users: 2, notifications: 6, sources: ["website", "app"], untold: [] };
    report.deletionRequested(request);
    report.deletionRequested({ ...request, untold: ["lake"] });
    assert.deepEqual(lines, [
      "info msg=deletion.requested users=2 notifications=6 source=website,app",
      "warning msg=deletion.requested users=2 notifications=6 source=website,app untold=lake",
    ]);
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
