import type { DeliveryRef } from "../../model/delivery.ts";
import { StoreAway } from "../../model/fault.ts";
import type { Clock, StoreChange } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import {
  beatDaemon,
  beatStreams,
  type Claimant,
  claimHome,
  type DaemonRow,
  findIdle,
  findOrphans,
  giveUpAll,
  type Held,
  keepStreams,
  letGo,
  PATIENCE,
  runForWork,
  take,
  takeOver,
} from "./claims.ts";
import type { Database } from "./database.ts";
import { CommitLost, isLost } from "./errors.ts";
import type { Gate } from "./gate.ts";
import { createTurns, type InTurn } from "./turns.ts";

/**
 * Which streams this daemon holds. It writes new events to one of them, its home, and delivers from all. A daemon
 * that dies, or is cut off, stops beating: another one then takes its streams by raising their epoch, and whatever the old
 * holder still writes is refused. Streams without a holder are taken if they have waiting deliveries.
 */
export type Streams = {
  /** Where new events go. */
  home(): Held;
  /** The epochs of all streams that are held, by stream. */
  held(): ReadonlyMap<number, number>;
  /**
   * Whether a stream has been held without a gap since this epoch. What was written in it before a gap has been counted, and
   * may have been delivered, by somebody else.
   */
  hasKept(held: Held): boolean;
  /** Whether this daemon does the work that one does for all. */
  leads(): boolean;
  /** When the last beat that succeeded began, by `clock.now()`. */
  beatAt(): At;
  /** How many daemons were alive then. */
  alive(): number;
  /** Says that this daemon is alive. Rejects when the database fails. */
  beat(): Promise<void>;
  /**
   * Takes what there is to take, the work that one does for all as well, and writes counts. It may have to wait for what others
   * have locked: beats go on meanwhile. Rejects when the database fails, or when something has to wait for the next time.
   */
  tend(): Promise<void>;
  /** A write was refused: the stream is somebody else's, or has another epoch here as well by now. */
  refused(held: Held): Promise<void>;
  /**
   * A connection was lost in the middle of a write: raises the epoch, so that the write has either been committed by then or
   * never will be.
   */
  fence(stream: number): Promise<void>;
  /** Gives up all of them, so that others can take them at once. */
  release(): Promise<void>;
};

export type StreamsParts = Claimant & {
  readonly db: Database;
  readonly gate: Gate;
  readonly clock: Pick<Clock, "now">;
  readonly daemon: () => DaemonRow;
  readonly tell: (change: StoreChange) => void;
  /** Called when this daemon has begun to do the work that one does for all. */
  readonly elected: () => void;
};

type State = {
  readonly held: Map<number, number>;
  /** The epochs in which the streams that are held were taken. */
  readonly takenIn: Map<number, number>;
  home: Held;
  /** Until when this daemon does the work that one does for all. */
  leadsUntil: At;
  /** Since when it beats without a gap, and when it began to beat last. */
  beatsSince: At;
  beatAt: At;
  /** How many daemons are alive. */
  alive: number;
  /** What others hold by now, as the last beats have found. */
  readonly lost: Held[];
  /** Whether the server may have forgotten settlements. */
  isForgetful: boolean;
  /** Epochs change one after the other: what was changed in the database has to be known here before anybody compares. */
  readonly inTurn: InTurn;
};

/** Opens with a home. The first beat takes what else there is to take. */
export async function openStreams(parts: StreamsParts): Promise<Streams> {
  const { db, name, counts, clock } = parts;
  const home = await claimHome(db, parts);
  const never = Number.NEGATIVE_INFINITY;
  const before = { leadsUntil: never, beatsSince: never, beatAt: never, alive: 1 };
  const found = { lost: [], isForgetful: false };
  const state: State = { held: new Map(), takenIn: new Map(), home, ...before, ...found, inTurn: createTurns() };
  keep(state, home, parts);

  return {
    home: () => state.home,
    held: () => state.held,
    hasKept: ({ stream, epoch }) => epoch >= (state.takenIn.get(stream) ?? Number.POSITIVE_INFINITY),
    leads: () => clock.now() < state.leadsUntil,
    beatAt: () => state.beatAt,
    alive: () => state.alive,
    beat: () => beat(state, parts),
    async tend() {
      try {
        await tend(state, parts);
      } catch (error) {
        if (error instanceof CommitLost) {
          counts.doubt([...state.held.keys()]);
          parts.tell({ kind: "moved", what: "all" });
        }
        throw error;
      }
    },
    refused: (one) => retakeAll([one], state, parts),
    fence: (stream) => state.inTurn(() => retake(stream, state, parts)),
    async release() {
      const doubts = counts.takeDoubts();
      await db.transaction(async (tx) => {
        await counts.write(tx, lostIn(state.held, await beatStreams(tx, state.held)));
        await giveUpAll(tx, state.held, { name, doubts });
      });
      counts.written();
    },
  };
}

