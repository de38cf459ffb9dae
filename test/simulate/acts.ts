import { again, batch, call, rush } from "./acts/calls.ts";
import { calm, heal, receiver } from "./acts/calm.ts";
import { reload } from "./acts/config.ts";
import { cutOff, loseAnswer, skew, suspend, trouble, wait } from "./acts/daemons.ts";
import { discard, move, pause, replay, resume, retry, retryAll } from "./acts/operator.ts";
import { crash, disk, found, pass, reboot, right, space, stop, vanish, wall } from "./acts/trouble.ts";
import { audience, deletion, lift, members, removal } from "./acts/users.ts";
import type { Chance } from "./random.ts";
import type { World } from "./world/world.ts";

/** One kind of thing that can happen. */
export type Act<P> = {
  /** Decides what is left to chance about it. `nth`: the number of the step, from 0. */
  choose(chance: Chance, nth: number): P;
  /** Does it. Resolves when all that it sets off at once has come to rest. */
  run(world: World, with_: P): Promise<void>;
};

/** All that can happen. A new act has its place in acts/, a line here, and a weight in plan.ts. */
const ALL = {
  call,
  batch,
  rush,
  again,
  receiver,
  heal,
  pass,
  wall,
  right,
  reboot,
  reload,
  pause,
  resume,
  move,
  discard,
  replay,
  retry,
  retryAll,
  delete: deletion,
  lift,
  audience,
  members,
  removal,
  crash,
  stop,
  disk,
  space,
  vanish,
  found,
  calm,
  suspend,
  cutOff,
  loseAnswer,
  wait,
  skew,
  trouble,
};

export type ActName = keyof typeof ALL;

/** What an act is run with was made by itself, or read from a trace. */
// biome-ignore lint/suspicious/noExplicitAny: each act knows its own.
export const ACTS: Readonly<Record<ActName, Act<any>>> = ALL;
