import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  DAY,
  formatDuration,
  formatRate,
  formatSize,
  formatTime,
  GB,
  HOUR,
  KB,
  MB,
  MINUTE,
  parseDuration,
  parseRate,
  parseSize,
  SECOND,
} from "../../src/model/units.ts";

describe("a duration as an operator writes it", () => {
  it("has a unit, or several that add up", () => {
    const durations = { "250ms": 250, "5s": 5_000, "4h": 4 * HOUR, "30d": 30 * DAY, "1h30m": 1.5 * HOUR };
    for (const [text, ms] of Object.entries(durations)) assert.equal(parseDuration(text), ms, text);
    assert.equal(parseDuration("4h 1m"), 4 * HOUR + 60_000);
    assert.equal(parseDuration("1.5s"), 1_500);
    assert.equal(parseDuration("0s"), 0);
  });

  it("is nothing else", () => {
    for (const text of [
      "",
      " ",
      "5",
      "5 s",
      "-5s",
      "s",
      "5S",
      "5s!",
      "five s",
      "5y",
      "1e3s",
      ".5s",
      "5.s",
      "Infinity",
    ]) {
      assert.equal(parseDuration(text), null, text);
    }
  });

  it("is written in its two largest units", () => {
    const texts: readonly (readonly [number, string])[] = [
      ...[[0, "0ms"] as const, [850, "850ms"] as const, [999, "999ms"] as const, [42_000, "42s"] as const],
      ...[[59_600, "1m"] as const, [360_000, "6m"] as const, [4 * HOUR + 60_000, "4h 1m"] as const],
      ...[[3 * DAY + 2 * HOUR + 1, "3d 2h"] as const, [3 * DAY + 60_000, "3d"] as const],
    ];
    for (const [ms, text] of texts) assert.equal(formatDuration(ms), text);
  });

  it("can be read again when it was written, give or take what the two units leave out", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1_000 * DAY }), (ms) => {
        const again = parseDuration(formatDuration(ms));
        assert.ok(again !== null && Math.abs(again - ms) <= Math.max(500, ms / 24), `${ms} → ${again}`);
      }),
    );
  });
});

describe("a rate as an operator writes it", () => {
  it("is so many in a second, a minute or an hour, and written the same", () => {
    for (const [text, count, per] of [
      ["50/s", 50, SECOND],
      ["30/m", 30, MINUTE],
      ["1/h", 1, HOUR],
    ] as const) {
      assert.deepEqual(parseRate(text), { count, per });
      assert.equal(formatRate(count, per), text);
    }
    assert.deepEqual(parseRate("50 / s"), { count: 50, per: SECOND });
  });

  it("is nothing else", () => {
    for (const text of [
      "",
      "50",
      "/s",
      "50/d",
      "50/ms",
      "0.5/s",
      "-1/s",
      "50/S",
      "50/s/s",
      "5e1/s",
      "50/2s",
      "9999999999/s",
    ])
      assert.equal(parseRate(text), null, text);
  });
});

describe("a point in time", () => {
  it("is written with milliseconds and Z, whatever was written before it", () => {
    assert.deepEqual([1_258_000_000_123, 0, 0, 1_258_000_000_123, -1].map(formatTime), [
      ...["2009-11-12T04:26:40.123Z", "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z"],
      ...["2009-11-12T04:26:40.123Z", "1969-12-31T23:59:59.999Z"],
    ]);
  });
});

describe("a size as an operator writes it", () => {
  it("is in bytes, or in units that are powers of 1,024", () => {
    const sizes = { "0": 0, "512": 512, "512B": 512, "32KB": 32 * KB, "64 MB": 64 * MB, "1gb": GB, "1.5GB": 1.5 * GB };
    for (const [text, bytes] of Object.entries(sizes)) assert.equal(parseSize(text), bytes, text);
    assert.equal(parseSize("2TB"), 2_048 * GB);
  });

  it("is nothing else", () => {
    for (const text of ["", "MB", "-1MB", "1 M B", "1PB", "1,5GB", "1KiBs", "1i", "1iB", "1e6", "lots"]) {
      assert.equal(parseSize(text), null, text);
    }
  });

  it("is written in its largest fitting unit", () => {
    const texts = { "0B": 0, "512B": 512, "1KB": KB, "32KB": 32 * KB, "1.5GB": 1.5 * GB, "500KB": 500 * KB };
    for (const [text, bytes] of Object.entries(texts)) assert.equal(formatSize(bytes), text);
  });
});
