import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { HOUR } from "../../src/model/units.ts";
import { startReport } from "./start-report.ts";

describe("a destination that is paused", () => {
  it("is a line when it is paused, when a config is read, and when it is resumed", () => {
    const { report, lines } = startReport("info");
    report.paused("crm", 12);
    report.stillPaused("crm", { since: Date.UTC(2026, 10, 20, 12), waiting: 34 });
    report.resumed("crm", { paused: 26 * HOUR, waiting: 56 });
    assert.deepEqual(lines, [
      "info msg=destination.paused destination=crm waiting=12",
      "warning msg=destination.still_paused destination=crm waiting=34 since=2026-11-20T12:00:00.000Z " +
        'hint="it gets nothing until `fairlead resume` says so"',
      'info msg=destination.resumed destination=crm waiting=56 paused="1d 2h"',
    ]);
  });
});
