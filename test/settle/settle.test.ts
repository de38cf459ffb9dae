import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Answer, Outcome } from "../../src/model/delivery.ts";
import { HOUR, MINUTE } from "../../src/model/units.ts";
import { URL_A, URL_B } from "../flow/make.ts";
import {
  answered,
  FIRST_AT,
  makeDelivery,
  makeOutcome,
  makeRetried,
  OFFLINE,
  POLICY,
  REFUSED,
  settleAnswer,
  settleRound,
  TIMEOUT,
  UNTRUSTED,
  waitOf,
} from "./make.ts";

const CUTOFF_AT = FIRST_AT + 4 * HOUR;

describe("the first attempt", () => {
  it("delivers with a 2xx, and remembers who took it", () => {
    assert.deepEqual(settleAnswer(makeDelivery(), answered(204)), {
      ...{ state: "delivered", url: URL_A, status: 204 },
      ...{ attempts: 1, firstAttemptAt: FIRST_AT, attemptedAt: FIRST_AT + 20, stoodStill: 0, finals: [] },
    });
  });

  it("waits for about a second with anything to be retried, and starts the cutoff when it began", () => {
    assert.deepEqual(settleAnswer(makeDelivery(), answered(503)), {
      ...{ state: "waiting", dueAt: FIRST_AT + 1_020, reason: "503" },
      ...{ attempts: 1, firstAttemptAt: FIRST_AT, attemptedAt: FIRST_AT + 20, stoodStill: 0, finals: [] },
    });
  });

  it("fails with what is about the event, and says why", () => {
    assert.deepEqual(settleAnswer(makeDelivery(), answered(410)), {
      ...{ state: "failed", reason: "refused: answered 410" },
      ...{ attempts: 1, firstAttemptAt: FIRST_AT, attemptedAt: FIRST_AT + 20, stoodStill: 0 },
      finals: [{ url: URL_A, reason: "410" }],
    });
  });
});

describe("what comes of an attempt", () => {
  const delivery = makeRetried();

  for (const answer of [TIMEOUT, REFUSED, UNTRUSTED, ...[500, 599, 408, 423, 425, 429].map((one) => answered(one))]) {
    it(`waits after ${answer.kind} ${answer.kind === "answered" ? answer.status : ""}, counting the attempt`, () => {
      const settlement = settleAnswer(delivery, answer);
      assert.equal(waitOf(settlement), 4_000);
      assert.equal(settlement.attempts, 3);
    });
  }

  for (const status of [401, 403, 404, 405, 407]) {
    it(`waits after ${status}: that is about the webhook, not the event`, () => {
      assert.equal(settleAnswer(delivery, answered(status)).state, "waiting");
    });
  }

  for (const status of [400, 402, 406, 409, 410, 413, 422, 451, 499]) {
    it(`fails with ${status}: that is about the event`, () => {
      assert.equal(settleAnswer(delivery, answered(status)).state, "failed");
    });
  }

  it("fails with a redirect, and says which url to set", () => {
    const settlement = settleAnswer(delivery, answered(308, { location: "https://new.example.com/hook" }));
    assert.equal(settlement.state, "failed");
    assert.equal(reasonOf(settlement), "refused: answered 308: set url to https://new.example.com/hook");
  });

  it("says how it went: a timeout, a name, a certificate", () => {
    assert.equal(reasonOf(settleAnswer(delivery, TIMEOUT)), "no answer within 5s");
    assert.equal(reasonOf(settleAnswer(delivery, REFUSED)), "connection refused");
    assert.match(reasonOf(settleAnswer(delivery, UNTRUSTED)), /^certificate refused, nothing was sent: self-signed/);
  });
});

describe("Retry-After", () => {
  for (const status of [408, 423, 425, 429, 500, 503]) {
    it(`lengthens the wait after ${status}`, () => {
      assert.equal(waitOf(settleAnswer(makeRetried(), answered(status, { retryAfter: MINUTE }))), MINUTE);
    });
  }

  it("never shortens it", () => {
    for (const retryAfter of [0, 1, 3_999]) {
      assert.equal(waitOf(settleAnswer(makeRetried(), answered(503, { retryAfter }))), 4_000);
    }
  });

  it("does not reach past the cutoff", () => {
    for (const retryAfter of [5 * HOUR, Number.MAX_SAFE_INTEGER]) {
      const settlement = settleAnswer(makeRetried(), answered(503, { retryAfter }));
      assert.equal(FIRST_AT + 20 + waitOf(settlement), CUTOFF_AT);
    }
  });
});

