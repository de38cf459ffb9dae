import { describe, it } from "node:test";
import { killUnderLoad } from "../binary/kills.ts";
import { PATIENCE } from "../binary/waiting.ts";

const KILLS = 50;
const CALLS_BETWEEN = 400;

describe("kill -9", () => {
  it("fifty times under load loses none of 20,400 calls that were acknowledged", { timeout: 8 * PATIENCE }, () =>
    killUnderLoad({
      calls: (KILLS + 1) * CALLS_BETWEEN,
      at: Array.from({ length: KILLS }, (_, nth) => (nth + 1) * CALLS_BETWEEN),
    }),
  );
});
