import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { logPaused } from "../../src/deliver/deliver.ts";
import { MINUTE } from "../../src/model/units.ts";
import { createFalseClock, START } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";

describe("a config that was just read", () => {
  it("has told which of its destinations are paused, since when by the wall clock, and what waits", () => {
    const told: unknown[] = [];
    const clock = createFalseClock();
    clock.setWall(START + 5 * MINUTE);
    const waiting = new Map([["crm", 2]]);
    const since = (name: string) => (name === "lake" ? null : START - MINUTE);
    const destinations = [
      makeDestination(),
      makeDestination({ name: "lake" }),
      makeDestination({ name: "idle" }),
      makeDestination({ name: "off", enabled: false }),
    ];
    logPaused(destinations, {
      ...{ clock, pauses: { since }, waiting },
      report: { stillPaused: (...what) => void told.push(what) },
    });
    const at = START + 4 * MINUTE;
    assert.deepEqual(told, [
      ["crm", { since: at, waiting: 2 }],
      ["idle", { since: at, waiting: 0 }],
    ]);
  });
});
