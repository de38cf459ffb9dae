import { describe, it } from "node:test";
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
});
