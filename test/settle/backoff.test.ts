import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { HOUR } from "../../src/model/units.ts";
import { backoff, cutoffAt, isPastCutoff, OFFLINE_WAITS, parseRetryAfter, WAITS } from "../../src/settle/backoff.ts";

function waits(chance: number, attempts: number): number[] {
  return Array.from({ length: attempts }, (_, n) => backoff(n + 1, WAITS, chance));
}

describe("the wait before a retry", () => {
  it("is one second, doubling to ten minutes, when chance is in the middle", () => {
    const seconds = waits(0.5, 13).map((ms) => ms / 1_000);
    assert.deepEqual(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
  });

  it("is a fifth shorter when chance is lowest", () => {
    assert.deepEqual(waits(0, 11), [
      ...[800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 204_800, 409_600, 480_000],
    ]);
  });

  it("is a fifth longer when chance is highest", () => {
    assert.deepEqual(waits(1, 11), [
      ...[1_200, 2_400, 4_800, 9_600, 19_200, 38_400, 76_800, 153_600, 307_200, 614_400, 720_000],
    ]);
  });

  it("stays at its longest however many attempts there were", () => {
    for (const attempts of [100, 1_100, 1e9, Number.MAX_SAFE_INTEGER]) {
      assert.equal(backoff(attempts, WAITS, 0.5), 600_000);
    }
  });

  it("is short while the machine is offline, and at most a minute", () => {
    const policy = { ...WAITS, ...OFFLINE_WAITS };
    assert.deepEqual(
      [1, 2, 3, 4, 5].map((attempts) => backoff(attempts, policy, 0.5)),
      [10_000, 20_000, 40_000, 60_000, 60_000],
    );
  });

  it("is in whole milliseconds, and between a fifth less and a fifth more, whatever chance says", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (attempts, chance) => {
          const wait = backoff(attempts, WAITS, chance);
          const middle = backoff(attempts, WAITS, 0.5);
          assert.ok(Number.isInteger(wait));
          assert.ok(wait >= middle * 0.8 && wait <= middle * 1.2, `${wait} of ${middle}`);
        },
      ),
    );
  });
});

describe("the cutoff (SPEC.md 7)", () => {
  const life = { firstAttemptAt: 1_000_000, stoodStill: 0 };
  const limit = { cutoff: 4 * HOUR, stoodStill: 0 };

  it("is four hours after the first attempt began", () => {
    assert.equal(cutoffAt(life, limit), 1_000_000 + 4 * HOUR);
  });

  it("is later by as long as the destination's clock has stood still since then", () => {
    const before = { ...life, stoodStill: 9 * HOUR };
    assert.equal(cutoffAt(before, { ...limit, stoodStill: 10 * HOUR }), 1_000_000 + 5 * HOUR);
  });

  it("is never earlier, though a crash has lost what the clock had counted", () => {
    assert.equal(cutoffAt({ ...life, stoodStill: HOUR }, limit), 1_000_000 + 4 * HOUR);
  });

  it("is not there before the first attempt", () => {
    assert.equal(cutoffAt({ firstAttemptAt: null, stoodStill: 0 }, limit), null);
  });

  it("is reached on the millisecond, not before", () => {
    const at = 1_000_000 + 4 * HOUR;
    const past = [at - 1, at, at + 1].map((now) => isPastCutoff(life, { ...limit, now }));
    assert.deepEqual(past, [false, true, true]);
  });

  it("is never reached by what was never tried", () => {
    const untried = { firstAttemptAt: null, stoodStill: 0 };
    assert.equal(isPastCutoff(untried, { ...limit, now: Number.MAX_SAFE_INTEGER }), false);
  });
});

const WALL = Date.UTC(2026, 10, 20, 12, 0, 0);

function read(text: string | null): number | null {
  return parseRetryAfter(text, WALL);
}

/** Both runtimes look at TZ again when it is set. */
function inZone(zone: string, run: () => void): void {
  const before = process.env.TZ;
  process.env.TZ = zone;
  try {
    run();
  } finally {
    process.env.TZ = before ?? "UTC";
  }
}

