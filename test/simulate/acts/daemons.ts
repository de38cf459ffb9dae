import { HOUR, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import type { Chance } from "../random.ts";
import { advance } from "../world/ask.ts";
import { ALL_MANNERS, type Manner } from "../world/network.ts";
import { DESTINATIONS, type DestinationName } from "../world/shape.ts";
import type { Life, Trouble, World } from "../world/world.ts";
import { receiver } from "./calm.ts";
import { wall } from "./trouble.ts";

/** What is different, or happens only, where several daemons share an outbox. */

/** After so many moments of what happens next, or from the next answer of a receiver on; at once with 0. */
type Strike = { readonly after: number; readonly from?: "answer" };

function chooseStrike(chance: Chance): Strike {
  return chance.happens(0.5) ? { after: 1 + chance.below(8), from: "answer" } : { after: chance.pick([0, 5, 40, 200]) };
}

/** Shorter than another daemon takes a stream after, and longer. */
const LASTING: readonly Ms[] = [3, 7, 8, 9, 10, 20].map((seconds) => seconds * SECOND);

/** A daemon is kept from running, and runs again. */
export const suspend: Act<Strike & { ms: Ms }> = {
  choose: (chance) => ({ ...chooseStrike(chance), ms: chance.pick(LASTING) }),
  run: (world, { ms, ...when }) => strikeWhen(world, when, ({ suspend }, life) => suspend(world, life, ms)),
};

/** Its connections are lost, and there are no others for a while. */
export const cutOff: Act<Strike & { ms: Ms }> = {
  choose: (chance) => ({ ...chooseStrike(chance), ms: chance.pick([0, ...LASTING]) }),
  run: (world, { ms, ...when }) => strikeWhen(world, when, ({ cutOff }, life) => cutOff(world, life, ms)),
};

/** The answer to its next commit is lost. */
export const loseAnswer: Act<Strike> = {
  choose: chooseStrike,
  run: (world, when) => strikeWhen(world, when, ({ loseAnswer }, life) => loseAnswer(world, life)),
};

/** What an operator asks for is answered before anything happens: whether it was done is known. */
const MAY_BE_STRUCK = new Set(["call", "batch", "rush", "again", "wait", "suspend", "cutOff", "loseAnswer"]);

async function strikeWhen(
  world: World,
  { after, from }: Strike,
  strike: (trouble: Trouble, life: Life) => void,
): Promise<void> {
  const { engine, life } = world;
  const { trouble } = engine;
  if (trouble === null) return;
  if (after === 0) strike(trouble, life);
  else world.doom = { nth: life.nth, moments: after, from, strike: struck };
  await life.clock.rest();

  function struck(one: Life): void {
    if (MAY_BE_STRUCK.has(world.doing)) strike(trouble as Trouble, one);
    else world.doom = { nth: one.nth, moments: 1, strike: struck };
  }
}

/** Time goes by, and all daemons beat. */
export const wait: Act<{ ms: Ms }> = {
  choose: (chance) => ({ ms: 1 + chance.below(chance.pick([100, SECOND, 5 * SECOND, 12 * SECOND, 12 * SECOND])) }),
  run: (world, { ms }) => advance(world, ms),
};

/** The clock of its machine is wrong from here on, by an hour more or less. */
export const skew: Act<{ by: Ms }> = {
  choose: (chance) => ({ by: chance.pick([-1, 1]) * HOUR }),
  run: wall.run,
};

/** When a daemon hears that a receiver wants silence, or that another one is offline, is not known here. */
const NOT_HERE: readonly Manner[] = ["offline", "wants_silence", "wants_long_silence"];
const SLOW: readonly Manner[] = ["slow", "edge", "slow_failure"];

/** Receivers of a destination change their manners. */
export const trouble: Act<{ destination: DestinationName; webhook: number; does: Manner }> = {
  choose: (chance) => ({
    destination: chance.pick(DESTINATIONS),
    webhook: chance.pick([0, 0, 1, 2]),
    does: chance.pick(chance.happens(0.5) ? SLOW : ALL_MANNERS.filter((one) => !NOT_HERE.includes(one))),
  }),
  run: receiver.run,
};
