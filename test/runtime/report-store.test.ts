import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Fullness } from "../../src/model/disk.ts";
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
        'hint="another program holds the outbox open for reading, so its write-ahead log cannot be reused"',
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
});
