/** What a run consists of: one world, in which one process after the other works on one outbox. */
import type { App } from "../../../src/model/daemon.ts";
import type { Backlog, Store, StoreOptions } from "../../../src/model/ports.ts";
import type { At, Ms } from "../../../src/model/units.ts";
import type { FalseClock } from "../../flow/clock.ts";
import type { Fault } from "../faults.ts";
import type { Chance } from "../random.ts";
import type { Entry, Ledger } from "./calls.ts";
import type { Stop } from "./clocks.ts";
import type { Refusing } from "./disk.ts";
import type { Manner } from "./network.ts";
import type { Rows } from "./rows.ts";
import type { Shape } from "./shape.ts";
import type { Tracks, Turns } from "./tracks.ts";

/** What a process told its operator. */
export type Told = { readonly what: string; readonly args: readonly unknown[]; readonly at: At; readonly life: number };

/** One process, from its start to its end. */
export type Life = {
  readonly number: number;
  /** Which of the daemons that share the outbox it is; 0 if there is one. */
  readonly nth: number;
  /** By its own clock, once the store has said where that goes on. */
  startedAt: At;
  /** By how much the machine's clock was wrong in its time, at least. */
  leastError: Ms;
  /** Whether there was something that it could not write. */
  unwritten: boolean;
  readonly clock: FalseClock;
  readonly path: string;
  readonly app: App;
  /** Dead: whatever it does still has no effect on the world. */
  dead: boolean;
  started: boolean;
  /** It is suspended until this is resolved. */
  frozen: PromiseWithResolvers<void> | null;
  /** It has no connection to the server. */
  cutOff: boolean;
  /** Until when it may not know what became of its share: it was suspended or cut off, or an answer was lost. */
  doubtfulUntil: At;
  /** As the daemon has it. */
  backlog: Pick<Backlog, "counts"> | null;
  /** The real one, once it is open. */
  store: Store | null;
  /** Resolves with the answer, or never, if the process dies before. */
  ask(port: 8080 | 8081, request: Request): Promise<Answer>;
};

export type Answer = { readonly status: number; readonly json: Readonly<Record<string, unknown>> };

/** One answer to a request with calls. */
export type Acknowledged = {
  readonly entries: readonly Entry[];
  readonly accepted: number;
  readonly duplicate: number;
};

export type Vanished = "removed" | "replaced" | "truncated";

/** What a machine's clock says when it is started: the time, what it would have said anyway, or what its hardware makes up. */
export type BootClock = "right" | "as it was" | "1972" | "2102";

/** `ahead`: what the time of rows was ahead of the right one. `error`: by how much the clock was wrong, the least that may be remembered. */
export type Noted = { readonly ahead: Ms; readonly error: Ms };

/** On what the daemons of a world keep their outbox, and so how one process follows another, or works beside others. */
export type Engine = {
  /** Whether several daemons share the outbox. */
  readonly isShared: boolean;
  /** Starts the daemons of a plan on a new outbox. */
  begin(world: World, daemons: number): Promise<void>;
  /** Called for each process before it starts. */
  attach(world: World, life: Life): void;
  openStore(world: World, life: Life, options: StoreOptions): Promise<Store>;
  /** What is left of a process that was killed just now. */
  killed(world: World, life: Life): void;
  /** Has what died followed by another process, if that is to run now. */
  revive(world: World): Promise<void>;
  /** Stops the process that the step is about, and has another one follow. `quick`: it may not wait for what runs. */
  stop(world: World, how: { readonly quick: boolean; readonly down: Ms }): Promise<void>;
  /** Makes `world.life` the daemon that the step is about. Answers false if none is fit for it. */
  turnTo(world: World, on: number, act: string): boolean;
  /** Has everything written that is kept in memory for a while, so that it can be compared. */
  catchUp(world: World): Promise<void>;
  /** Ends all that runs. */
  end(world: World): Promise<void>;
  /** Removes all outboxes. */
  remove(): void;
  /** Null if there is no server between the daemons and their outbox. */
  readonly trouble: Trouble | null;
};

/** What a daemon can meet beside others. Nothing of it happens to the last one that is reached. */
export type Trouble = {
  /** It is kept from running for so long. */
  suspend(world: World, life: Life, ms: Ms): void;
  /** It has no connection to the server for so long. */
  cutOff(world: World, life: Life, ms: Ms): void;
  /** The answer to its next commit is lost. */
  loseAnswer(world: World, life: Life): void;
  /** All of them run, and reach the server. */
  end(world: World): Promise<void>;
};