async function beat(state: State, parts: StreamsParts): Promise<void> {
  const { db, pace, clock, daemon, tell } = parts;
  const held = new Map(state.held);
  const startedAt = clock.now();
  if (startedAt - state.beatAt > pace.silence) state.beatsSince = startedAt;
  const { ours, alive, remembered } = await db.transaction(async (tx) => {
    const still = await beatStreams(tx, held);
    return { ours: still, ...(await beatDaemon(tx, parts, daemon())) };
  });
  const isFirst = state.beatAt === Number.NEGATIVE_INFINITY;
  state.beatAt = startedAt;
  if (alive !== state.alive) tell({ kind: "daemons", alive });
  state.alive = alive;
  const lost = lostIn(held, ours);
  state.lost.push(...[...held].filter(([stream]) => lost.has(stream)).map(([stream, epoch]) => ({ stream, epoch })));
  // The server has crashed, or a standby has taken its place: it may have forgotten the last settlements, whose commits do not
  // wait for the disk.
  if (!remembered && !isFirst) state.isForgetful = true;
}

/** What comes after a beat. Each of these may have to wait for others, and none keeps the next one from its turn. */
const CHORES: readonly ((state: State, parts: StreamsParts) => Promise<void>)[] = [
  retakeLost,
  leadIfFree,
  takeOrphans,
  writeCounts,
  recountDoubts,
  letGoOfOthers,
];

async function tend(state: State, parts: StreamsParts): Promise<void> {
  const failed: unknown[] = [];
  for (const chore of CHORES) {
    try {
      await chore(state, parts);
    } catch (error) {
      // Each of them would wait for a database that is away.
      if (isLost(error)) throw error;
      failed.push(error);
    }
  }
  if (failed.length > 0) throw failed[0];
}

function retakeLost(state: State, parts: StreamsParts): Promise<void> {
  return retakeAll(state.lost.splice(0), state, parts);
}

async function leadIfFree(state: State, parts: StreamsParts): Promise<void> {
  const { db, pace, clock, elected } = parts;
  const startedAt = clock.now();
  const leads = await db.transaction((tx) => runForWork(tx, parts), { patience: PATIENCE });
  const led = startedAt < state.leadsUntil;
  // Others count from the answer of the database, so that this one stops first.
  state.leadsUntil = leads ? startedAt + pace.silence : 0;
  if (leads && !led) elected();
}

async function writeCounts({ held }: State, { db, counts }: StreamsParts): Promise<void> {
  await db.transaction(async (tx) => counts.write(tx, lostIn(held, await keepStreams(tx, held))), {
    patience: PATIENCE,
  });
  counts.written();
}

/** Those that are not among `ours`. */
function lostIn(held: ReadonlyMap<number, number>, ours: ReadonlySet<number>): ReadonlySet<number> {
  return new Set([...held.keys()].filter((stream) => !ours.has(stream)));
}

async function recountDoubts(state: State, parts: StreamsParts): Promise<void> {
  const { held, isForgetful } = state;
  const { counts, tell } = parts;
  if (isForgetful) counts.doubt([...held.keys()]);
  const doubts = counts.takeDoubts();
  try {
    for (const stream of doubts) if (held.has(stream)) await recount(stream, state, parts);
  } catch (error) {
    counts.doubt(doubts);
    throw error;
  }
  state.isForgetful = false;
  if (isForgetful) tell({ kind: "moved", what: "all" });
}

/**
 * Counts the rows as they are at one moment, at which nothing is being written here: what is committed by then is either in
 * both, the tables and the memory, or in neither. Writes go on while it counts, and so does what they note: only the difference
 * is added in the end.
 */
async function recount(stream: number, { held }: State, { db, counts, gate }: StreamsParts): Promise<void> {
  let hasBegun = false;
  const counting = await gate.alone(async () => {
    const begun = Promise.withResolvers<void>();
    const missing = db.transaction(
      async (tx) => {
        // Run again, it would see another moment.
        if (hasBegun) throw new StoreAway("a migration interrupted the count");
        hasBegun = true;
        await tx.query("SELECT FROM control");
        const unwritten = counts.unwritten(stream);
        begun.resolve();
        return counts.compare(tx, stream, unwritten);
      },
      { snapshot: true },
    );
    await Promise.race([begun.promise, missing]);
    return { missing };
  });
  const missing = await counting.missing;
  const epoch = held.get(stream);
  if (epoch === undefined) return;
  await db.transaction(
    async (tx) => {
      // Somebody else who has taken the stream counts it.
      if ((await keepStreams(tx, new Map([[stream, epoch]]))).size > 0) await counts.add(tx, missing);
    },
    { patience: PATIENCE },
  );
}

