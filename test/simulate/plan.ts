import { DAY, GB, HOUR, MINUTE } from "../../src/model/units.ts";
import { ACTS, type ActName } from "./acts.ts";
import { type Chance, createChance } from "./random.ts";
import type { Verdict } from "./run.ts";
import { CUTOFFS, DESTINATIONS, FIRST_SHAPE, type Shape } from "./world/shape.ts";

/** One thing that happens, with all that is left to chance about it decided. */
export type Step = { readonly act: ActName; readonly with: Readonly<Record<string, unknown>> };

/** A run, as far as it is known before it begins: the same plan is always the same run. */
export type Plan = {
  readonly seed: number;
  /** How many share the outbox. */
  readonly daemons: number;
  readonly shape: Shape;
  readonly steps: readonly Step[];
};

type Weights = Readonly<Partial<Record<ActName, number>>>;

/** How often each act comes, beside the others. */
export const WEIGHTS: Weights = {
  call: 26,
  batch: 10,
  rush: 6,
  again: 8,
  receiver: 22,
  heal: 3,
  pass: 30,
  reload: 10,
  pause: 4,
  resume: 4,
  replay: 6,
  retry: 4,
  retryAll: 2,
  move: 2,
  discard: 2,
  delete: 5,
  lift: 1,
  audience: 5,
  members: 3,
  removal: 1,
  wall: 3,
  right: 2,
  reboot: 3,
  crash: 8,
  stop: 3,
  disk: 4,
  space: 2,
  vanish: 2,
  found: 2,
  calm: 2,
};

/** Makes a plan of so many steps from a seed. */
export function makePlan(seed: number, length: number): Plan {
  const chance = createChance(seed);
  const shape = {
    ...FIRST_SHAPE,
    cutoff: chance.pick(CUTOFFS),
    keepDelivered: chance.pick([DAY, DAY, MINUTE, HOUR]),
    keepFailed: chance.pick([30 * DAY, 30 * DAY, 20 * MINUTE]),
    maxSize: chance.pick([GB, GB, GB, 450_000, 700_000]),
    concurrency: chance.pick([64, 64, 1, 3]),
    rate: seed % 4 === 3 ? 20 : 0,
    isOrdered: seed % 6 === 5,
    callRate: seed % 5 === 4 ? 10 : 0,
    maxWaiting: seed % 3 === 2 ? 40_000 : 0,
  };
  const steps = Array.from({ length }, (_, nth): Step => {
    const act = pickAct(chance, WEIGHTS);
    return { act, with: ACTS[act].choose(chance, nth) };
  });
  return { seed, daemons: 1, shape, steps };
}

/** The same where several daemons share the outbox. */
export const SHARED_WEIGHTS: Weights = {
  call: 20,
  batch: 12,
  rush: 10,
  again: 10,
  trouble: 10,
  heal: 4,
  wait: 24,
  pause: 4,
  resume: 4,
  replay: 5,
  retry: 4,
  retryAll: 2,
  delete: 4,
  lift: 1,
  skew: 5,
  crash: 6,
  stop: 4,
  suspend: 10,
  cutOff: 5,
  loseAnswer: 6,
  calm: 2,
};

/** Makes a plan for two or three daemons. Each step says which of them it is about. */
export function makeSharedPlan(seed: number, length: number): Plan {
  const chance = createChance(seed);
  const daemons = chance.pick([2, 3]);
  const shape = { ...FIRST_SHAPE, concurrency: chance.pick([64, 64, 4]) };
  // While a receiver thinks, much can happen to the daemon that waits for it.
  const slow = chance.happens(0.4) ? DESTINATIONS : [];
  const first = slow.map(
    (destination): Step => ({ act: "trouble", with: { on: 0, destination, webhook: 0, does: "slow" } }),
  );
  let on = 0;
  const others = Array.from({ length: length - first.length }, (_, nth): Step => {
    const act = pickAct(chance, SHARED_WEIGHTS);
    // Programs that have a connection stay with a daemon, and so do its troubles.
    on = chance.happens(0.5) ? on : chance.below(daemons);
    return { act, with: { on, ...(ACTS[act].choose(chance, nth + first.length) as object) } };
  });
  return { seed, daemons, shape, steps: [...first, ...others] };
}

/** Of all acts in a row, each as long as its weight: the one at a place that is left to chance. */
function pickAct(chance: Chance, weights: Weights): ActName {
  const total = Object.values(weights).reduce((sum, weight) => sum + weight, 0);
  const place = chance.fraction() * total;
  let end = 0;
  for (const [name, weight] of Object.entries(weights)) {
    end += weight;
    if (place < end) return name as ActName;
  }
  return "pass";
}

/** A plan as text: short enough to be read, and complete enough to be run again. */

/** One line for the plan, and one for each step: the name of the act, and what it is run with. */
export function writePlan({ seed, daemons, shape, steps }: Plan): string {
  const several = daemons > 1 ? { daemons } : {};
  const head = `plan ${JSON.stringify({ seed, ...several, ...differences(shape) })}`;
  return [head, ...steps.map(writeStep)].join("\n");
}

export function writeStep({ act, with: given }: Step): string {
  return Object.keys(given).length === 0 ? act : `${act} ${JSON.stringify(given)}`;
}

/** Reads what `writePlan` has written; other lines are passed over, so that a whole trace may be given. */
export function readPlan(text: string): Plan {
  let plan: Omit<Plan, "steps"> | null = null;
  const steps: Step[] = [];
  for (const line of text.split("\n")) {
    const [, word = "", json = "{}"] = /^\s*(?:\d+\.? )?(\w+)(?: (\{.*\}))?$/.exec(line) ?? [];
    if (word === "plan") {
      const { seed, daemons = 1, ...changed } = JSON.parse(json) as Partial<Shape> & { seed: number; daemons?: number };
      plan = { seed, daemons, shape: { ...FIRST_SHAPE, ...changed } };
    } else if (plan && Object.hasOwn(ACTS, word)) {
      steps.push({ act: word as ActName, with: JSON.parse(json) });
    }
  }
  if (!plan) throw new Error('there is no plan in this text: it begins with a line like `plan {"seed":1}`');
  return { ...plan, steps };
}

/** What a person needs to know of a run that has failed. */
export function writeTrace(plan: Plan, { failedAt, wrong }: Verdict): string {
  const after = failedAt === null || failedAt >= plan.steps.length ? "the calm at the end" : `step ${failedAt + 1}`;
  const lines = writePlan(plan).split("\n");
  const numbered = lines.map((line, nth) => (nth === 0 ? line : `${String(nth).padStart(3)} ${line}`));
  return [...numbered, `wrong after ${after}:`, ...wrong.slice(0, 5).map((one) => `  ${one}`)].join("\n");
}

function differences(shape: Shape): Readonly<Record<string, unknown>> {
  const entries = Object.entries(shape).filter(([key, value]) => value !== FIRST_SHAPE[key as keyof Shape]);
  return Object.fromEntries(entries);
}
