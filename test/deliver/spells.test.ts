import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { addSpell, MOST_SPELLS, timeIn } from "../../src/deliver/spells.ts";
import type { Spell } from "../../src/model/pause.ts";

const spell = (from: number, until: number): Spell => ({ from, until });

const anySpell = fc
  .tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 20 }))
  .map(([from, length]) => spell(from, from + length));

/** Moment by moment. */
function count(spells: readonly Spell[], at: number, now: number): number {
  const moments = Array.from({ length: Math.max(0, now - at) }, (_, n) => at + n);
  return moments.filter((moment) => spells.some(({ from, until }) => from <= moment && moment < until)).length;
}

describe("the time in spells", () => {
  it("is counted once where they overlap, and only from the moment asked about until now", () => {
    const spells = [spell(100, 200), spell(150, 300), spell(120, 130), spell(400, 500)];
    assert.equal(timeIn(spells, { at: 0, now: 1_000 }), 300);
    assert.equal(timeIn(spells, { at: 250, now: 450 }), 100);
    assert.equal(timeIn(spells, { at: 500, now: 600 }), 0);
    assert.equal(timeIn([], { at: 0, now: 1_000 }), 0);
  });

  it("is what one counts moment by moment, whatever they are", () => {
    fc.assert(
      fc.property(fc.array(anySpell), fc.nat(80), fc.nat(80), (spells, at, length) => {
        assert.equal(timeIn(spells, { at, now: at + length }), count(spells, at, at + length));
      }),
    );
  });
});

describe("spells that are over", () => {
  it("become one where they touch, and say the same as they did apart", () => {
    fc.assert(
      fc.property(fc.array(anySpell), fc.nat(80), (spells, at) => {
        const kept = spells.reduce<readonly Spell[]>(addSpell, []);
        assert.equal(timeIn(kept, { at, now: 100 }), timeIn(spells, { at, now: 100 }));
        for (const [index, { from }] of kept.entries()) assert.ok(index === 0 || from > (kept[index - 1]?.until ?? 0));
      }),
    );
  });

  it("are bounded: the two that are nearest to each other become one, and no time is lost", () => {
    const many = Array.from({ length: MOST_SPELLS }, (_, n) => spell(n * 100, n * 100 + 10));
    const near = spell(4_015, 4_025);
    const kept = addSpell(many, near);
    assert.equal(kept.length, MOST_SPELLS);
    assert.deepEqual(kept.slice(39, 42), [spell(3_900, 3_910), spell(4_005, 4_025), spell(4_100, 4_110)]);
    const all = { now: 100_000, at: 0 };
    assert.equal(timeIn(kept, all), timeIn([...many, near], all));
    for (let at = 0; at < 10_000; at += 1) {
      const given = timeIn(kept, { at, now: 100_000 }) - timeIn([...many, near], { at, now: 100_000 });
      assert.ok(given >= 0 && given <= 5, `${given} from ${at}`);
    }
  });
});