/**
 * After the database was away, no daemon has beaten for a while. So only one that has beaten long enough itself believes that
 * another is dead.
 */
async function takeOrphans(state: State, parts: StreamsParts): Promise<void> {
  const { db, name, pace, clock, tell } = parts;
  const mayJudge = clock.now() - state.beatsSince >= pace.silence;
  await state.inTurn(async () => {
    let taken = 0;
    try {
      for (const one of await findOrphans(db, state.held, { name, pace, mayJudge })) {
        const now = await db.transaction((tx) => takeOver(tx, one, parts), { patience: PATIENCE });
        if (now === null) continue;
        keep(state, now, parts);
        taken += 1;
      }
    } finally {
      // Their deliveries are read even if another stream is locked.
      if (taken > 0) tell({ kind: "moved", what: "all" });
    }
  });
}

/** A stream that was taken over is given up once nothing waits in it, so that a daemon that starts can have it. */
async function letGoOfOthers(state: State, { db, name, counts, gate }: StreamsParts): Promise<void> {
  const { held, home } = state;
  const others = [...held.keys()].filter((stream) => stream !== home.stream && !counts.isDoubted(stream));
  if (others.length === 0 || (await findIdle(db, others)).length === 0) return;
  // What is committed in it by then has been counted.
  await gate.alone(async () => {
    const idle = await db.transaction(
      async (tx) => {
        await counts.write(tx, lostIn(held, await keepStreams(tx, held)));
        return letGo(tx, others, name);
      },
      { patience: PATIENCE },
    );
    counts.written();
    for (const stream of idle) lose(stream, state);
  });
}

/** What was refused to the epochs of these: some of them may have another one here as well by now. */
async function retakeAll(refused: readonly Held[], state: State, parts: StreamsParts): Promise<void> {
  if (refused.length === 0) return;
  await state.inTurn(async () => {
    for (const { stream, epoch } of refused) if (state.held.get(stream) === epoch) await retake(stream, state, parts);
  });
}

/** Raises the epoch of a stream, and loses it if it is somebody else's. */
async function retake(stream: number, state: State, parts: StreamsParts): Promise<void> {
  const { held } = state;
  const epoch = held.get(stream);
  if (epoch === undefined) return;
  const next = await parts.db.transaction((tx) => take(tx, { stream, epoch }, parts));
  if (next) return keep(state, next, parts);
  leaveToOthers(stream, state, parts);
  if (held.has(state.home.stream)) return;
  state.home = await claimHome(parts.db, parts);
  keep(state, state.home, parts);
  // Something may wait in it.
  parts.tell({ kind: "moved", what: "all" });
}

/** Remembers the epoch in which a stream is held now. */
function keep(state: State, { stream, epoch }: Held, parts: StreamsParts): void {
  const before = state.held.get(stream);
  // Between the two epochs somebody else may have had it: it was lost here without being missed.
  const isGap = before !== undefined && before !== epoch - 1;
  if (isGap) {
    leaveToOthers(stream, state, parts);
    parts.counts.doubt([stream]);
  }
  if (isGap || before === undefined) state.takenIn.set(stream, epoch);
  state.held.set(stream, epoch);
  if (state.home.stream === stream) state.home = { stream, epoch };
  if (isGap) parts.tell({ kind: "moved", what: "all" });
}

/** Its new holder counts what was written in it, and delivers its waiting deliveries. */
function leaveToOthers(stream: number, state: State, { counts, tell }: StreamsParts): void {
  lose(stream, state);
  counts.forget(stream);
  tell({ kind: "lost", has: (ref) => !state.held.has(placeOf(ref).stream) });
}

function lose(stream: number, { held, takenIn }: State): void {
  held.delete(stream);
  takenIn.delete(stream);
}

/** On PostgreSQL the reference of a delivery is its stream and the number of its segment. */
export type Place = { readonly stream: number; readonly segment: number };

export function refOf(place: Place): DeliveryRef {
  return place as unknown as DeliveryRef;
}

/** `segment` is 0 if the delivery has a row of its own. */
export function placeOf(ref: DeliveryRef): Place {
  return ref as unknown as Place;
}
