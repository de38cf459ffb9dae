import { describe, it } from "node:test";
import { SECOND } from "../../src/model/units.ts";
import { SLOW } from "../slow.ts";
import { keepBusy } from "./crowd.ts";

describe("the slots of a whole daemon", () => {
  for (const count of [3, 60, 250]) {
    for (const webhooks of [1, 3]) {
      it(`leave none of ${count} destinations with ${webhooks} webhooks without one that is free`, SLOW, () =>
        keepBusy({ count, webhooks, seed: count, steps: 20 }),
      );
    }
  }

  for (const [requests, burst] of [
    [5, 5],
    [1, 3],
    [40, 100],
  ] as const) {
    it(`leave none idle that has a token, at ${requests} a second and ${burst} at once, and none gets more`, SLOW, () =>
      keepBusy({ count: 40, webhooks: 3, seed: requests, steps: 20, rate: { requests, per: SECOND, burst } }),
    );
  }
});
