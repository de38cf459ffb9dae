import { createFalseClock } from "../flow/clock.ts";
import { ACTS } from "./acts.ts";
import type { Fault } from "./faults.ts";
import { look } from "./look.ts";
import type { Plan, Step } from "./plan.ts";
import { createChance } from "./random.ts";
import { createLedger, isStoredAt } from "./world/calls.ts";
import { isStopped } from "./world/clocks.ts";
import { NO_ROWS, type Row, type Rows } from "./world/rows.ts";
import { headerOf, type Shape } from "./world/shape.ts";
import { createTracks, createTurns, type Track } from "./world/tracks.ts";
import { type Engine, type Life, type World, wrong } from "./world/world.ts";

/** How a run has ended. `failedAt`: the number of the step after which something was wrong; null if nothing was. */
export type Verdict = {
  readonly failedAt: number | null;
  readonly wrong: readonly string[];
  readonly met: ReadonlyMap<string, number>;
};

/** What each run ends with: all is well, for a long time. */
export const LAST: Step = { act: "calm", with: { all: true } };

export type RunOptions = {
  /** Called after each step. */
  readonly watching?: (world: World, step: Step) => void;
  /** What every process of the run does wrong. */
  readonly fault?: Fault | null;
};

/** Runs a plan in a world of its own. The same plan always ends in the same way. */
export async function runPlan(
  plan: Plan,
  engine: Engine,
  { watching = () => {}, fault = null }: RunOptions = {},
): Promise<Verdict> {
  const world = createWorld(plan, { engine, fault });
  try {
    await engine.begin(world, plan.daemons);
    for (const [nth, step] of [...plan.steps, LAST].entries()) {
      await runStep(world, step, nth);
      watching(world, step);
      if (world.wrong.length > 0) return { failedAt: nth, wrong: [...world.wrong], met: world.met };
    }
    return { failedAt: null, wrong: [], met: world.met };
  } finally {
    await engine.end(world);
  }
}

async function runStep(world: World, { act, with: given }: Step, nth: number): Promise<void> {
  const stepAt = world.life.clock.now();
  Object.assign(world, { step: nth, stepAt, doing: act, replaying: false, replayed: 0 });
  Object.assign(world, { moving: null, discarding: null, ended: 0 });
  world.refused = world.vanished === null ? 0 : 1;
  world.told.length = 0;
  try {
    const { on = 0, ...own } = given;
    if (world.engine.turnTo(world, Number(on), act)) await ACTS[act].run(world, own);
    await world.engine.revive(world);
    if (world.wrong.length === 0) await look(world);
  } catch (error) {
    wrong(world, `${act}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}

function createWorld({ seed, shape }: Plan, { engine, fault }: Pick<World, "engine" | "fault">): World {
  const world: World = {
    chance: createChance(seed ^ 0x5eed),
    engine,
    fault,
    shape,
    nextShape: null,
    ledger: createLedger(),
    tracks: createTracks({
      cutoff: () => world.shape.cutoff,
      webhooks: (name) => Math.max(...shapesOf(world).map((one) => one.destinations[name as "crm"].webhooks.length)),
      versionOf: (name) => versionOf(world, name),
      mayReplay: (track) => mayBeReplayed(world, track) || isMovedTo(world, track),
      step: () => world.step,
      isStopped: (name) => isStopped(world, name),
      rowOf: (track, among, rows) => findRow(world, track, { among, rows }),
    }),
    turns: createTurns(),
    life: NOBODY,
    lives: [],
    nextPath: null,
    reading: false,
    rows: NO_ROWS,
    manners: new Map(),
    refusing: null,
    refused: 0,
    vanished: null,
    free: 1e12,
    doom: null,
    disturbedAt: Number.NEGATIVE_INFINITY,
    onceHeard: [],
    down: 0,
    boots: null,
    clockError: 0,
    noted: { ahead: 0, error: 0 },
    stops: [],
    onlineAt: new Map(),
    troubled: new Set(),
    replaying: false,
    replayed: 0,
    moving: null,
    discarding: null,
    paused: new Set(),
    ended: 0,
    forgetful: false,
    deleted: new Set(),
    erasable: new Set(),
    maybeSuppressed: new Set(),
    suppressed: new Set(),
    told: [],
    answers: [],
    step: 0,
    stepAt: 0,
    doing: "",
    wrong: [],
    met: new Map(),
  };
  return world;
}

/** While the config is changed, either may count. */
function shapesOf({ shape, nextShape }: World): readonly Shape[] {
  return nextShape ? [shape, nextShape] : [shape];
}

function versionOf({ shape }: World, name: string): string {
  const { secrets } = shape.destinations[name as "crm"];
  return JSON.stringify([secrets, headerOf(name, shape.destinations[name as "crm"])]);
}

/** Who was there before the first process. */
const NOBODY: Life = {
  number: 0,
  nth: 0,
  clock: createFalseClock(),
  path: "",
  startedAt: 0,
  leastError: 0,
  unwritten: false,
  app: null as never,
  dead: true,
  started: false,
  frozen: null,
  cutOff: false,
  doubtfulUntil: 0,
  backlog: null,
  store: null,
  ask: () => new Promise(() => {}),
};

type Moved = Pick<Track, "id" | "destination" | "body">;

/** All of them, or the one that was named. */
function mayBeReplayed({ replaying }: World, { id, destination }: Pick<Track, "id" | "destination">): boolean {
  if (typeof replaying === "boolean") return replaying;
  return replaying.messageId === id && replaying.destination === destination;
}

/** To a destination of which is not known any more that it had this. */
function isMovedTo({ moving, rows, ledger }: World, { id, destination, body }: Moved): boolean {
  if (moving?.to !== destination) return false;
  // Two sources may use the same messageId.
  const event = ledger.byBody(body)?.event ?? null;
  const isIt = (row: Row): boolean => (event === null ? row.messageId === id : row.event === event);
  return ![...rows.deliveries.values()].some((row) => isIt(row) && row.destination === destination);
}

type Among = { readonly among: readonly Row[]; readonly rows: Rows };

/** Two sources may use the same messageId, and one source after a day. */
function findRow({ ledger }: World, { body }: Pick<Track, "body">, { among, rows }: Among): Row | undefined {
  const entry = ledger.byBody(body);
  if (!entry) return among[0];
  return among.find(({ event, source }) => {
    if (entry.event !== null) return event === entry.event;
    return source === entry.source && isStoredAt(entry, rows.events.get(event)?.acceptedAt ?? 0);
  });
}
