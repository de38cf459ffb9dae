import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Fullness } from "../../src/model/space.ts";
import { GB, MB, MINUTE } from "../../src/model/units.ts";
import { startReport } from "./start-report.ts";

const FULL: Fullness = {
  ...{ bound: "freeDisk", since: 0, path: "/var/lib/fairlead/fairlead.db", used: 300 * MB, log: 0, free: 12 * MB },
  bounds: { maxSize: GB, freeDisk: 64 * MB },
};

describe("what the log says about room", () => {
  it("names the bound that is reached, the disk, and what to do", () => {
    const { lines, report } = startReport();
    report.storeFull(FULL);
    report.storeFull({ ...FULL, bound: "maxSize", used: GB, free: null });
    report.storeFull({ ...FULL, bound: "maxSize", log: 700 * MB, free: null });
    report.storeOpen("freeDisk", 3 * MINUTE);
    const start = "error msg=store.full bound=outbox";
    const path = "path=/var/lib/fairlead/fairlead.db";
    assert.deepEqual(lines, [
      `${start}.freeDisk ${path} used=300MB maxSize=1GB free=12MB freeDisk=64MB ` +
        'hint="calls are refused until there is room on the disk; delivery goes on"',
      `${start}.maxSize ${path} used=1GB maxSize=1GB freeDisk=64MB ` +
        'hint="calls are refused until deliveries make room, or outbox.maxSize is raised; delivery goes on"',
      `${start}.maxSize ${path} used=300MB log=700MB maxSize=1GB freeDisk=64MB ` +
        'hint="another program reads the outbox for long, and keeps its write-ahead log from being used again"',
      "info msg=store.open bound=outbox.freeDisk after=3m",
    ]);
  });

  it("says that nobody knows what is free, and why", () => {
    const { lines, report } = startReport();
    report.diskUnknown("/o.db", new Error("ENOSYS: function not implemented, statfs '/o.db'"));
    assert.deepEqual(lines.length, 1);
    assert.match(
      lines[0] ?? "",
      /^warning msg=store\.disk_unknown path=\/o\.db reason=.*ENOSYS.* hint=.*outbox\.freeDisk/,
    );
  });
});
