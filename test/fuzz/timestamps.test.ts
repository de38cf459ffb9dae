import assert from "node:assert/strict";
import fc from "fast-check";
import { toQueryTime } from "../../src/cli/options.ts";
import { readTimestamp } from "../../src/client/write.ts";
import { parseDuration } from "../../src/model/units.ts";
import { correctSkew, formatTimestamp, parseTime, parseTimestamp } from "../../src/validate/timestamps.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { type Text, textLike, written } from "./text.ts";

const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

const likeness = {
  seeds: [
    ...["2009-11-10T23:00:00Z", "2009-11-10T23:00:00.123456789+0530", "2009-11-10 23:00", "2009-11-10", "0000-01-01"],
    ...["9999-12-31T23:59:60-23:59", "2008-02-29T00:00:00,5 z", "2009-02-29", "1900-02-29T12:00:00-08", "2h", "1h30m"],
  ],
  pieces: ["2009", "-", "-", "02", "29", "30", "31", "T", ":", "24", "60", ".", "000", "Z", "+", "00", "GMT", "h", "d"],
};

/** Of the calendar that everybody means: what is not in it is a mistake, and must not become another day. */
const anyDate = fc
  .tuple(fc.nat(9_999), fc.nat(13), fc.nat(32), fc.constantFrom("", "T00:00:00Z", "T23:59:59.999+14:00", "T12:30"))
  .map(([year, month, day, time]) => `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}${time}`);

function pad(number: number, width: number): string {
  return String(number).padStart(width, "0");
}

fuzz<{ text: Text; sent: number; received: number }>({
  name: "timestamps",
  input: fc.record({
    text: fc.oneof(textLike(likeness), anyDate),
    sent: fc.integer({ min: -1e14, max: 1e14 }),
    received: fc.integer({ min: 0, max: 1e13 }),
  }),
  runs: 3_000,
  start: () => ({
    holds({ text: pieces, sent, received }) {
      const text = written(pieces);
      const at = parseTimestamp(text);
      assert.deepEqual(parseTime(text), at === null ? null : { at, text: formatTimestamp(at) });
      assert.equal(accepts(text), at !== null, "the client and the daemon take the same forms");
      assert.ok(isSane(parseDuration(text)));
      const asked = toQueryTime(text);
      if (asked !== null && parseDuration(text) === null) assert.ok(isInCalendar(text) && FORM.test(asked));
      if (at === null) return;
      assert.ok(isInCalendar(text));
      const written_ = formatTimestamp(at);
      assert.match(written_, FORM);
      assert.equal(formatTimestamp(parseTimestamp(written_) ?? Number.NaN), written_);
      assert.equal(correctSkew(at, null, received), at);
      const corrected = correctSkew(at, sent, received);
      assert.ok(corrected === at || corrected <= received);
      assert.match(formatTimestamp(corrected), FORM);
    },
  }),
});

fuzzTime({
  ...likeness,
  name: "timestamps",
  harmless: "2009-11-10T23:00:00Z",
  run: (text) => [parseTimestamp(text), parseDuration(text)],
});

function accepts(timestamp: string): boolean {
  try {
    return readTimestamp({ timestamp }) === timestamp;
  } catch {
    return false;
  }
}

function isSane(ms: number | null): boolean {
  return ms === null || ms >= 0;
}

function isInCalendar(text: string): boolean {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
}
