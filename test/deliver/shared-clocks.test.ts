import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Clocks, createClocks } from "../../src/deliver/clocks.ts";
import { neverStopped, type StoredClock } from "../../src/model/destination-clock.ts";
import { type At, type Ms, SECOND } from "../../src/model/units.ts";
import { mergeClocks } from "../../src/store/clock-merge.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";
import { makeDestination } from "../flow/make.ts";
import { SLOW } from "../slow.ts";

const CRM = makeDestination();
const DAEMONS = 3;

type Daemon = {
  readonly clocks: Clocks;
  /** Hears what the others have saved. */
  hear(): boolean;
};

/** Daemons on one store that hears of each other's saves late. */
function startDaemons(clock: FalseClock): readonly Daemon[] {
  let stored: StoredClock = neverStopped("crm");
  let version = 0;
  const none = { stopping: new AbortController().signal, storedClocks: [], onPauseChange: () => {} };

  return Array.from({ length: DAEMONS }, () => {
    let base = stored;
    let seen = 0;
    const clocks = createClocks({ clock, ...none, clockStore: { save, refresh } });

    async function save([mine = neverStopped("crm")]: readonly StoredClock[]): Promise<null> {
      const from = base;
      await clock.nextTurn();
      stored = mergeClocks({ base: from, mine, theirs: stored }, clock.now());
      base = stored;
      const isOther = JSON.stringify(stored) !== JSON.stringify(mine);
      // It need not hear of itself.
      if (seen === version) seen += 1;
      version += 1;
      if (isOther) clocks.hear([stored]);
      return null;
    }

    async function refresh(): Promise<null> {
      await clock.nextTurn();
      hear();
      return null;
    }

    function hear(): boolean {
      if (seen === version) return false;
      seen = version;
      base = stored;
      clocks.hear([stored]);
      return true;
    }

    return { clocks, hear };
  });
}

async function hearAll(daemons: readonly Daemon[], clock: FalseClock): Promise<void> {
  for (let rounds = 0; rounds < 100; rounds += 1) {
    const isNew = daemons.map(({ hear }) => hear()).includes(true);
    await clock.rest();
    if (!isNew) return;
  }
  assert.fail("the daemons do not come to an end");
}

type Step = {
  readonly daemon: number;
  readonly what: "pause" | "resume" | "offline" | "online" | "unserve" | "serve";
  readonly hears: readonly number[];
  readonly seconds: number;
};

const anyStep: fc.Arbitrary<Step> = fc.record({
  daemon: fc.nat(DAEMONS - 1),
  what: fc.constantFrom("pause", "resume", "offline", "online", "unserve", "serve"),
  hears: fc.subarray([0, 1, 2]),
  seconds: fc.integer({ min: 1, max: 3_600 }),
});

/** For how long a daemon could not deliver: its destination was paused, as it knew, or it had a reason of its own. */
class Standstill {
  readonly reasons = new Set<string>();
  total: Ms = 0;
  pass(time: Ms, isPaused: boolean): void {
    if (isPaused || this.reasons.size > 0) this.total += time;
  }
}

describe("the clock of a destination that several daemons share", () => {
  it("is paused for all of them after a pause, whatever else they change at once", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep), fc.array(anyStep), fc.nat(DAEMONS - 1), async (before, after, daemon) => {
        const clock = createFalseClock();
        const daemons = startDaemons(clock);
        const pause: Step = { daemon, what: "pause", hears: [], seconds: 1 };
        const rest = after.filter(({ what }) => what !== "resume");
        for (const step of [...before, pause, ...rest]) await take(step, daemons, clock);
        await hearAll(daemons, clock);
        const since = daemons.map(({ clocks }) => clocks.pauses.since("crm"));
        assert.ok(since[0] !== null && new Set(since).size === 1, String(since));
      }),
      { numRuns: 300 },
    );
  });

  it("has stood still for at least as long as any of them could not deliver, whoever gives up", SLOW, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 25 }), fc.nat(DAEMONS - 1), async (steps, heir) => {
        const clock = createFalseClock();
        const daemons = startDaemons(clock);
        const stood = daemons.map(() => new Standstill());
        for (const { clocks } of daemons) clocks.setDestinations([CRM], new Map([["crm", 1]]));
        const first: { readonly before: Ms; readonly total: Ms; readonly by: number }[] = [];
        for (const step of steps) {
          const { daemon, what, seconds } = step;
          note(stood[daemon]?.reasons ?? new Set(), what);
          await take(step, daemons, clock);
          for (const [n, { clocks }] of daemons.entries()) {
            stood[n]?.pass(seconds * SECOND, clocks.pauses.since("crm") !== null);
            const before = clocks.of("crm").stoodStill(clock.now());
            first.push({ before, total: stood[n]?.total ?? 0, by: n });
          }
        }
        await hearAll(daemons, clock);
        const now = daemons[heir]?.clocks.of("crm").stoodStill(clock.now()) ?? 0;
        for (const { before, total, by } of first) {
          const could = (stood[by]?.total ?? 0) - total;
          assert.ok(now - before >= could, `given up ${could - (now - before)} ms too early`);
        }
      }),
      { numRuns: 300 },
    );
  });
});

async function take(
  { daemon, what, hears, seconds }: Step,
  daemons: readonly Daemon[],
  clock: FalseClock,
): Promise<void> {
  const { clocks } = daemons[daemon] ?? assert.fail();
  await act(clocks, what, clock.now());
  await clock.rest();
  for (const one of hears) daemons[one]?.hear();
  await clock.rest();
  await clock.advance(`${seconds}s`);
}

async function act(clocks: Clocks, what: Step["what"], now: At): Promise<void> {
  const crm = clocks.of("crm");
  const waiting = new Map([["crm", 1]]);
  if (what === "pause") await clocks.pauses.pause("crm");
  if (what === "resume") await clocks.pauses.resume("crm");
  if (what === "online") crm.noteOnline(now);
  if (what === "offline") {
    crm.noteOnline(now);
    crm.noteOffline();
  }
  if (what === "serve") clocks.setDestinations([CRM], waiting);
  if (what === "unserve") clocks.setDestinations([], waiting);
}

function note(reasons: Set<string>, what: Step["what"]): void {
  if (what === "offline" || what === "unserve") reasons.add(what);
  if (what === "online") reasons.delete("offline");
  if (what === "serve") reasons.delete("unserve");
}
