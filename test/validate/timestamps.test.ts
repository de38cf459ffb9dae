import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { DAY, HOUR } from "../../src/model/units.ts";
import { correctSkew, formatTimestamp, parseTime, parseTimestamp } from "../../src/validate/timestamps.ts";
import { eventOf, faultOf } from "./make.ts";

const ELEVEN = Date.UTC(2009, 10, 10, 23, 0, 0);

describe("a timestamp that clients send", () => {
  const forms: Readonly<Record<string, number>> = {
    "2009-11-10T23:00:00Z": ELEVEN,
    "2009-11-10T23:00:00+0000": ELEVEN,
    "2009-11-10T23:00:00-0000": ELEVEN,
    "2009-11-10T23:00:00+00:00": ELEVEN,
    "2009-11-10T15:00:00-0800": ELEVEN,
    "2009-11-10T15:00:00-08:00": ELEVEN,
    "2009-11-11T04:45:00+05:45": ELEVEN,
    "2009-11-11T01:00:00+02": ELEVEN,
    "2009-11-11T13:00:00+14:00": ELEVEN,
    "2009-11-10T23:00:00.123Z": ELEVEN + 123,
    "2009-11-10T23:00:00.5Z": ELEVEN + 500,
    "2009-11-10T23:00:00.123456Z": ELEVEN + 123,
    "2009-11-10T23:00:00.123456789+0000": ELEVEN + 123,
    "2009-11-10T15:00:00.999999999-08:00": ELEVEN + 999,
    "2009-11-10T23:00:00,25Z": ELEVEN + 250,
    "2009-11-10T23:00:00": ELEVEN,
    "2009-11-10T23:00Z": ELEVEN,
    "2009-11-10 23:00:00": ELEVEN,
    "2009-11-10 23:00:00 +0000": ELEVEN,
    "2009-11-10t23:00:00z": ELEVEN,
    "2009-11-10": ELEVEN - 23 * HOUR,
    "2009-11-10T22:59:60Z": ELEVEN,
    "2008-02-29T00:00:00Z": Date.UTC(2008, 1, 29),
    "2000-02-29": Date.UTC(2000, 1, 29),
    "1969-12-31T23:59:59.999Z": -1,
    "9999-12-31T23:59:59.999Z": Date.UTC(9999, 11, 31, 23, 59, 59, 999),
    "0001-01-01T00:00:00Z": -62_135_596_800_000,
  };
  for (const [text, at] of Object.entries(forms)) {
    it(`is read: ${text}`, () => {
      assert.equal(parseTimestamp(text), at);
      assert.deepEqual(parseTime(text), { at, text: formatTimestamp(at) });
    });
  }

  it("is read again when this server wrote it", () => {
    fc.assert(
      fc.property(
        fc.date({ min: new Date("0000-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
        (date) => {
          assert.equal(parseTimestamp(date.toISOString()), date.getTime());
          assert.equal(formatTimestamp(date.getTime()), date.toISOString());
        },
      ),
    );
  });
});

describe("what is no timestamp", () => {
  const wrong = [
    ...["", " ", "now", "null", "0", "1257894000", "1257894000000", "20091110T230000Z", "2009-11-10T23Z", "2009-11"],
    ...["2009-13-10T23:00:00Z", "2009-00-10T23:00:00Z", "2009-02-30T00:00:00Z", "2009-02-29T00:00:00Z"],
    ...["1900-02-29T00:00:00Z", "2009-04-31", "2009-11-00", "2009-11-32", "2009-1-1", "09-11-10T23:00:00Z"],
    ...["2009-11-10T24:00:00Z", "2009-11-10T25:00:00Z", "2009-11-10T23:60:00Z", "2009-11-10T23:00:61Z"],
    ...[
      "2009-11-10T23:00:00+24:00",
      "2009-11-10T23:00:00+25:00",
      "2009-11-10T23:00:00-9900",
      "2009-11-10T23:00:00+00:60",
    ],
    ...["2009-11-10T23:00:00+0", "2009-11-10T23:00:00+000", "2009-11-10T23:00:00+00:0", "2009-11-10T23:00:00ZZ"],
    ...["2009-11-10T23:00:00.Z", "2009-11-10T23:00:00.1234567890Z", "2009-11-10T23:00:00 UTC", "2009-11-10Z"],
    ...["2009-11-10T23:00:00Z\n", "x2009-11-10T23:00:00Z", "+012009-11-10T23:00:00Z", "-2009-11-10T23:00:00Z"],
    ...["Tue, 10 Nov 2009 23:00:00 GMT", "11/10/2009", "２００９-11-10", "2009-11-10T23:00:00Z; DROP TABLE events"],
  ];
  for (const text of wrong) {
    it(`is refused: ${JSON.stringify(text)}`, () => {
      assert.equal(parseTimestamp(text), null);
      assert.equal(parseTime(text), null);
    });
  }
});

describe("a timestamp that leaves", () => {
  it("is YYYY-MM-DDTHH:mm:ss.sssZ", () => {
    assert.equal(formatTimestamp(ELEVEN), "2009-11-10T23:00:00.000Z");
    assert.equal(formatTimestamp(-62_135_596_800_000), "0001-01-01T00:00:00.000Z");
  });

  it("has four digits of year, also where a zone leads out of them", () => {
    const after = parseTimestamp("9999-12-31T23:59:59-23:00") ?? assert.fail();
    assert.equal(formatTimestamp(after), "9999-12-31T23:59:59.999Z");
    const before = parseTimestamp("0000-01-01T00:00:00+23:00") ?? assert.fail();
    assert.equal(formatTimestamp(before), "0000-01-01T00:00:00.000Z");
  });

  it("has this form for whatever could be read", () => {
    const part = (max: number, width: number) =>
      fc.integer({ min: 0, max }).map((number) => String(number).padStart(width, "0"));
    const zone = fc.oneof(
      fc.constantFrom("Z", ""),
      fc.tuple(fc.constantFrom("+", "-"), part(29, 2), part(69, 2)).map((one) => one.join("")),
    );
    const text = fc
      .tuple(
        part(9_999, 4),
        part(13, 2),
        part(32, 2),
        part(24, 2),
        part(60, 2),
        part(61, 2),
        part(999_999_999, 9),
        zone,
      )
      .map(
        ([year, month, day, hour, minute, second, fraction, zone]) =>
          `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction}${zone}`,
      );
    fc.assert(
      fc.property(text, (text) => {
        const at = parseTimestamp(text);
        if (at !== null) assert.match(formatTimestamp(at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      }),
    );
  });
});

describe("the time of an event, corrected for the client's clock", () => {
  const received = Date.UTC(2026, 10, 20, 12, 0, 0);
  const ago = (ms: number): number => received - ms;
  const table: readonly (readonly [about: string, original: number | null, sent: number | null, at: number])[] = [
    ["no word from the client: the time of receipt", null, null, received],
    ["only when it was sent: the time of receipt", null, ago(HOUR), received],
    ["no sentAt: the client's word stands", ago(DAY), null, ago(DAY)],
    ["no sentAt and a time ahead: the client's word stands", received + DAY, null, received + DAY],
    ["transit: the client's clock is believed, to the millisecond", ELEVEN, ago(28), ELEVEN],
    ["a batch that was tried again for a minute: believed", ELEVEN, ago(60_000), ELEVEN],
    ["a minute and a millisecond: a clock that is wrong", ELEVEN, ago(60_001), ELEVEN + 60_001],
    ["a clock a second ahead: believed", ELEVEN, received + 1_000, ELEVEN],
    ["a clock a second and a millisecond ahead: wrong", ELEVEN, received + 1_001, ELEVEN - 1_001],
    ["a time ahead by a clock that is right: the client's word stands", received + HOUR, received, received + HOUR],
    ["a clock that is right", ago(60_000), received, ago(60_000)],
    ["a clock five hours ahead", received + 5 * HOUR - 60_000, received + 5 * HOUR, ago(60_000)],
    ["a clock ten years behind", ago(3_650 * DAY + 60_000), ago(3_650 * DAY), ago(60_000)],
    ["sent at once", ago(HOUR), ago(HOUR), received],
    [
      "a wrong clock, and an event later than its sending: the time of receipt",
      received + 3 * HOUR,
      ago(HOUR),
      received,
    ],
    [
      "a clock that makes the year negative: the client's word stands",
      -62_135_596_800_000,
      253_402_300_799_999,
      -62_135_596_800_000,
    ],
  ];
  for (const [about, original, sent, at] of table) {
    it(about, () => assert.equal(correctSkew(original, sent, received), at));
  }

  it("is never later than the receipt where it is corrected", () => {
    const time = fc.integer({ min: -62_135_596_800_000, max: 253_402_300_799_999 });
    fc.assert(
      fc.property(time, time, (original, sent) =>
        assert.ok(
          correctSkew(original, sent, received) <= received || correctSkew(original, sent, received) === original,
        ),
      ),
    );
  });
});

const TRACK = { type: "track", userId: "u1", event: "E" };

function timesOf(call: object, sentAt: string | null = null): (string | undefined)[] {
  const { timestamp, originalTimestamp, sentAt: sent } = eventOf({ ...TRACK, ...call }, { sentAt });
  return [timestamp, originalTimestamp, sent];
}

describe("the times of a call", () => {
  const NOW = "2026-11-20T12:00:00.000Z";

  it("are the time of receipt when it says none (SPEC.md 2.3)", () => {
    assert.deepEqual(timesOf({}), [NOW, undefined, undefined]);
  });

  it("are its own word without sentAt (SPEC.md 4.3 rule 5)", () => {
    const said = "2009-11-10T23:00:00.000Z";
    assert.deepEqual(timesOf({ timestamp: "2009-11-10T15:00:00-0800" }), [said, said, undefined]);
  });

  it("are corrected by its own sentAt", () => {
    assert.deepEqual(timesOf({ timestamp: "2026-11-20T16:59:00Z", sentAt: "2026-11-20T17:00:00Z" }), [
      ...["2026-11-20T11:59:00.000Z", "2026-11-20T16:59:00.000Z", "2026-11-20T17:00:00.000Z"],
    ]);
  });

  it("are corrected by the envelope's sentAt, where it has none of its own", () => {
    assert.deepEqual(timesOf({ timestamp: "2026-11-20T16:59:00Z" }, "2026-11-20T17:00:00Z"), [
      ...["2026-11-20T11:59:00.000Z", "2026-11-20T16:59:00.000Z", "2026-11-20T17:00:00.000Z"],
    ]);
    assert.equal(timesOf({ timestamp: NOW, sentAt: NOW }, "2026-11-20T17:00:00Z")[2], NOW);
    assert.equal(timesOf({ timestamp: NOW, sentAt: null }, NOW)[2], NOW);
  });

  it("are counted from timestamp, which the user gave, where a client sends originalTimestamp too", () => {
    const both = { originalTimestamp: "2026-11-20T11:00:00Z", timestamp: "2026-11-20T11:30:00Z", sentAt: NOW };
    assert.deepEqual(timesOf(both).slice(0, 2), ["2026-11-20T11:30:00.000Z", "2026-11-20T11:30:00.000Z"]);
  });
});

describe("a time that cannot be read", () => {
  it("is refused with a message that says what was expected and what came", () => {
    const sentence = "must be an ISO 8601 time such as 2009-11-10T23:00:00.000Z (got ";
    assert.deepEqual(faultOf({ ...TRACK, timestamp: "yesterday" }), {
      ...{ code: "invalid_timestamp", message: `timestamp ${sentence}"yesterday")` },
    });
    assert.equal(faultOf({ ...TRACK, sentAt: "" }).message, `sentAt ${sentence}"")`);
    assert.equal(
      faultOf({ ...TRACK, timestamp: "x".repeat(500) }).message,
      `timestamp ${sentence}"${"x".repeat(40)}")`,
    );
  });

  it("is refused in the envelope too", () => {
    assert.equal(faultOf(TRACK, { sentAt: "soon" }).code, "invalid_timestamp");
  });
});
