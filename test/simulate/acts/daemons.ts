import { HOUR, type Ms, SECOND } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import { advance } from "../world/ask.ts";
import { ALL_MANNERS, type Manner } from "../world/network.ts";
import { DESTINATIONS, type DestinationName } from "../world/shape.ts";
import type { Life, Trouble, World } from "../world/world.ts";
import { receiver } from "./calm.ts";
import { wall } from "./trouble.ts";

/** What is different, or happens only, where several daemons share an outbox. */

/** After so many moments of what happens next, or at once with 0. */
type Strike = { readonly after: number };
const AFTER = [0, 0, 5, 40, 200] as const;

/** Shorter than another daemon takes a stream after, and longer. */
const LASTING: readonly Ms[] = [3 * SECOND, 9 * SECOND, 9 * SECOND, 25 * SECOND];

/** A daemon is kept from running, and runs again. */
export const suspend: Act<Strike & { ms: Ms }> = {
  choose: (chance) => ({ after: chance.pick(AFTER), ms: chance.pick(LASTING) }),
  run: (world, { after, ms }) => strikeAfter(world, after, ({ suspend }, life) => suspend(world, life, ms)),
};

/** Its connections are lost, and there are no others for a while. */
export const cutOff: Act<Strike & { ms: Ms }> = {
  choose: (chance) => ({ after: chance.pick(AFTER), ms: chance.pick([0, ...LASTING]) }),
  run: (world, { after, ms }) => strikeAfter(world, after, ({ cutOff }, life) => cutOff(world, life, ms)),
};

/** The answer to its next commit is lost. */
export const loseAnswer: Act<Strike> = {
  choose: (chance) => ({ after: chance.pick(AFTER) }),
  run: (world, { after }) => strikeAfter(world, after, ({ loseAnswer }, life) => loseAnswer(world, life)),
};

/** What an operator asks for is answered before anything happens: whether it was done is known. */
const MAY_BE_STRUCK = new Set(["call", "batch", "rush", "again", "wait", "suspend", "cutOff", "loseAnswer"]);

async function strikeAfter(
  world: World,
  after: number,
  strike: (trouble: Trouble, life: Life) => void,
): Promise<void> {
  const { engine, life } = world;
  const { trouble } = engine;
  if (trouble === null) return;
  if (after === 0) strike(trouble, life);
  else world.doom = { nth: life.nth, moments: after, strike: struck };
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

/** Those that ask a daemon to wait would be known to that one, and the clock of a destination is stopped by one for all. */
const NOT_HERE: readonly Manner[] = ["offline", "wants_silence", "wants_long_silence"];

/** Receivers of a destination change their manners. */
export const trouble: Act<{ destination: DestinationName; webhook: number; does: Manner }> = {
  choose: (chance) => ({
    destination: chance.pick(DESTINATIONS),
    webhook: chance.pick([0, 0, 1, 2]),
    does: chance.pick(ALL_MANNERS.filter((one) => !NOT_HERE.includes(one))),
  }),
  run: receiver.run,
};
