import assert from "node:assert/strict";
import fc from "fast-check";
import { judge } from "../../src/client/judge.ts";
import { parseRetryAfter } from "../../src/settle/backoff.ts";
import { answered, makeRetried, POLICY, settleAnswer, waitOf } from "../settle/make.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { type Text, textLike, written } from "./text.ts";

const likeness = {
  seeds: [
    ...["120", " 7 ", "-1", "1.5", "1e3", "0x10", "99999999999999999999", "Fri, 20 Nov 2026 13:00:00 GMT"],
    ...["Friday, 20-Nov-26 13:00:00 GMT", "Fri Nov 20 13:00:00 2026", "Tue Dec  1 12:00:00 2026"],
    ...["Mon, 29 Feb 2028 00:00:00 GMT", "Mon, 29 Feb 2027 00:00:00 GMT", "Tue, 31 Dec 2026 23:59:60 GMT"],
  ],
  pieces: ["0", "5", "31", "29", "Feb", "Nov", "Fri, ", "Friday, ", "20-", " ", "2026", "24:00:00", "23:59:60", " GMT"],
};
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const anyDate = fc
  .tuple(fc.integer({ min: 2020, max: 2032 }), fc.constantFrom(...MONTHS), fc.nat(32), fc.nat(24))
  .map(([year, month, day, hour]) => `Fri, ${pad(day)} ${month} ${year} ${pad(hour)}:00:00 GMT`);

const HTTP_DATE = /^[a-z]{3}, (\d\d) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) gmt$/i;
const LONGEST_TOLD_MS = 300_000;
const LONGEST_BACKOFF_MS = 66_000;

fuzz<{ text: Text; wall: number; status: number }>({
  name: "retry-after",
  input: fc.record({
    text: fc.oneof(textLike(likeness), anyDate),
    wall: fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2090, 0, 1) }),
    status: fc.constantFrom(429, 503, 500, 408),
  }),
  runs: 3_000,
  start: () => ({
    holds({ text: pieces, wall, status }) {
      const text = written(pieces);
      const wait = parseRetryAfter(text, wall);
      assert.ok(wait === null || (wait >= 0 && Number.isSafeInteger(wait)), `waits ${wait}`);
      const meant = meantBy(text.trim());
      if (meant !== undefined) assert.equal(wait, meant === null ? null : Math.max(0, meant - wall));
      holdsForDelivery(wait, status);
      holdsForClient(text, { wall, status, wait });
    },
  }),
});

fuzzTime({ ...likeness, name: "retry-after", harmless: "5", run: (text) => parseRetryAfter(text, 0) });

/** The daemon waits no shorter for it, and not beyond the cutoff. */
function holdsForDelivery(wait: number | null, status: number): void {
  const untold = waitOf(settleAnswer(makeRetried(), answered(status)));
  const told = waitOf(settleAnswer(makeRetried(), answered(status, wait === null ? {} : { retryAfter: wait })));
  assert.ok(told >= untold && told <= POLICY.cutoff, `waits ${told}`);
  assert.ok(wait === null || told >= Math.min(wait, POLICY.cutoff - 20));
}

type Told = { readonly wall: number; readonly status: number; readonly wait: number | null };

/** The client library waits no shorter for it, nor for ever. */
function holdsForClient(text: string, { wall, status, wait }: Told): void {
  const tried = { retried: 0, retries: 10, waits: 0, askedMs: 0, fraction: 0.5, now: wall };
  const judged = (retryAfter: string | null) =>
    judge({ kind: "answered", status, statusText: "", retryAfter, body: "" }, tried);
  const [told, untold] = [judged(text), judged(null)];
  assert.ok(told.kind === "again" && untold.kind === "again");
  assert.ok(told.afterMs >= (told.counted ? untold.afterMs : 1_000), `shortened to ${told.afterMs}`);
  assert.ok(told.afterMs <= Math.max(LONGEST_TOLD_MS, LONGEST_BACKOFF_MS));
  if (told.told) assert.notEqual(wait, null, "the client reads what the daemon does not");
}

/** The time that a date of today's form names, null if there is no such day or time; undefined for another form. */
function meantBy(text: string): number | null | undefined {
  const [, day, month = "", year, hour, minute, second] = HTTP_DATE.exec(text) ?? [];
  if (day === undefined) return undefined;
  const index = MONTHS.findIndex((name) => name.toLowerCase() === month.toLowerCase());
  const at = new Date(0).setUTCFullYear(Number(year), index, Number(day));
  if (index < 0 || new Date(at).getUTCDate() !== Number(day)) return null;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return null;
  return at + ((Number(hour) * 60 + Number(minute)) * 60 + Number(second)) * 1_000;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
