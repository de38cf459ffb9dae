import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Answer, Outcome } from "../../src/model/outcome.ts";
import { HOUR, MINUTE } from "../../src/model/units.ts";
import { URL_A, URL_B } from "../flow/make.ts";
import { answered, FIRST_AT, makeDelivery, makeOutcome, makeRetried, OFFLINE, settleRound, waitOf } from "./make.ts";

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
