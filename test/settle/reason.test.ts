import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Answer } from "../../src/model/outcome.ts";
import { describeAnswer } from "../../src/settle/judge.ts";
import { answered, OFFLINE, REFUSED, RELEASED, TIMEOUT, UNTRUSTED } from "./make.ts";

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
