import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { judge, type Tried } from "../../src/client/judge.ts";
import type { Answer } from "../../src/client/post.ts";

const FIRST: Tried = {
  retried: 0,
  retries: 10,
  waits: 0,
  askedMs: 0,
  fraction: 0.5,
  now: Date.parse("2026-11-20T12:00:00Z"),
};

function answered(status: number, retryAfter: string | null = null, body = ""): Answer & { kind: "answered" } {
  return { kind: "answered", status, statusText: "", retryAfter, body };
}

function kindsOf(statuses: readonly number[]): readonly string[] {
  return [...new Set(statuses.map((status) => judge(answered(status), FIRST).kind))];
}

function range(first: number, last: number): readonly number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

describe("the retry table", () => {
  it("takes a 2xx for taken that says so", () => {
    for (const body of ['{"success":true}', '{"success":true,"accepted":1,"duplicate":0}']) {
      const verdicts = range(200, 299).map((status) => judge(answered(status, null, body), FIRST).kind);
      assert.deepEqual([...new Set(verdicts)], ["taken"]);
    }
  });

  for (const body of ["", "OK", "<html>Welcome to nginx", "null", "[]", "{}", '{"status":"ok"}', '{"success":1}']) {
    it(`retries a 2xx that does not: something else has answered, and may not for long: ${body}`, () => {
      const verdict = judge(answered(200, null, body), FIRST);
      assert.deepEqual(verdict, { kind: "again", afterMs: 500, counted: true, told: false });
      const last = judge(answered(200, null, body), { ...FIRST, retried: 10 });
      assert.deepEqual(last, { kind: "lost", reason: "gave_up" });
    });
  }

  it("takes a 2xx that says it is none for final", () => {
    const verdict = judge(answered(200, null, '{"success":false,"code":"invalid_batch"}'), FIRST);
    assert.deepEqual(verdict, { kind: "lost", reason: "refused" });
  });

  it("retries 302, 303, 307, 408, 410, 429, 460 and each 5xx but 501, 505 and 511", () => {
    const retried = [...range(100, 199), ...range(300, 599)].filter(
      (status) => judge(answered(status), FIRST).kind === "again",
    );
    const final5xx = [501, 505, 511];
    assert.deepEqual(retried, [
      302,
      303,
      307,
      408,
      410,
      429,
      460,
      ...range(500, 599).filter((status) => !final5xx.includes(status)),
    ]);
  });

  it("retries faults of the network and timeouts", () => {
    assert.equal(judge({ kind: "failed", cause: new Error("reset") }, FIRST).kind, "again");
    assert.equal(judge({ kind: "timeout", timeoutMs: 10_000 }, FIRST).kind, "again");
  });

  it("treats all else as final: every other 4xx, redirects, and no status", () => {
    const final = [
      ...range(100, 199),
      300,
      301,
      ...range(304, 306),
      ...range(308, 407),
      409,
      ...range(411, 428),
      ...range(430, 459),
      ...range(461, 499),
    ];
    assert.deepEqual(kindsOf([...final, 501, 505, 511, 0]), ["lost"]);
    assert.deepEqual(judge(answered(401), FIRST), { kind: "lost", reason: "refused" });
  });

  it("waits half a second, doubling to a minute", () => {
    const waits = range(0, 9).map((waits) => judge(answered(500), { ...FIRST, waits }));
    const seconds = waits.map((verdict) => verdict.kind === "again" && verdict.afterMs / 1_000);
    assert.deepEqual(seconds, [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it("lets chance move a wait by a tenth", () => {
    const [least, most] = [0, 1].map((fraction) => judge(answered(500), { ...FIRST, waits: 1, fraction }));
    assert.deepEqual(least, { kind: "again", afterMs: 900, counted: true, told: false });
    assert.deepEqual(most, { kind: "again", afterMs: 1_100, counted: true, told: false });
  });

  it("gives up after so many retries", () => {
    assert.equal(judge(answered(500), { ...FIRST, retried: 9 }).kind, "again");
    assert.deepEqual(judge(answered(500), { ...FIRST, retried: 10 }), { kind: "lost", reason: "gave_up" });
    assert.deepEqual(judge(answered(500), { ...FIRST, retries: 0 }), { kind: "lost", reason: "gave_up" });
  });

  for (const [retryAfter, afterMs] of [
    ["7", 7_000],
    ["0", 1_000],
    ["301", 300_000],
    ["99999999999999999999", 300_000],
    [" 12 ", 12_000],
    ["Fri, 20 Nov 2026 12:00:30 GMT", 30_000],
    ["Fri, 20 Nov 2026 11:00:00 GMT", 1_000],
  ] as const) {
    it(`waits on 429 for as long as Retry-After says, 1 to 300 s, and does not count it: ${retryAfter}`, () => {
      const used = { ...FIRST, retried: 10, waits: 5 };
      assert.deepEqual(judge(answered(429, retryAfter), used), { kind: "again", afterMs, counted: false, told: true });
    });
  }

  it("counts them once twelve hours have gone by like this: then there is an end", () => {
    const limit = 12 * 3_600_000;
    const within = judge(answered(429, "300"), { ...FIRST, retried: 10, askedMs: limit - 300_000 });
    assert.deepEqual(within, { kind: "again", afterMs: 300_000, counted: false, told: true });
    const beyond = { ...FIRST, askedMs: limit - 299_999 };
    assert.deepEqual(judge(answered(429, "300"), beyond), {
      ...{ kind: "again", afterMs: 300_000, counted: true, told: true },
    });
    assert.equal(judge(answered(429, "300"), { ...beyond, retried: 10 }).kind, "lost");
  });

  const rubbish = ["foo 12", "12 s", "1e3", "-5", "0x10", "12, 13", "2026-11-20T12:00:30Z", "Nov 20 2026"];
  for (const retryAfter of [
    null,
    "",
    "soon",
    ...rubbish,
    "Fri, 45 Nov 2026 12:00:30 GMT",
    "Tue, 31 Feb 2027 13:00:00 GMT",
  ]) {
    it(`counts a 429 that names no time: ${JSON.stringify(retryAfter)}`, () => {
      const verdict = judge(answered(429, retryAfter), FIRST);
      assert.deepEqual(verdict, { kind: "again", afterMs: 500, counted: true, told: false });
      assert.equal(judge(answered(429, retryAfter), { ...FIRST, retried: 10 }).kind, "lost");
    });
  }

  it("lets Retry-After lengthen other waits, and never shorten them", () => {
    assert.deepEqual(judge(answered(503, "30"), FIRST), { kind: "again", afterMs: 30_000, counted: true, told: true });
    assert.deepEqual(judge(answered(503, "3"), { ...FIRST, waits: 6 }), {
      kind: "again",
      afterMs: 32_000,
      counted: true,
      told: true,
    });
    assert.deepEqual(judge(answered(503, "3"), { ...FIRST, retried: 10 }), { kind: "lost", reason: "gave_up" });
    assert.deepEqual(judge(answered(400, "3"), FIRST), { kind: "lost", reason: "refused" });
  });
});
