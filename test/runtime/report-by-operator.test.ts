import assert from "node:assert/strict";
import { describe, it } from "node:test";
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
