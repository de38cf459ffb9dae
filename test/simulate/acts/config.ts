import { GB } from "../../../src/model/units.ts";
import type { Act } from "../acts.ts";
import type { Chance } from "../random.ts";
import { advanceUntil } from "../world/ask.ts";
import { beginStop, endStop } from "../world/clocks.ts";
import { configOf } from "../world/life.ts";
import {
  ALL_TYPES,
  DESTINATIONS,
  type DestinationName,
  type DestinationShape,
  type Shape,
  SOURCES,
} from "../world/shape.ts";
import { upset } from "../world/tracks.ts";
import { meet, type World, wrong } from "../world/world.ts";

type Change = {
  readonly destination?: DestinationName;
  readonly to?: Partial<DestinationShape>;
  readonly all?: Partial<Omit<Shape, "destinations">>;
};

/** The config is another one: of one destination, or of the daemon. */
export const reload: Act<Change> = {
  choose(chance) {
    if (chance.happens(0.15)) return { all: chooseForAll(chance) };
    return { destination: chance.pick(DESTINATIONS), to: chooseFor(chance) };
  },
  run: (world, change) => changeTo(world, apply(world.shape, change)),
};

function chooseFor(chance: Chance): Partial<DestinationShape> {
  const version = (): number => 1 + chance.below(4);
  return chance.pick<() => Partial<DestinationShape>>([
    () => ({ listed: false }),
    () => ({ enabled: false }),
    () => ({ listed: true, enabled: true }),
    () => ({ listed: true, enabled: true }),
    () => ({ webhooks: chance.pick([[1], [2], [1, 2], [2, 1, 3], [3, 1]]) }),
    () => ({ webhooks: chance.pick([[1], [2], [1, 2], [2, 1, 3], [3, 1]]) }),
    () => ({ secrets: chance.pick([[], [version()], [version(), 9]]) }),
    () => ({ header: version() }),
    () => ({ sources: chance.pick([null, [chance.pick(SOURCES)]]) }),
    () => ({ types: chance.pick([null, ALL_TYPES.filter(() => chance.happens(0.7))]) }),
    () => ({ historical: chance.pick(["accept", "skip"]) }),
  ])();
}

function chooseForAll(chance: Chance): Partial<Omit<Shape, "destinations">> {
  return chance.pick([
    { concurrency: chance.pick([1, 2, 64]) },
    { maxSize: chance.pick([GB, 450_000]) },
    { freeDisk: 1e9 },
  ]);
}

function apply(shape: Shape, { destination, to, all }: Change): Shape {
  const { destinations } = shape;
  if (!destination) return { ...shape, ...all };
  return { ...shape, destinations: { ...destinations, [destination]: { ...destinations[destination], ...to } } };
}

/** Works by another config from now on. */
export async function changeTo(world: World, next: Shape): Promise<void> {
  const { life } = world;
  const at = life.clock.now();
  world.nextShape = next;
  for (const name of DESTINATIONS) {
    if (!isServed(next, name)) beginStop(world, name, { why: "unserved", from: at });
  }
  const applied = life.app.reload(configOf(world, next, life.path)).catch((error: unknown) => {
    wrong(world, `a config could not be applied: ${String(error)}`);
  });
  if (!(await advanceUntil(world, applied))) wrong(world, "a reload does not end");
  // A process that dies is followed by one that reads the new file.
  world.shape = next;
  world.nextShape = null;
  upset(world.turns, life.clock.now());
  for (const name of DESTINATIONS) if (isServed(next, name)) endStop(world, name, "unserved");
  meet(world, "reloads");
  await life.clock.rest();
}

export function isServed({ destinations }: Shape, name: DestinationName): boolean {
  return destinations[name].listed && destinations[name].enabled;
}