describe("the cutoff (SPEC.md 7: four hours)", () => {
  it("still lets it wait one millisecond before, and the last attempt begins at the cutoff", () => {
    const settlement = settleAnswer(makeRetried(), answered(503), { now: CUTOFF_AT - 1 });
    assert.equal(waitOf(settlement, CUTOFF_AT - 1), 1);
  });

  for (const [when, now] of [["at", CUTOFF_AT] as const, ["one millisecond after", CUTOFF_AT + 1] as const]) {
    it(`ends the delivery with an attempt that failed ${when}`, () => {
      const settlement = settleAnswer(makeRetried(), answered(503), { now });
      assert.equal(settlement.state, "expired");
      assert.equal(reasonOf(settlement), "no success within 4h; last answer 503");
      assert.equal(settlement.attempts, 3);
    });
  }

  it("comes too late for a success: however old, it is delivered", () => {
    assert.equal(settleAnswer(makeRetried(), answered(200), { now: CUTOFF_AT + HOUR }).state, "delivered");
  });

  it("gives way to a refusal, which says more", () => {
    assert.equal(settleAnswer(makeRetried(), answered(410), { now: CUTOFF_AT + 1 }).state, "failed");
  });

  it("can be configured below", () => {
    const policy = { ...POLICY, cutoff: MINUTE };
    const settlement = settleAnswer(makeRetried(), TIMEOUT, { policy, now: FIRST_AT + MINUTE });
    assert.equal(reasonOf(settlement), "no success within 1m; last answer no answer within 5s");
  });

  it("counts from the first attempt, not from the acceptance", () => {
    const settlement = settleAnswer(makeDelivery({ acceptedAt: FIRST_AT - 10 * HOUR }), answered(503));
    assert.equal(settlement.state, "waiting");
    assert.equal(settlement.firstAttemptAt, FIRST_AT);
  });

  it("is later by as long as the destination's clock has stood still since the first attempt", () => {
    const stoodStill = 90 * MINUTE;
    const retried = makeRetried({ stoodStill: 30 * MINUTE });
    const before = settleAnswer(retried, answered(503), { now: CUTOFF_AT + HOUR - 1, stoodStill });
    assert.equal(waitOf(before, CUTOFF_AT + HOUR - 1), 1);
    assert.equal(settleAnswer(retried, answered(503), { now: CUTOFF_AT + HOUR, stoodStill }).state, "expired");
  });

  it("is counted by the clock as it stood when the first attempt began", () => {
    const first = settleAnswer(makeDelivery(), answered(503), { stoodStill: HOUR });
    assert.equal(first.stoodStill, HOUR);
    assert.equal(
      settleAnswer(makeRetried({ stoodStill: HOUR }), answered(503), { stoodStill: 2 * HOUR }).stoodStill,
      HOUR,
    );
  });
});

describe("a destination whose clock stands still when an attempt ends", () => {
  it("gives up nothing: that is tried once more when it goes on", () => {
    const settlement = settleAnswer(makeRetried(), answered(503), { now: CUTOFF_AT + 5_000, standsStill: true });
    assert.equal(waitOf(settlement, CUTOFF_AT + 5_000), 0);
    assert.equal(reasonOf(settlement), "503");
  });

  it("has all else decided as ever", () => {
    assert.equal(settleAnswer(makeRetried(), answered(200), { standsStill: true }).state, "delivered");
    assert.equal(settleAnswer(makeRetried(), answered(400), { standsStill: true }).state, "failed");
    assert.equal(waitOf(settleAnswer(makeDelivery(), answered(503), { standsStill: true })), 1_000);
  });
});

