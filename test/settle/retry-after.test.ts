import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { HOUR } from "../../src/model/units.ts";
import { parseRetryAfter } from "../../src/settle/backoff.ts";

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
