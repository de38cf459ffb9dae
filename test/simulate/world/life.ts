import { createApp } from "../../../src/app.ts";
import type { Config } from "../../../src/model/config.ts";
import type { Ports } from "../../../src/model/daemon.ts";
import type { FileMark } from "../../../src/model/disk.ts";
import type { Clock, Handle } from "../../../src/model/ports.ts";
import type { Report } from "../../../src/model/report.ts";
import { disk } from "../../../src/runtime/disk.ts";
import type { FalseClock } from "../../flow/clock.ts";
import { createPost } from "./network.ts";
import { type Shape, toConfig } from "./shape.ts";
import { forgetTurns, isBack, upset } from "./tracks.ts";
import { type Answer, type Life, type Vanished, type World, wrong } from "./world.ts";

/** What a dead process waits for. Each time another one: whatever waits for it is gone with it, and forgotten. */
export function never(): Promise<never> {
  return new Promise(() => {});
}

/** Things that are told with each request: only counted. */
const QUIET = new Set(["requestAnswered"]);

export type Birth = {
  readonly path: string;
  /** What the machine says of the time. */
  readonly clock: FalseClock;
  readonly number: number;
  readonly nth: number;
  /** Called when the store is open, before anything is done with it. */
  readonly opened: () => Promise<void>;
};

/** Another process on this outbox. It may die while it starts. Rejects if it refuses to start. */
export async function startLife(world: World, { path, clock, number, nth, opened }: Birth): Promise<Life> {
  const handles = new Map<number, Handle>();
  const answers: Answers = new Map();
  const config = configOf(world, world.shape, path);
  const ports = portsOf(world, { clock, handles, answers, opened, life: () => life });
  const life: Life = {
    number,
    nth,
    clock,
    path,
    startedAt: clock.now(),
    leastError: world.clockError,
    unwritten: false,
    dead: false,
    started: false,
    frozen: null,
    cutOff: false,
    doubtfulUntil: 0,
    backlog: null,
    store: null,
    app: createApp(config, world.fault?.ports?.(ports, config) ?? ports),
    async ask(port, request) {
      const handle = handles.get(port);
      if (!handle || life.dead) return never();
      const answering = Promise.resolve(handle(request, { address: "127.0.0.1", overSocket: false }));
      const running = runningAt(answers, port).add(answering);
      const response = await answering;
      const text = await response.text();
      running.delete(answering);
      moment(world, life);
      if (isHalted(life)) await runsAgain(life);
      return { status: response.status, json: parse(text) };
    },
  };
  world.life = life;
  world.lives[nth] = life;
  if (!world.engine.isShared) forgetTurns(world.turns, clock.now());
  world.engine.attach(world, life);
  let failure: unknown = null;
  life.app.start().then(
    () => {
      life.started = true;
    },
    (error: unknown) => {
      failure = error;
    },
  );
  await clock.rest();
  // The store has said where its time goes on.
  upset(world.turns, clock.now());
  life.startedAt = clock.now();
  if (failure !== null && !life.dead) throw failure;
  return life;
}

/** The config of this shape, as the daemon takes it. */
export function configOf({ fault }: World, shape: Shape, path: string): Config {
  const config = toConfig(shape, path);
  return fault?.config?.(config) ?? config;
}

/**
 * A process can die here: whatever it has begun ends in the middle, and another one finds what is in the outbox. `answer`: a
 * receiver has answered, and nobody knows it yet.
 */
export function moment(world: World, life: Life, what?: "answer"): void {
  const { doom, lives, reading } = world;
  if (isHalted(life) || doom === null || doom.nth !== life.nth || lives[life.nth] !== life || reading) return;
  if (doom.from === what) doom.from = undefined;
  if (doom.from) return;
  doom.moments -= 1;
  if (doom.moments > 0) return;
  world.doom = null;
  doom.strike(life);
}

/** The process of this daemon is killed, after so many moments of what happens next, or at once with 0. */
export function killAfter(world: World, moments: number): void {
  const { nth } = world.life;
  if (moments === 0) kill(world, world.life);
  else world.doom = { nth, moments, strike: (life) => kill(world, life) };
}

export function kill(world: World, life: Life): void {
  world.doom = null;
  life.dead = true;
  world.engine.killed(world, life);
  life.clock.kill();
  world.tracks.died(life);
}

/** Dead, or suspended. */
export function isHalted({ dead, frozen }: Life): boolean {
  return dead || frozen !== null;
}