describe("Retry-After in seconds", () => {
  it("is a wait", () => assert.equal(read("120"), 120_000));
  it("may be zero", () => assert.equal(read("0"), 0));
  it("may stand between spaces", () => assert.equal(read(" 7 "), 7_000));

  it("may be huge, and stays a number to reckon with", () => {
    assert.equal(read("9999999999"), 9_999_999_999_000);
    assert.equal(read("9".repeat(20)), Number.MAX_SAFE_INTEGER);
    assert.equal(read("9".repeat(500)), Number.MAX_SAFE_INTEGER);
  });

  it("is nothing else: no sign, no fraction, no unit, no exponent", () => {
    for (const text of ["-1", "+1", "1.5", "1,5", "5s", "1e3", "0x10", "1 2"]) assert.equal(read(text), null, text);
  });
});

describe("Retry-After as a date", () => {
  it("is read as servers of today write it", () => assert.equal(read("Fri, 20 Nov 2026 13:00:00 GMT"), HOUR));
  it("is read as RFC 850 writes it", () => assert.equal(read("Friday, 20-Nov-26 13:00:00 GMT"), HOUR));
  it("is read as asctime writes it", () => assert.equal(read("Fri Nov 20 13:00:00 2026"), HOUR));
  it("is read with a day of one digit", () => assert.equal(read("Tue Dec  1 12:00:00 2026"), 11 * 24 * HOUR));
  it("is read in any case of letters", () => assert.equal(read("fri, 20 nov 2026 13:00:00 gmt"), HOUR));

  it("asks for no wait when it is past", () => {
    assert.equal(read("Fri, 20 Nov 2026 11:59:59 GMT"), 0);
    assert.equal(read("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
    assert.equal(read("Fri, 20 Nov 2026 12:00:00 GMT"), 0);
  });

  it("takes a year of two digits for one that is at most 50 years ahead", () => {
    assert.equal(read("Sunday, 06-Nov-94 08:49:37 GMT"), 0);
    assert.equal(read("Friday, 20-Nov-76 12:00:00 GMT"), Date.UTC(2076, 10, 20, 12) - WALL);
    assert.equal(read("Sunday, 20-Nov-77 12:00:00 GMT"), 0);
  });

  it("is in UTC, whatever zone the machine is in", () => {
    inZone("America/New_York", () => {
      assert.equal(read("Fri, 20 Nov 2026 13:00:00 GMT"), HOUR);
      assert.equal(read("Friday, 20-Nov-26 13:00:00 GMT"), HOUR);
      assert.equal(read("Fri Nov 20 13:00:00 2026"), HOUR);
    });
  });

  it("may be far away", () => {
    assert.equal(read("Fri, 31 Dec 9999 23:59:59 GMT"), Date.UTC(9999, 11, 31, 23, 59, 59) - WALL);
  });
});

describe("Retry-After that cannot be read", () => {
  it("counts as none", () => {
    const texts = [
      ...["", " ", "soon", "after 2099", "about 5", "Mon, 1", "Tomorrow, 1 Jan", "null", "NaN", "Infinity"],
      ...[
        "2026-11-20T13:00:00Z",
        "20 Nov 2026 13:00:00 GMT",
        "Fri, 20 Nov 2026 13:00:00",
        "Fri, 20 Foo 2026 13:00:00 GMT",
        "Tue, 31 Feb 2027 13:00:00 GMT",
        "Fri, 20 Nov 2026 24:00:00 GMT",
      ],
      ...["Fri, 20 Nov 2026 25:00:00 GMT", "Fri, 20 Nov 2026 13:61:00 GMT", "Fri, 20 Nov 2026 13:00:00 PST"],
      ...["Fri, 20 Nov 2026 13:00:00 GMT, 5", "5, 10", "__proto__", "\u0000"],
    ];
    for (const text of texts) assert.equal(read(text), null, JSON.stringify(text));
  });

  it("is also the one that is not there", () => assert.equal(read(null), null));

  it("never gives a wait that is negative or not a number, whatever a receiver writes", () => {
    const letters = fc.string({ unit: fc.constantFrom(..."0123456789 ,:-+.GMTFriNov".split("")), maxLength: 40 });
    fc.assert(
      fc.property(fc.oneof(letters, fc.string({ unit: "binary" })), (text) => {
        const wait = read(text);
        assert.ok(wait === null || (Number.isSafeInteger(wait) && wait >= 0), `${wait}`);
      }),
    );
  });
});
