import type { Entry, Receipt, Store } from "../../model/ports.ts";
import { type At, DAY, type Ms, SECOND } from "../../model/units.ts";
import type { Key } from "../message-key.ts";
import { type Room, UNWRITTEN } from "../room.ts";
import type { Held } from "./claims.ts";
import { type Drafted, draftAll, type Plan, planOf, receiptsOf } from "./drafts.ts";
import type { Engine } from "./engine.ts";
import { isLost } from "./errors.ts";
import type { Numbers } from "./numbers.ts";
import { findSeen, isPlaced, place } from "./place.ts";

/** How long calls wait for a database that is away, until they are answered that they are not stored. */
const PATIENCE: Ms = 5 * SECOND;
const BETWEEN_TRIES: Ms = 0.25 * SECOND;
/** Events of calls that share a statement, so that the first ones do not wait long for the last ones. */
const MOST_IN_GROUP = 2_048;
/** How often a group is written again because another daemon had its messageIds or its stream. */
const MOST_TRIES = 5;

export type AppendParts = {
  readonly engine: Engine;
  readonly numbers: Numbers;
  /** Whether calls about any of these users are refused. */
  readonly refuses: (userIds: readonly (string | undefined)[], source: string) => boolean;
};

type IntakeParts = AppendParts & {
  readonly room: Pick<Room, "refusal">;
  /** Stores entries that change more than their own rows, in a transaction of their own (append-careful.ts). */
  readonly careful: (entries: readonly Entry[]) => ReturnType<Store["append"]>;
};

export type Intake = Pick<Store, "append"> & {
  /** Resolves when nothing is being stored. */
  idle(): Promise<void>;
};

type Answer = Awaited<ReturnType<Store["append"]>>;
type Pending = { readonly entries: readonly Entry[]; resolve(answer: Answer): void };

/** Stores new events. Calls that arrive while a statement is under way share the next one. */
export function createIntake({ room, careful, ...parts }: IntakeParts): Intake {
  const queue: Pending[] = [];
  const appendGroup = createAppendGroup(parts);
  let running: Promise<void> | null = null;

  return {
    append(entries) {
      if (entries.length === 0) return Promise.resolve([]);
      const refusal = room.refusal();
      if (refusal) return Promise.resolve(refusal);
      const { promise, resolve } = Promise.withResolvers<Answer>();
      queue.push({ entries, resolve });
      running ??= run();
      return promise;
    },
    async idle() {
      await running;
    },
  };

  async function run(): Promise<void> {
    await parts.engine.clock.nextTurn();
    while (queue.length > 0) {
      const group = takeGroup(queue);
      const [one] = group;
      await parts.engine.gate.together(async () => {
        if (one && needsCare(one)) one.resolve(await careful(one.entries));
        else await appendOrEach(group);
      });
    }
    running = null;
  }

  async function appendOrEach(group: readonly Pending[]): Promise<void> {
    const answers = await appendGroup(group.map(({ entries }) => entries));
    // One call may have failed the others: each is tried alone.
    if (answers === "failed" && group.length > 1) {
      for (const one of group) await appendOrEach([one]);
      return;
    }
    group.forEach(({ resolve }, nth) => {
      resolve(typeof answers === "string" ? UNWRITTEN : (answers[nth] ?? UNWRITTEN));
    });
  }
}

function needsCare({ entries }: Pending): boolean {
  return entries.some(({ change, notice, withdraws }) => change ?? notice ?? withdraws);
}

/** What shares the next statement: one that needs care is alone. */
function takeGroup(queue: Pending[]): readonly Pending[] {
  let events = 0;
  const end = queue.findIndex((one, nth) => {
    events += one.entries.length;
    return nth > 0 && (events > MOST_IN_GROUP || needsCare(one) || needsCare(queue[0] ?? one));
  });
  return queue.splice(0, end < 0 ? queue.length : end);
}

/**
 * Stores the entries of several calls, and answers the receipts of each. `failed`: nothing was stored. `away`: the database
 * cannot be reached, and it may have stored them.
 */
type AppendGroup = (
  calls: readonly (readonly Entry[])[],
) => Promise<readonly (readonly Receipt[])[] | "failed" | "away">;