/** What a process does goes on when it is not suspended any more; never, if it is dead. */
export async function runsAgain(life: Life): Promise<void> {
  while (isHalted(life)) await (life.dead ? never() : life.frozen?.promise);
}

/** The requests that are being answered at each port. */
type Answers = Map<number, Set<Promise<Response>>>;

function runningAt(answers: Answers, port: number): Set<Promise<Response>> {
  const running = answers.get(port) ?? new Set();
  answers.set(port, running);
  return running;
}

type Around = {
  readonly clock: FalseClock;
  readonly handles: Map<number, Handle>;
  readonly answers: Answers;
  readonly opened: () => Promise<void>;
  readonly life: () => Life;
};

function portsOf(world: World, around: Around): Ports {
  const { clock, handles, answers, opened, life } = around;
  const { chance } = world;
  const isDead = (): boolean => life().dead;
  return {
    clock: mortal(around, world),
    random: {
      fraction: () => chance.fraction(),
      hex: (bytes) => Array.from({ length: bytes }, () => chance.below(256).toString(16).padStart(2, "0")).join(""),
    },
    post: createPost(world, life),
    report: createReport(world, life),
    metrics: {
      text: async () => "",
      contentType: "text/plain",
      expose: ({ backlog }) => Object.assign(life(), { backlog }),
      watch() {},
      declare() {},
    },
    disk: {
      space: () => (isDead() ? never() : Promise.resolve({ free: world.free, total: 1e12 })),
      size: () => (isDead() ? never() : Promise.resolve(0)),
      // No byte of a log is changed here: test/store/sqlite/log-check.test.ts does that.
      read: () => (isDead() ? never() : Promise.resolve(new Uint8Array())),
      mark: (path) => markOf(path, path === life().path ? world.vanished : null),
      alias: () => null,
    },
    serve: async (listen, handle) => {
      const port = listen.kind === "tcp" ? listen.port : 0;
      handles.set(port, handle);
      return { address: `http://127.0.0.1:${port}`, async renew() {}, stop };

      /** As a real one: who is being answered gets the answer. */
      async function stop(): Promise<void> {
        handles.delete(port);
        await Promise.all(runningAt(answers, port));
      }
    },
    async openStore(options) {
      const store = await world.engine.openStore(world, life(), options);
      life().store = store;
      if (!isDead()) await opened();
      return store;
    },
    reload: async () => ({ kind: "refused", reason: "there is no file", problems: [] }),
    configText: async () => "",
    lastReload: () => ({ file: "config.yaml", readAt: clock.wall(), refused: null, needsRestart: [] }),
    version: "0.0.0",
    pid: 4711,
  };
}

/** A turn of the loop, and a timer, are moments at which the process can die. */
function mortal({ clock, life }: Around, world: World): Clock {
  return {
    ...clock,
    async nextTurn() {
      await clock.nextTurn();
      if (halts()) await runsAgain(life());
    },
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      if (halts()) await runsAgain(life());
    },
    after: (ms, run) => clock.after(ms, () => (halts() ? void runsAgain(life()).then(run) : run())),
  };

  function halts(): boolean {
    moment(world, life());
    return isHalted(life());
  }
}

/** Which file is at a path, as the machine says it. */
function markOf(path: string, vanished: Vanished | null): FileMark | null {
  const mark = disk.mark(path);
  if (mark === null || vanished === null) return mark;
  if (vanished === "removed") return null;
  return vanished === "replaced" ? { ...mark, identity: `not ${mark.identity}` } : { ...mark, size: 0 };
}

function createReport(world: World, life: () => Life): Report {
  return new Proxy({} as Report, {
    get: (_, what: string) => {
      return (...args: unknown[]) => {
        const { dead, clock, number } = life();
        if (dead || QUIET.has(what)) return;
        if (what === "unexpected") wrong(world, `something that should be impossible: ${describe(args)}`);
        if (what.startsWith("lane") && isBack(world.turns, { url: String(args[1]), life: number }, what))
          world.tracks.reopenedAt.set(String(args[0]), clock.now());
        if (what === "laneOpened") world.tracks.silentUntil.delete(String(args[1]));
        world.told.push({ what, args, at: clock.now(), life: number });
      };
    },
  });
}

function describe([doing, error]: readonly unknown[]): string {
  return `${String(doing)}: ${error instanceof Error ? error.stack : String(error)}`;
}

function parse(text: string): Answer["json"] {
  try {
    return JSON.parse(text);
  } catch {
    return { text };
  }
}
