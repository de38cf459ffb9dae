import type { Computation, Member, Members, OpenSync, PendingMember } from "../model/audience.ts";
import { type Event, ownEvent } from "../model/event.ts";
import { type Fault, fault, isFault, StoreAway, unreadableNow } from "../model/fault.ts";
import type { Accept, Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { createRounds, type Rest, type Rounds } from "../model/rounds.ts";
import { type At, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { SUPPRESSED } from "./pages.ts";

/** Changes in one commit. Calls that arrive meanwhile wait for it. */
const IN_PAGE = 100;
/** The wait before a sync that could not continue is tried again, and between looks at blocked ones. */
const PATIENCE: Ms = 5 * SECOND;
/** How often it looks whether a sync that another daemon sends has ended. */
const LOOK_EVERY: Ms = SECOND;
/** How long after a sync former members are removed, and how often again while calls about some still wait. */
const SWEEP_AFTER: Ms = 10 * MINUTE;
/** Rows in one cleanup commit. */
const IN_SWEEP = 500;

type WorkerWorld = {
  readonly members: Members;
  readonly accept: Accept;
  /** Why a source accepts no calls now; null if it does. */
  readonly refusalOf: (source: string) => Fault | null;
  readonly clock: Clock;
  readonly report: Report;
};

export type Worker = Rounds & {
  /** Starts sending a sync. Resolves when it is finished. */
  begin(open: OpenSync): Promise<OpenSync>;
};

type Running = { open: OpenSync; why: string | null; readonly done: PromiseWithResolvers<OpenSync> };

/**
 * Sends the changes of running syncs, one page of each in turn, and yields to the event loop in between. A page is one
 * commit of calls together with the memberships that they report, so that after a crash each change is either done or still
 * to do. Which syncs it sends the store says: another daemon may send those that begin here, and their end is then looked for.
 */
export function createSyncWorker(world: WorkerWorld): Worker {
  const { members, clock } = world;
  const syncs = createRunning();
  const cleaner = createCleaner(members);
  let hasRested = false;
  const rounds = createRounds(clock, (signal) => {
    // Errors are logged: one damaged page must not stop the others.
    return round(signal).catch((error: unknown): Rest => {
      world.report.storeFailed("work on audiences and traits", error);
      return { kind: "pause", ms: PATIENCE };
    });
  });

  return {
    run: rounds.run,
    begin(open) {
      const { done } = syncs.of(open);
      world.report.syncStarted(open);
      rounds.wake();
      return done.promise;
    },
    wake() {
      cleaner.lookAgain();
      rounds.wake();
    },
  };

  async function round(signal: AbortSignal): Promise<Rest> {
    const startedAt = clock.now();
    // Calls about former members may have been settled while it slept.
    if (hasRested) cleaner.lookAgain();
    hasRested = false;
    const ours = (await members.open()).map(syncs.of);
    const worked = await workOn(ours, signal, { ...world, finished });
    if (worked || (await cleaner.tidy())) return breather(clock.now() - startedAt);
    const others = syncs.except(ours);
    for (const one of others) await lookForEnd(one);
    hasRested = true;
    if (others.size > 0) return { kind: "sleep", ms: LOOK_EVERY };
    return { kind: "sleep", ms: ours.length > 0 ? PATIENCE : SWEEP_AFTER };
  }

  async function lookForEnd(one: Running): Promise<void> {
    const end = await endOf(one.open, world);
    if (end) finished(one, end);
  }

  function finished(one: Running, open: OpenSync): void {
    syncs.end(one, open);
    cleaner.lookAgain();
  }
}

/** The syncs that this daemon sends, or that began here. */
function createRunning() {
  const all = new Map<number, Running>();
  return {
    of(open: OpenSync): Running {
      const { number } = open.sync;
      const one = all.get(number) ?? { open, why: null, done: Promise.withResolvers<OpenSync>() };
      one.open = open;
      all.set(number, one);
      return one;
    },
    except: (some: readonly Running[]) => new Set(all.values()).difference(new Set(some)),
    end({ done }: Running, open: OpenSync): void {
      all.delete(open.sync.number);
      done.resolve(open);
    },
  };
}

/** The sync as it ended elsewhere; null while it runs. A removal leaves nothing of it. */
async function endOf({ sync, computation }: OpenSync, { members, clock }: WorkerWorld): Promise<OpenSync | null> {
  const known = await members.find(computation);
  const last = known?.syncs.find(({ number }) => number === sync.number);
  if (!known || !last) return { sync: { ...sync, finishedAt: clock.now() }, computation };
  return last.finishedAt === null ? null : { sync: last, computation: known };
}

/** Leaves half of the time to other work: incoming calls, and the deliveries of these syncs. */
function breather(took: Ms): Rest {
  return took < 1 ? { kind: "turn" } : { kind: "pause", ms: took };
}

type Work = WorkerWorld & { readonly finished: (one: Running, open: OpenSync) => void };

/** One page of each sync. Answers whether any made progress. */
async function workOn(all: readonly Running[], signal: AbortSignal, world: Work): Promise<boolean> {
  let worked = false;
  for (const one of all) {
    if (signal.aborted) return false;
    const result = await workOnOne(one.open, world);
    if (isFault(result)) tellWaiting(one, result, world.report);
    else {
      one.why = null;
      worked = true;
      if (result.finished) world.finished(one, result.open);
    }
  }
  return worked;
}

type Worked = { readonly finished: boolean; readonly open: OpenSync };

/** Sends one page, and finishes the sync after the last one. */
async function workOnOne(open: OpenSync, world: WorkerWorld): Promise<Worked | Fault> {
  const { members, report, clock } = world;
  try {
    const result = await step(open, world);
    if (result === "worked") return { finished: false, open };
    const finished = result === "finished" ? await members.finish(open) : result;
    if (isFault(finished)) return finished;
    report.syncFinished(finished, clock.now() - finished.sync.startedAt);
    return { finished: true, open: finished };
  } catch (error) {
    // The sync stays and is tried again.
    if (error instanceof StoreAway) return unreadableNow(error);
    report.unexpected("send a sync", error);
    return fault("internal", "something unexpected went wrong; see the log");
  }
}

/** Logs each reason once. */
function tellWaiting(one: Running, { code, message }: Fault, report: Pick<Report, "syncWaits">): void {
  if (one.why !== code && code !== "overloaded") report.syncWaits(one.open, message);
  one.why = code;
}

type Cleaner = {
  /** Cleans up a few rows. Answers whether there may be more. */
  tidy(): Promise<boolean>;
  /** There may be something to clean up again. */
  lookAgain(): void;
};

/** Removes syncs that never began, and former members. */
function createCleaner(members: Members): Cleaner {
  let untidy = true;
  return {
    async tidy() {
      if (!untidy) return false;
      const discarding = await members.discard(IN_SWEEP);
      const sweeping = await members.sweep(IN_SWEEP);
      untidy = discarding === true || sweeping === true;
      return untidy;
    },
    lookAgain() {
      untidy = true;
    },
  };
}

/** Sends one page of a sync. Answers whether it is finished, or why it is blocked. */
async function step(open: OpenSync, world: WorkerWorld): Promise<"worked" | "finished" | Fault> {
  return open.sync.kind === "silent_removal" ? dropPage(open, world) : sendPage(open, world);
}

async function dropPage(open: OpenSync, { members, report }: WorkerWorld): Promise<"worked" | "finished" | Fault> {
  const dropped = await members.drop(open, IN_SWEEP);
  if (isFault(dropped)) return dropped;
  report.membersChanged(open.computation, Array(dropped).fill({ value: null }));
  return dropped === 0 ? "finished" : "worked";
}

async function sendPage(open: OpenSync, world: WorkerWorld): Promise<"worked" | "finished" | Fault> {
  const { members, accept, refusalOf, clock, report } = world;
  const { sync, computation } = open;
  const refusal = refusalOf(computation.source);
  if (refusal) return refusal;
  const pending = await members.pending(sync.number, IN_PAGE);
  if (pending.length === 0) return "finished";
  const now = clock.wall();
  const receipts = await accept(
    computation.source,
    pending.map((member) => callFor(member, open, now)),
    pending.map(({ user, value }) => ({ change: { user, value, sync: sync.number, computation: computation.number } })),
  );
  if (isFault(receipts)) return receipts;
  report.membersChanged(
    computation,
    pending.filter((_, index) => receipts[index]?.kind === "accepted"),
  );
  const suppressed = pending.filter((_, index) => receipts[index]?.kind === "suppressed");
  return (await forgetSuppressed(suppressed, open, world)) ?? "worked";
}

/** Refuses calls about suppressed users like those of clients, and removes their membership. */
async function forgetSuppressed(
  suppressed: readonly Member[],
  { computation: { source } }: OpenSync,
  { members, report }: WorkerWorld,
): Promise<Fault | null> {
  for (const { user } of suppressed) {
    const forgotten = await members.forget(user, [source]);
    if (isFault(forgotten)) return forgotten;
  }
  if (suppressed.length > 0) {
    report.callRejected({ source, type: "identify", messageId: null, fault: SUPPRESSED, count: suppressed.length });
  }
  return null;
}

/**
 * The identify call that reports a change (SPEC.md 6). The trait is true for a member and false for a former one; a computed
 * trait has its value, or null. The messageId depends only on the sync and the user, so it is the same each time. `now`: by
 * the wall clock.
 */
function callFor({ user, value, hash }: PendingMember, { sync, computation }: OpenSync, now: At): Event {
  const { class: kind, key } = computation;
  const told = kind === "audience" ? value === true : value;
  return ownEvent({
    type: "identify",
    messageId: `${sync.id}-${hash}`,
    userId: user,
    traits: { [key]: told },
    context: { personas: personasOf(computation) },
    at: now,
  });
}

/** The computation in the form that receivers of such calls expect. */
function personasOf({ class: kind, id, key, name, source }: Computation): object {
  return {
    computation_class: kind,
    computation_id: id,
    computation_key: key,
    computation_name: name,
    namespace: source,
  };
}
