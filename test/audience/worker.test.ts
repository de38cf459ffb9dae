import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSyncWorker } from "../../src/audience/worker.ts";
import type { Members } from "../../src/model/audience.ts";
import { createFalseClock } from "../flow/clock.ts";
import { createFalseReport, type Told } from "../store/harness.ts";

const DAMAGED = new Error("database disk image is malformed");

describe("the worker of audiences and traits", () => {
  for (const broken of ["open", "discard", "sweep"] as const) {
    it(`tells of a file that is damaged, and looks at it again: ${broken}`, async () => {
      const told: Told[] = [];
      const clock = createFalseClock();
      const stopping = new AbortController();
      const worker = createSyncWorker({
        members: membersThatThrow(broken),
        accept: () => Promise.reject(new Error("nothing is sent here")),
        refusalOf: () => null,
        ...{ clock, report: createFalseReport(told) },
      });
      const running = worker.run(stopping.signal);
      await clock.advance("6s");
      const times = told.filter(({ what, args }) => what === "storeFailed" && args[1] === DAMAGED).length;
      assert.ok(times >= 2, `told ${times} times`);
      stopping.abort();
      await running;
    });
  }
});

function membersThatThrow(broken: "open" | "discard" | "sweep"): Members {
  const members = { open: () => [], discard: async () => false, sweep: async () => false };
  const throwing = (): never => {
    throw DAMAGED;
  };
  return { ...members, [broken]: throwing } as unknown as Members;
}
