// test/deliver/slots.test.ts with more destinations, steps and seeds than `make test` has time for.
import { describe, it } from "node:test";
import { keepBusy } from "../deliver/crowd.ts";
import { SLOW } from "../slow.ts";

const SEEDS = 4;

describe("the slots of a whole daemon, for longer", () => {
  for (const count of [3, 12, 60, 120, 250]) {
    for (const webhooks of [1, 3]) {
      it(`leave none of ${count} destinations with ${webhooks} webhooks without one that is free`, SLOW, async () => {
        for (let nth = 1; nth <= SEEDS; nth += 1)
          await keepBusy({ count, webhooks, seed: nth * 1_000 + count, steps: 40 });
      });
    }
  }
});