function createAppendGroup(parts: AppendParts): AppendGroup {
  const { engine, refuses } = parts;
  const { db, report, streams, counts, tell } = engine;
  const write = createSafeWrite(parts);
  /** Events may be stored whose calls were answered that they are not: they are read from the store. */
  let isInDoubt = false;

  return async function appendGroup(calls) {
    try {
      const receipts = await append(calls);
      if (isInDoubt) tell({ kind: "moved", what: "all" });
      isInDoubt = false;
      engine.wrote(true);
      return receipts;
    } catch (error) {
      report.storeFailed("commit", error);
      engine.wrote(false);
      if (!isLost(error)) return "failed";
      isInDoubt = true;
      counts.doubt([streams.home().stream]);
      return "away";
    }
  };

  async function append(calls: readonly (readonly Entry[])[]): Promise<readonly (readonly Receipt[])[]> {
    let known: ReadonlySet<Key> = new Set();
    for (let tries = 1; ; tries += 1) {
      const plan = planOf(calls, { refuses, known });
      if (plan.stored.length === 0) return receiptsOf(plan, NOTHING);
      const { held, now, drafted, result } = await write(plan);
      if (result === "placed") return receiptsOf(plan, noteStored(engine, held, drafted));
      if (tries === MOST_TRIES) throw new Error(conflict(result, tries));
      if (result === "refused") await streams.refused(held);
      else known = new Set([...known, ...(await findSeen(db, plan.keys, now - DAY))]);
    }
  }
}

/** `repeated`, `refused`: why the last try has stored nothing. */
function conflict(result: "repeated" | "refused", tries: number): string {
  const why =
    result === "repeated" ? "another daemon kept storing their messageIds" : "other daemons kept taking the stream";
  return `the events could not be stored in ${tries} tries: ${why}; look for silent daemons with fairlead status`;
}

type Written = {
  readonly held: Held;
  readonly now: At;
  readonly drafted: Drafted;
  readonly result: Awaited<ReturnType<typeof place>>;
};

/** Writes until it is known whether the events are stored. Rejects when the database is away for too long. */
function createSafeWrite({ engine, numbers }: AppendParts): (plan: Plan) => Promise<Written> {
  const { db, clock, streams } = engine;

  return async function write(plan) {
    const until = clock.now() + PATIENCE;
    for (;;) {
      const [held, now] = [streams.home(), clock.now()];
      let drafted: Drafted | null = null;
      try {
        drafted = await draftAll(plan.stored, { sql: db, numbers, stream: held.stream, now });
        const result = await place(db, { held, packed: drafted.packed, keys: plan.keys, now, since: now - DAY });
        return { held, now, drafted, result };
      } catch (error) {
        if (!isLost(error)) throw error;
        const isStored = drafted !== null && (await isPlacedAfterAll(drafted, held, until));
        if (drafted && isStored) return { held, now, drafted, result: "placed" };
        await waitOrThrow(error, until);
      }
    }
  };

  /** A connection was lost: the statement may have been committed, or be under way still. */
  async function isPlacedAfterAll({ packed: [draft] }: Drafted, { stream }: Held, until: At): Promise<boolean> {
    for (;;) {
      try {
        await streams.fence(stream);
        return draft !== undefined && (await isPlaced(db, draft.first));
      } catch (error) {
        await waitOrThrow(error, until);
      }
    }
  }

  async function waitOrThrow(error: unknown, until: At): Promise<void> {
    if (clock.now() >= until) throw error;
    await clock.sleep(BETWEEN_TRIES, NEVER);
  }
}

const NOTHING: Drafted = { packed: [], numbers: [], deliveries: [] };

/** Counts what was stored. Where the stream is lost since, its new holder has counted, and delivers it. */
export function noteStored({ counts, size, streams }: Engine, held: Held, drafted: Drafted): Drafted {
  if (!streams.hasKept(held)) return { ...drafted, deliveries: [] };
  const { stream } = held;
  for (const { destination } of drafted.deliveries.flat()) counts.note(stream, destination, "waiting", 1);
  size.add(drafted.packed.reduce((sum, { about, bodies }) => sum + Buffer.byteLength(about) + bodies.length, 0));
  return drafted;
}

const NEVER = new AbortController().signal;
