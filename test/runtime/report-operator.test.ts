import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR } from "../../src/model/units.ts";
import { startReport } from "./start-report.ts";

const SETTLED = 'fairlead_deliveries_settled_total{destination="old",state="failed"}';

describe("what the operator does with deliveries", () => {
  it("is a line for each page, and the discarded ones count as failed", async () => {
    const { report, lines, count } = startReport("warning");
    report.discarded("old", 500);
    report.discarded("old", 12);
    assert.deepEqual(lines, [
      "warning msg=destination.discarded destination=old count=500",
      "warning msg=destination.discarded destination=old count=12",
    ]);
    assert.equal(await count(SETTLED), 512);
  });

  it("counts of the moved ones only those that the other had already", async () => {
    const { report, lines, count } = startReport("info");
    report.moved({ from: "old", to: "crm" }, { moved: 490, doubled: 10 });
    assert.deepEqual(lines, ["info msg=destination.moved destination=old to=crm count=490 doubled=10"]);
    assert.equal(await count(SETTLED), 10);
    assert.equal(await count('fairlead_deliveries_settled_total{destination="crm",state="failed"}'), 0);
  });

  it("is a line and a count for what is sent again", async () => {
    const { report, lines, count } = startReport("info");
    report.replayed("crm", 500);
    report.replayed("crm", 1);
    assert.deepEqual(lines, [
      "info msg=destination.replayed destination=crm count=500",
      "info msg=destination.replayed destination=crm count=1",
    ]);
    assert.equal(await count('fairlead_deliveries_replayed_total{destination="crm"}'), 501);
  });
});

describe("a destination that is paused", () => {
  it("is a line when it is paused, when a config is read, and when it is resumed", () => {
    const { report, lines } = startReport("info");
    report.paused("crm", 12);
    report.stillPaused("crm", { since: Date.UTC(2026, 10, 20, 12), waiting: 34 });
    report.resumed("crm", { paused: 26 * HOUR, waiting: 56 });
    assert.deepEqual(lines, [
      "info msg=destination.paused destination=crm waiting=12",
      "warning msg=destination.still_paused destination=crm waiting=34 since=2026-11-20T12:00:00.000Z " +
        'hint="nothing is sent until `fairlead resume`"',
      'info msg=destination.resumed destination=crm waiting=56 paused="1d 2h"',
    ]);
  });
});

describe("a request that users be deleted", () => {
  it("is a line, and a warning if a destination could not be told", () => {
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
