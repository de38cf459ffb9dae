import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLanes } from "../../src/deliver/lanes.ts";
import { isLastAttempt, lostTime } from "../../src/deliver/lost.ts";
import type { Spell } from "../../src/model/pause.ts";
import { HOUR } from "../../src/model/units.ts";
import { makeDestination, URL_A, URL_B } from "../flow/make.ts";
import { makeDelivery, makeReport, POLICY } from "./make.ts";

const BOTH = makeDestination({ urls: [URL_A, URL_B] });

/** Lanes of which the first was offline from 100 to 300, the second from 200 to 400; and these spells. */
function makeWorld(...spells: readonly Spell[]) {
  const lanes = createLanes(makeReport());
  const saw = (at: number, sign: "offline" | "refused", nth: 0 | 1) => {
    const webhook = BOTH.webhooks[nth] ?? assert.fail();
    lanes.take("crm", [webhook], {
      now: at,
      concurrency: 64,
      urgent: false,
      tried: false,
      untriedWaits: false,
      starved() {},
    });
    lanes.done("crm", webhook, {
      ...{ sign, tried: false, startedAt: at, reason: "", hold: null, now: at, random: 0.5, policy: POLICY },
    });
  };
  saw(100, "offline", 0);
  saw(200, "offline", 1);
  saw(300, "refused", 0);
  saw(400, "refused", 1);
  return { lanes, halts: { spells: () => spells } };
}

describe("the time that a delivery has lost", () => {
  it("is what it was offline or halted since its last round, both at once counted once", () => {
    const delivery = makeDelivery({ id: 1, attemptedAt: 150 });
    const lost = (...spells: readonly Spell[]) => {
      return lostTime(delivery, { destination: makeDestination(), now: 1_000, world: makeWorld(...spells) });
    };
    assert.equal(lost(), 150);
    assert.equal(lost({ from: 250, until: 350 }), 200);
    assert.equal(lost({ from: 100, until: 500 }), 350);
    assert.equal(lost({ from: 0, until: 120 }, { from: 900, until: 2_000 }), 250);
  });

  it("is that in which none of the webhooks could be reached", () => {
    const delivery = makeDelivery({ id: 1, attemptedAt: 0 });
    const spell = { from: 350, until: 360 };
    assert.equal(lostTime(delivery, { destination: BOTH, now: 1_000, world: makeWorld(spell) }), 200);
  });

  it("is none before its first round", () => {
    const spell = { from: 0, until: 900 };
    const loss = { destination: BOTH, now: 1_000, world: makeWorld(spell) };
    assert.equal(lostTime(makeDelivery({ id: 1 }), loss), 0);
  });
});

describe("the last attempt", () => {
  it("comes later by what was lost", () => {
    const delivery = makeDelivery({ id: 1, firstAttemptAt: 0, attemptedAt: 10 });
    const world = makeWorld({ from: 1_000, until: 1_000 + HOUR });
    const loss = { destination: makeDestination(), cutoff: 4 * HOUR, world };
    assert.equal(isLastAttempt(delivery, { ...loss, now: 5 * HOUR + 199 }), false);
    assert.equal(isLastAttempt(delivery, { ...loss, now: 5 * HOUR + 200 }), true);
  });
});