describe("a machine that is offline", () => {
  it("neither counts an attempt nor starts the cutoff", () => {
    assert.deepEqual(settleAnswer(makeDelivery(), OFFLINE), {
      ...{ state: "waiting", dueAt: FIRST_AT + 10_020, reason: "offline: network is unreachable" },
      ...{ attempts: 0, firstAttemptAt: null, attemptedAt: FIRST_AT + 20, stoodStill: 0, finals: [] },
    });
  });

  it("expires nothing, however long it lasts", () => {
    const settlement = settleAnswer(makeRetried(), OFFLINE, { now: CUTOFF_AT + 100 * HOUR });
    assert.equal(waitOf(settlement, CUTOFF_AT + 100 * HOUR), 10_000);
  });

  it("is looked at again soon, however many attempts there were before", () => {
    assert.equal(waitOf(settleAnswer(makeRetried({ attempts: 20 }), OFFLINE)), 10_000);
  });

  it("leaves the first real attempt four hours", () => {
    const untried = makeDelivery({ attemptedAt: FIRST_AT });
    const startedAt = FIRST_AT + 9 * HOUR;
    const outcome = makeOutcome(answered(503), { startedAt });
    const settlement = settleRound(untried, [outcome], { now: startedAt + 20, stoodStill: 9 * HOUR });
    assert.equal(waitOf(settlement, startedAt + 20), 1_000);
    assert.equal(settlement?.firstAttemptAt, startedAt);
    assert.equal(settlement?.stoodStill, 9 * HOUR);
  });
});

function reasonOf(settlement: object): string {
  if ("reason" in settlement) return String(settlement.reason);
  throw new Error("it has no reason");
}

const BOTH = { urls: [URL_A, URL_B] };

function a(answer: Answer, startedAt = FIRST_AT): Outcome {
  return makeOutcome(answer, { url: URL_A, startedAt });
}

function b(answer: Answer, startedAt = FIRST_AT): Outcome {
  return makeOutcome(answer, { url: URL_B, startedAt });
}

describe("a round to several webhooks (SPEC.md 6)", () => {
  it("is decided by the first 2xx, while the others are still to answer", () => {
    const settlement = settleRound(makeDelivery(), [b(answered(200))], BOTH);
    assert.equal(settlement?.state, "delivered");
    assert.equal(settlement?.state === "delivered" && settlement.url, URL_B);
  });

  it("is delivered to the first of two that took it", () => {
    const settlement = settleRound(makeDelivery(), [b(answered(202)), a(answered(200))], BOTH);
    assert.equal(settlement?.state === "delivered" && settlement.url, URL_B);
  });

  for (const answer of [answered(503), answered(410), OFFLINE]) {
    it(`stays open after ${answer.kind} ${answer.kind === "answered" ? answer.status : ""} of one`, () => {
      assert.equal(settleRound(makeDelivery(), [a(answer)], BOTH), null);
    });
  }

  it("stays open while nobody has answered, also after the cutoff", () => {
    assert.equal(settleRound(makeRetried(), [], { ...BOTH, now: FIRST_AT + 5 * HOUR }), null);
  });

  it("counts as one attempt, from the beginning of the earliest", () => {
    const settlement = settleRound(makeDelivery(), [a(answered(503), FIRST_AT + 7), b(answered(500))], BOTH);
    assert.equal(settlement?.attempts, 1);
    assert.equal(settlement?.firstAttemptAt, FIRST_AT);
  });

  it("begins the next one after the usual wait, and gives both reasons", () => {
    const settlement = settleRound(makeDelivery(), [a(answered(503)), b(answered(404))], BOTH);
    assert.equal(waitOf(settlement), 1_000);
    assert.equal(settlement?.state === "waiting" && settlement.reason, "503; 404");
  });

  it("counts as tried when only one of them was offline", () => {
    const settlement = settleRound(makeDelivery(), [a(OFFLINE), b(answered(503))], BOTH);
    assert.equal(settlement?.attempts, 1);
    assert.equal(waitOf(settlement), 1_000);
  });

  it("does not count when all of them were offline", () => {
    const settlement = settleRound(makeDelivery(), [a(OFFLINE), b(OFFLINE)], BOTH);
    assert.equal(settlement?.attempts, 0);
    assert.equal(waitOf(settlement), 10_000);
  });
});

