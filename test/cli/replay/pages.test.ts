import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { goThrough, type PagesWorld } from "../../../src/cli/replay/pages.ts";
import type { SaidPage } from "../../../src/cli/replay/said.ts";
import { createFalseClock } from "../../flow/clock.ts";

const NEVER = new AbortController().signal;
const NONE: SaidPage = {
  replayed: 0,
  destinations: {},
  left: 0,
  deleted: 0,
  superseded: 0,
  oldest: null,
  newest: null,
  cursor: null,
};

/** So many are wanted. Answers when each page was asked for, in milliseconds, and for how many. */
function start(wanted: number, options: Partial<PagesWorld> = {}) {
  const clock = createFalseClock();
  const began = clock.now();
  const asked: (readonly [at: number, limit: number])[] = [];
  let done = 0;
  const ask: PagesWorld["ask"] = async ({ limit }) => {
    asked.push([clock.now() - began, limit]);
    const replayed = Math.min(limit, wanted - done);
    done += replayed;
    return { ...NONE, replayed, destinations: { crm: replayed }, cursor: done < wanted ? String(done) : null };
  };
  const result = goThrough({ ask, rate: null, took: () => {}, interrupted: NEVER, clock, ...options });
  return { asked, clock, result };
}

describe("the pages of a replay", () => {
  it("follow each other as fast as they are done, unless there is a rate", async () => {
    const { asked, clock, result } = start(1_200);
    await clock.rest();
    assert.deepEqual(
      asked,
      [500, 500, 500].map((limit) => [0, limit]),
    );
    assert.deepEqual(await result, { total: { ...total(1_200) }, ended: "done" });
  });

  it("wait until so many a second are due", async () => {
    const { asked, clock, result } = start(250, { rate: 100 });
    await clock.rest();
    await clock.advance("10s");
    assert.deepEqual(asked, [
      [0, 100],
      [1_000, 100],
      [2_000, 100],
    ]);
    assert.equal((await result).ended, "done");
  });

  it("have one delivery each at a rate below one a second", async () => {
    const { asked, clock } = start(3, { rate: 0.5 });
    await clock.rest();
    await clock.advance("1m");
    assert.deepEqual(
      asked,
      [0, 2_000, 4_000].map((at) => [at, 1]),
    );
  });

  it("end with the one under way when they are interrupted, also in the middle of a wait", async () => {
    const interrupting = new AbortController();
    const { asked, clock, result } = start(1_000, { rate: 10, interrupted: interrupting.signal });
    await clock.rest();
    interrupting.abort();
    assert.deepEqual(await result, { total: total(10), ended: "interrupted" });
    assert.equal(asked.length, 1);
  });

  it("add up to the oldest and the newest of all", async () => {
    const pages: SaidPage[] = [
      { ...NONE, replayed: 1, destinations: { crm: 1 }, oldest: "2026-01-02", newest: "2026-01-03", cursor: "a" },
      { ...NONE, left: 2, deleted: 1, cursor: "b" },
      { ...NONE, replayed: 2, destinations: { crm: 1, lake: 1 }, oldest: "2026-01-01", newest: "2026-01-02" },
    ];
    const { result } = start(0, { ask: async () => pages.shift() ?? assert.fail() });
    const { total } = await result;
    assert.deepEqual(total, {
      ...{
        replayed: 3,
        destinations: { crm: 2, lake: 1 },
        left: 2,
        deleted: 1,
        superseded: 0,
        oldest: "2026-01-01",
        newest: "2026-01-03",
      },
    });
  });

  it("end with what the daemon has against them", async () => {
    const refusal = { code: 1, message: "it is full" } as const;
    const pages = [{ ...NONE, replayed: 5, destinations: { crm: 5 }, cursor: "a" }, refusal];
    const { result } = start(0, { ask: async () => pages.shift() ?? assert.fail() });
    assert.deepEqual(await result, { total: total(5), ended: refusal });
  });
});

function total(replayed: number) {
  return { replayed, destinations: { crm: replayed }, left: 0, deleted: 0, superseded: 0, oldest: null, newest: null };
}