/** After so many more moments of this daemon, this happens to it. `from`: what comes before the first one. */
export type Doom = {
  readonly nth: number;
  moments: number;
  from?: "answer" | undefined;
  readonly strike: (life: Life) => void;
};

export type World = {
  readonly chance: Chance;
  readonly engine: Engine;
  /** What every process does wrong; null if nothing. */
  readonly fault: Fault | null;
  readonly ledger: Ledger;
  readonly tracks: Tracks;
  /** Who has had a turn, and when. */
  readonly turns: Turns;
  /** The process that the step is about, and those of all daemons. */
  life: Life;
  readonly lives: Life[];
  /** The files that a process has left when it died, for the next one. */
  nextPath: string | null;
  /** The config in force; while it is reloaded, either of two may be. */
  shape: Shape;
  nextShape: Shape | null;
  readonly manners: Map<string, Manner>;
  /** What the disk refuses, how, and how often still. */
  refusing: { what: Refusing; code: "SQLITE_FULL" | "SQLITE_IOERR_WRITE"; times: number } | null;
  /** How often it has, in this step. */
  refused: number;
  /** What became of the outbox's files under the process; those that are open are whole. Null: they are where they should be. */
  vanished: Vanished | null;
  /** Free bytes of the disk, as the machine says. */
  free: number;
  doom: Doom | null;
  /** How long nobody runs after a death. */
  down: Ms;
  /** The machine is started again before the next process is, and its clock says this; null: it runs on. */
  boots: BootClock | null;
  /** By how much the machine's clock is wrong. */
  clockError: Ms;
  /** What the store may remember of the time at its next start. */
  noted: Noted;
  /** What the step may do: replay what was settled, move from one destination to another. */
  replaying: boolean | { readonly messageId: string; readonly destination: string };
  /** How many it says that it has replayed. */
  replayed: number;
  moving: { readonly from: string; readonly to: string } | null;
  discarding: string | null;
  /** Deletions, as `user source`: those that may be; those that may erase or suppress; and those who surely are suppressed. */
  readonly deleted: Set<string>;
  readonly erasable: Set<string>;
  readonly maybeSuppressed: Set<string>;
  readonly suppressed: Set<string>;
  /** What was acknowledged and not looked for yet. */
  readonly answers: Acknowledged[];
  /** Destinations whose receivers, or the disk under them, were not always well: what is due may wait. */
  readonly troubled: Set<string>;
  /** How many processes have ended in this step. */
  ended: number;
  /** MessageIds were forgotten before their time, to make room. */
  forgetful: boolean;
  /** When the clocks of destinations stood still. */
  readonly stops: Stop[];
  /** When an attempt of a destination last left the machine, in the life of this process. */
  readonly onlineAt: Map<string, At>;
  /** Destinations that are paused, as far as their operator knows for sure. */
  readonly paused: Set<string>;
  /** When a daemon last died, or was cut off or suspended, or that was over. */
  disturbedAt: At;
  /** What holds once all daemons have heard of it. */
  readonly onceHeard: (() => void)[];
  /** The rows, as they were when they were last looked at. */
  rows: Rows;
  /** The rows are being read: nobody dies meanwhile. */
  reading: boolean;
  /** What was told since the step began. */
  readonly told: Told[];
  /** The number of the step, when it began, and what it is. */
  step: number;
  stepAt: At;
  doing: string;
  /** What has turned out to be wrong. */
  readonly wrong: string[];
  /** Counted for whoever wants to know what a run has met. */
  readonly met: Map<string, number>;
};

/** Whether it answers, and its store. */
export function isReachable({ started, dead, frozen, cutOff }: Life): boolean {
  return started && !dead && frozen === null && !cutOff;
}

/** What was asked of one daemon holds for the others a little later. */
export function onceHeard(world: World, then: () => void): void {
  if (world.engine.isShared) world.onceHeard.push(then);
  else then();
}

/** Whether it may not know yet what the others have done, or what became of its own writes. */
export function isDoubtful({ frozen, cutOff, doubtfulUntil, clock }: Life): boolean {
  return frozen !== null || cutOff || clock.now() < doubtfulUntil;
}

export function wrong(world: World, what: string): void {
  world.wrong.push(what);
}

export function meet(world: World, what: string, count = 1): void {
  world.met.set(what, (world.met.get(what) ?? 0) + count);
}
