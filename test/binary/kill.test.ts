import { describe, it } from "node:test";
import { killUnderLoad } from "./kills.ts";
import { PATIENT } from "./waiting.ts";

describe("kill -9", () => {
  it("in the middle of 5,000 calls, twice, loses none that was acknowledged", PATIENT, () =>
    killUnderLoad({ calls: 5_000, at: [1_700, 3_400] }),
  );
});
