import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toWords as listWords } from "../../../src/cli/deliveries/list-words.ts";
import type { SaidAttempt, SaidDelivery, SaidDetail } from "../../../src/cli/deliveries/said.ts";
import { toWords as showWords } from "../../../src/cli/deliveries/show-words.ts";
import { toQueryTime } from "../../../src/cli/deliveries/times.ts";

const NOW = Date.UTC(2026, 10, 20, 12, 0, 0);
const at = (ms: number): string => new Date(NOW + ms).toISOString();

const ONE: SaidDelivery = {
  ...{ id: "42-crm", destination: "crm", state: "waiting", source: "website", type: "track", messageId: "m1" },
  ...{ userId: "u1", acceptedAt: at(-60_000), attempts: 2, dueAt: at(4_000), settledAt: null, url: null, status: null },
  reason: "503",
};
const ATTEMPT: SaidAttempt = {
  ...{ at: at(-60_000), url: "https://crm.example.com/in", duration: 40, outcome: "retry", status: 503 },
  ...{ reason: "503", answer: "closed\u001b[2J\nfor today\n", trigger: "first" },
};
const DETAIL: SaidDetail = {
  ...ONE,
  ...{ firstAttemptAt: at(-60_000), finals: [], body: '{"type":"track","properties":{"a":"\u0080"}}' },
  requests: [{ url: "https://crm.example.com/in", headers: { Authorization: "***" } }],
  troubled: [],
  log: { first: [ATTEMPT], omitted: 0, last: [] },
};
const ASKED = { limit: 20, most: 10_000, more: false, now: NOW };

describe("the list of deliveries, for a person", () => {
  it("is a table, with why each stands where it does", () => {
    const delivered = { ...ONE, id: "7-crm", state: "delivered", settledAt: at(-1), url: "https://crm/", status: 204 };
    assert.equal(
      listWords([ONE, { ...delivered, userId: null, reason: null }], ASKED),
      [
        "id      state      since                     attempts  source   type   user  why",
        "42-crm  waiting    2026-11-20T11:59:00.000Z  2         website  track  u1    next in 4s: 503",
        "7-crm   delivered  2026-11-20T11:59:59.999Z  2         website  track  -     204 from https://crm/",
        "",
        "2 deliveries, the newest first.",
      ].join("\n"),
    );
  });

  it("says how to see the others, and when there is none", () => {
    assert.match(
      listWords([ONE], { ...ASKED, more: true }),
      /\nOne delivery\. There are others: --limit 200 shows more\.$/,
    );
    assert.match(listWords([ONE], { ...ASKED, limit: 10_000, more: true }), /--until the time of the last line/);
    assert.match(listWords([], ASKED), /^There is no such delivery, or not any more: /);
  });

  it("lets nobody write to the terminal, and cuts what is long", () => {
    const evil = { ...ONE, userId: `\u001b[2J${"u".repeat(99)}`, reason: "x".repeat(200) };
    const text = listWords([evil], ASKED);
    assert.match(text, /\\u001b\[2Ju+… {2}next in 4s: x+…$/m);
    assert.ok(text.split("\n").every((line) => line.length < 200));
  });
});

describe("a delivery, for a person", () => {
  it("is what it is, how it stands, what is sent, and what came of it", () => {
    assert.equal(
      showWords(DETAIL, NOW),
      [
        "delivery 42-crm: waiting",
        "  event     track m1 of user u1",
        "  from      website, taken 2026-11-20T11:59:00.000Z (1m ago)",
        "  to        crm",
        "  attempts  2 rounds",
        "  reason    503",
        "  next      in 4s (2026-11-20T12:00:04.000Z)",
        "",
        "POST https://crm.example.com/in",
        "  Authorization: ***",
        "",
        "  {",
        '    "type": "track",',
        '    "properties": {',
        '      "a": "\\u0080"',
        "    }",
        "  }",
        "",
        "attempts",
        "  2026-11-20T11:59:00.000Z  first: 503 after 40ms (to be retried), https://crm.example.com/in",
        "      | closed\\u001b[2J",
        "      | for today",
        "  next in 4s",
      ].join("\n"),
    );
  });

  it("has the waits between attempts, and says how many are not kept", () => {
    const second = { ...ATTEMPT, at: at(-58_960), trigger: "retry", answer: null };
    const last = {
      ...ATTEMPT,
      at: at(0),
      trigger: "probe",
      outcome: "delivered",
      status: 200,
      reason: "200",
      answer: null,
    };
    const some = showWords({ ...DETAIL, log: { first: [ATTEMPT, second], omitted: 9, last: [last] } }, NOW);
    const lines = some.split("\n");
    assert.deepEqual(lines.slice(lines.indexOf("    1s later"), -1), [
      "    1s later",
      "  2026-11-20T11:59:01.040Z  retry: 503 after 40ms (to be retried), https://crm.example.com/in",
      "      | (its text did not come in time)",
      "  … 9 more, which are not kept …",
      "  2026-11-20T12:00:00.000Z  probe: 200 after 40ms (delivered), https://crm.example.com/in",
    ]);
  });

  it("says so when there was none, and when nothing is known of them", () => {
    const none = { first: [], omitted: 0, last: [] };
    assert.match(showWords({ ...DETAIL, attempts: 0, log: none }, NOW), /\n\nNo attempt yet\.$/);
    assert.match(showWords({ ...DETAIL, attempts: 0, state: "failed", log: none }, NOW), /\n\nNo attempt was made\.$/);
    assert.match(showWords({ ...DETAIL, log: none }, NOW), /\n\nThe attempts so far are not known\.\n {2}next in 4s$/);
  });

  it("says who took it, and who has refused it", () => {
    const settled = { settledAt: at(-5), url: "https://b/", status: 201, dueAt: null, reason: null };
    const finals = [{ url: "https://a/", reason: "410" }];
    const text = showWords({ ...DETAIL, ...settled, state: "delivered", finals }, NOW);
    assert.match(text, /^ {2}delivered 2026-11-20T11:59:59\.995Z to https:\/\/b\/, which answered 201$/m);
    assert.match(text, /^ {2}refused {3}by https:\/\/a\/ for good: 410$/m);
  });
});

describe("--since and --until", () => {
  it("take how long ago, and a time of any zone", () => {
    assert.equal(toQueryTime("2h 30m"), "2h 30m");
    assert.equal(toQueryTime("2026-11-20T12:00+02:00"), "2026-11-20T10:00:00.000Z");
    assert.equal(toQueryTime("2026-11-20"), new Date(2026, 10, 20).toISOString());
    assert.equal(toQueryTime("2026-11-20T12:00"), new Date(2026, 10, 20, 12).toISOString());
    for (const bad of [
      "",
      "soon",
      "2026-13-01",
      "20.11.2026",
      "2026-11-20 12:00",
      "2009-02-31",
      "9999-12-31T23:50-23:59",
      "2026-02-29T12:00",
    ])
      assert.equal(toQueryTime(bad), null);
  });
});
