import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { doubtOf } from "../../src/model/timeline.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/model/units.ts";
import { type Memory, resume } from "../../src/store/timeline.ts";

const BUILT = Date.UTC(2026, 0, 1);
const NOW = Date.UTC(2026, 10, 20);
const BOOT = { id: 1, uptime: 5 * HOUR };
/** Of a store that has gone by the machine's clock all along. */
const MEMORY: Memory = { at: NOW, shift: 0, trusted: { at: NOW, wall: NOW }, boot: BOOT };

describe("the line of a store, after a time in which nobody has measured it", () => {
  const after = (wall: number, { boot = null, ...memory }: Partial<Memory> = {}) => {
    const { at, shift, down } = resume({ ...MEMORY, ...memory }, { wall, boot, builtAt: BUILT });
    return { at: at - NOW, shift, down };
  };

  it("goes on by what the clock says, if that can be believed, and keeps its shift", () => {
    assert.deepEqual(after(NOW + 3 * DAY), { at: 3 * DAY, shift: 0, down: 3 * DAY });
    const shifted = { shift: -HOUR, trusted: { at: NOW, wall: NOW - HOUR } };
    assert.deepEqual(after(NOW + HOUR, shifted), { at: 2 * HOUR, shift: -HOUR, down: 2 * HOUR });
    // A little back is nothing special.
    assert.equal(after(NOW - 30 * SECOND).at, 0);
  });

  it("stays where it is if the clock cannot be believed, or could not be when it was last looked at", () => {
    for (const wall of [0, NOW - HOUR, NOW + 31 * DAY, NOW + 76 * 365 * DAY]) {
      assert.deepEqual(after(wall), { at: 0, shift: wall - NOW, down: null });
    }
    const doubted = { shift: 28_000 * DAY, trusted: { at: NOW - HOUR, wall: NOW - HOUR } };
    assert.deepEqual(after(NOW + HOUR, doubted), { at: 0, shift: HOUR, down: null });
    assert.equal(after(NOW + HOUR, { trusted: null }).down, null);
    // It was stepped, and the store written, in the very millisecond in which it could be believed last.
    assert.equal(after(NOW + HOUR, { shift: -400 * DAY }).down, null);
  });

  it("goes on by the uptime of a machine that has run on, whatever its clock says", () => {
    const boot = { id: 1, uptime: 5 * HOUR + MINUTE };
    for (const wall of [0, NOW + 5 * HOUR, NOW + 28_000 * DAY]) {
      assert.equal(resume(MEMORY, { wall, boot, builtAt: BUILT }).at, NOW + MINUTE);
    }
    // The clock knows it to the millisecond.
    assert.equal(resume(MEMORY, { wall: NOW + MINUTE + 7, boot, builtAt: BUILT }).at, NOW + MINUTE + 7);
  });

  it("goes by the clock when the machine was started again, or says less than before", () => {
    for (const boot of [
      { id: 2, uptime: 6 * HOUR },
      { id: 1, uptime: HOUR },
    ]) {
      assert.equal(resume(MEMORY, { wall: NOW + 3 * HOUR, boot, builtAt: BUILT }).at, NOW + 3 * HOUR);
    }
  });

  it("begins where the clock is, and not before the build", () => {
    assert.deepEqual(resume(null, { wall: NOW, boot: null, builtAt: BUILT }).at, NOW);
    const { at, shift } = resume(null, { wall: 0, boot: null, builtAt: BUILT });
    assert.deepEqual([at, shift], [BUILT, -BUILT]);
  });
});

describe("a machine's clock", () => {
  const doubt = (wall: number, now = NOW) => doubtOf(wall, { now, trusted: MEMORY.trusted, builtAt: BUILT });

  it("cannot be right before the build, behind the store, or far ahead of either", () => {
    assert.deepEqual([doubt(NOW), doubt(NOW - MINUTE), doubt(NOW + 30 * DAY)], [null, null, null]);
    assert.equal(doubt(BUILT - DAY - 1), "before_build");
    assert.equal(doubt(NOW - MINUTE - 1), "behind");
    assert.equal(doubt(NOW + 30 * DAY + 1), "ahead");
  });

  it("is believed against the store after a day, and never against the build", () => {
    const tomorrow = NOW + DAY;
    assert.deepEqual([doubt(NOW - HOUR, tomorrow), doubt(NOW + 400 * DAY, tomorrow)], [null, null]);
    assert.deepEqual([doubt(0, tomorrow), doubt(NOW + 28_000 * DAY, tomorrow)], ["before_build", "ahead"]);
  });
});
