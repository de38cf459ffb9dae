import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Answer } from "../../src/model/delivery.ts";
import { describeAnswer, judge } from "../../src/settle/judge.ts";
import { answered, OFFLINE, REFUSED, RELEASED, TIMEOUT, UNTRUSTED } from "./make.ts";

describe("a status", () => {
  const about = { webhook: [401, 403, 404, 405, 407], time: [408, 423, 425, 429] };
  const retried4xx = [...about.webhook, ...about.time];

  it("of 2xx means that the receiver has it", () => {
    assert.deepEqual(judgements(statuses(200, 299)), ["delivered"]);
  });

  it("of 5xx is retried (SPEC.md 7)", () => {
    assert.deepEqual(judgements(statuses(500, 599)), ["retry"]);
  });

  it("that speaks of the moment is retried: 408, 423, 425, 429", () => {
    assert.deepEqual(judgements(about.time), ["retry"]);
  });

  it("that speaks of the webhook and not of the event is retried: 401, 403, 404, 405, 407", () => {
    assert.deepEqual(judgements(about.webhook), ["retry"]);
  });

  it("of any other 4xx is final: 91 of them", () => {
    const others = statuses(400, 499).filter((status) => !retried4xx.includes(status));
    assert.equal(others.length, 91);
    assert.deepEqual(judgements(others), ["final"]);
  });

  it("of 3xx is final: a redirect is not followed", () => {
    assert.deepEqual(judgements(statuses(300, 399)), ["final"]);
  });

  it("of less than 200 is retried: it is no answer to a POST, and says nothing about the event", () => {
    assert.deepEqual(judgements(statuses(0, 199)), ["retry"]);
  });

  function statuses(first: number, last: number): number[] {
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  }

  /** Which judgements these statuses get, each once. */
  function judgements(given: readonly number[]): string[] {
    return [...new Set(given.map((status) => judge(answered(status))))];
  }
});

describe("an attempt without an answer", () => {
  it("is retried after a timeout (SPEC.md 7)", () => assert.equal(judge(TIMEOUT), "retry"));
  it("is retried when the receiver cannot be reached", () => assert.equal(judge(REFUSED), "retry"));
  it("is retried when its certificate is refused: certificates get mended", () =>
    assert.equal(judge(UNTRUSTED), "retry"));
  it("says nothing about the receiver when the machine is offline", () => assert.equal(judge(OFFLINE), "offline"));
  it("says nothing at all when the daemon stopped meanwhile", () => assert.equal(judge(RELEASED), "unknown"));
});

const SENTENCES: readonly (readonly [about: string, answer: Answer, sentence: string])[] = [
  ["a status", answered(503), "503"],
  ["a redirect", answered(301, { location: "https://b.example.com/" }), "301: set url to https://b.example.com/"],
  ["a redirect that leads nowhere", answered(302), "302 without a Location"],
  ["a Location where none belongs", answered(400, { location: "/x" }), "400"],
  ["a timeout", TIMEOUT, "no answer within 5s"],
  ["a shorter timeout", { kind: "timeout", after: 250 }, "no answer within 250ms"],
  ["a refused connection", REFUSED, "connection refused"],
  ["a machine that is offline", OFFLINE, "network is unreachable"],
  ["a certificate", UNTRUSTED, "certificate refused, nothing was sent: self-signed certificate"],
  ["a stop of the daemon", RELEASED, "released: the daemon stopped"],
];

describe("the reason", () => {
  for (const [about, answer, sentence] of SENTENCES) {
    it(`says of ${about}: ${sentence}`, () => assert.equal(describeAnswer(answer), sentence));
  }
});