describe("webhooks that have answered finally", () => {
  it("are remembered with their reason, while another is still open", () => {
    const settlement = settleRound(makeDelivery(), [a(answered(410)), b(answered(503))], BOTH);
    assert.equal(settlement?.state, "waiting");
    assert.deepEqual(settlement?.finals, [{ url: URL_A, reason: "410" }]);
  });

  it("fail the delivery when all of them have, each with its reason and without its query", () => {
    const hidden = `${URL_A}?token=secret#x`;
    const redirect = b(answered(301, { location: "https://c.example.com/" }));
    const outcomes = [makeOutcome(answered(410), { url: hidden }), redirect];
    const settlement = settleRound(makeDelivery(), outcomes, { urls: [hidden, URL_B] });
    assert.equal(settlement?.state, "failed");
    assert.equal(
      settlement?.state === "failed" && settlement.reason,
      `refused: ${URL_A} answered 410; ${URL_B} answered 301: set url to https://c.example.com/`,
    );
  });

  it("fail the delivery over several rounds, the earlier ones left out of the later", () => {
    const delivery = makeRetried({ finals: [{ url: URL_A, reason: "410" }] });
    const settlement = settleRound(delivery, [b(answered(422))], { ...BOTH, asked: [URL_B] });
    assert.equal(
      settlement?.state === "failed" && settlement.reason,
      `refused: ${URL_A} answered 410; ${URL_B} answered 422`,
    );
  });

  it("do not fail it while one that was left out is unanswered", () => {
    const settlement = settleRound(makeDelivery(), [a(answered(410))], { ...BOTH, asked: [URL_A] });
    assert.equal(waitOf(settlement), 1_000);
  });

  it("count no more when the config has lost them, and are not named", () => {
    const delivery = makeRetried({ finals: [{ url: "https://gone.example.com/", reason: "410" }] });
    assert.equal(settleRound(delivery, [a(answered(503))])?.state, "waiting");
    const failed = settleRound(delivery, [a(answered(422))]);
    assert.equal(failed?.state === "failed" && failed.reason, "refused: answered 422");
  });

  it("have one last word each, the newest", () => {
    const delivery = makeRetried({ finals: [{ url: URL_A, reason: "410" }] });
    const settlement = settleRound(delivery, [a(answered(422))]);
    assert.deepEqual(settlement?.finals, [{ url: URL_A, reason: "422" }]);
  });

  it("do not lengthen the wait of the others", () => {
    const outcomes = [a(answered(410, { retryAfter: HOUR })), b(answered(503))];
    assert.equal(waitOf(settleRound(makeDelivery(), outcomes, BOTH)), 1_000);
  });
});

describe("a webhook that was left out of a round", () => {
  it("counts as unanswered: the delivery expires by the answer of the other", () => {
    const options = { ...BOTH, asked: [URL_A], now: FIRST_AT + 4 * HOUR };
    assert.equal(settleRound(makeRetried(), [a(answered(503))], options)?.state, "expired");
  });

  it("has asked for no silence: the next round begins after the usual wait", () => {
    const outcomes = [a(answered(503, { retryAfter: HOUR }))];
    assert.equal(waitOf(settleRound(makeDelivery(), outcomes, { ...BOTH, asked: [URL_A] })), 1_000);
  });
});

describe("Retry-After of several webhooks", () => {
  it("is waited for when all of them ask: the shortest", () => {
    const outcomes = [a(answered(503, { retryAfter: HOUR })), b(answered(429, { retryAfter: MINUTE }))];
    assert.equal(waitOf(settleRound(makeDelivery(), outcomes, BOTH)), MINUTE);
  });

  it("of one does not keep the others waiting", () => {
    const outcomes = [a(answered(503, { retryAfter: HOUR })), b(answered(500))];
    assert.equal(waitOf(settleRound(makeDelivery(), outcomes, BOTH)), 1_000);
  });

  it("is waited for when all that are still open ask", () => {
    const delivery = makeRetried({ finals: [{ url: URL_A, reason: "410" }] });
    const outcomes = [b(answered(503, { retryAfter: HOUR }))];
    assert.equal(waitOf(settleRound(delivery, outcomes, { ...BOTH, asked: [URL_B] })), HOUR);
  });
});
