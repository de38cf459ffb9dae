import type { Computation, Member, Members, OpenSync, PendingMember } from "../model/audience.ts";
import { type Event, ownEvent } from "../model/event.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Accept, Clock } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type At, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { SUPPRESSED } from "./pages.ts";

/** Changes in one commit: calls that come meanwhile wait for so many. */
const IN_PAGE = 100;
/** When a sync cannot go on, and how often those that have to wait are looked at. */
const PATIENCE: Ms = 5 * SECOND;
/** How long after a sync those who have left are forgotten, and again while calls about some still wait. */
const SWEEP_AFTER: Ms = 10 * MINUTE;
/** Rows in one commit that only cleans up. */
const IN_SWEEP = 500;

type WorkerWorld = {
  readonly members: Members;
  readonly accept: Accept;
  /** Why a source takes no calls now; null if it does. */
  readonly refusalOf: (source: string) => Fault | null;
  readonly clock: Clock;
  readonly report: Report;
};

export type Worker = {
  /** Takes up what was begun before, and works until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>;
  /** A sync has begun. Resolves when it is finished. */
  begin(open: OpenSync): Promise<OpenSync>;
  /** Something is there to be cleaned up. */
  wake(): void;
};

type Running = { open: OpenSync; why: string | null; readonly done: PromiseWithResolvers<OpenSync> };

/**
 * Sends what syncs have set out to send: a page of each in turn, with a turn of the loop between. A page is one commit of
 * calls together with the memberships that they tell of, so that a crash leaves each change either done or still to do.
 */
export function createSyncWorker(world: WorkerWorld): Worker {
  const { members, clock } = world;
  const running = new Map<number, Running>();
  const cleaner = createCleaner(members);
  let nap = new AbortController();

  return {
    async run(signal) {
      let resumed = false;
      await overAndOver(world, signal, async () => {
        nap = new AbortController();
        const startedAt = clock.now();
        if (!resumed) for (const open of await members.open()) runningOf(open);
        resumed = true;
        const worked = await workOn([...running.values()], signal, { ...world, finished });
        if (worked || (await cleaner.tidy())) await breathe(clock, clock.now() - startedAt, signal);
        else await rest(signal);
      });
    },
    begin(open) {
      const { done } = runningOf(open);
      world.report.syncStarted(open);
      nap.abort();
      return done.promise;
    },
    wake() {
      cleaner.lookAgain();
      nap.abort();
    },
  };

  /** What is begun while those of before are taken up is among them. */
  function runningOf(open: OpenSync): Running {
    const known = running.get(open.sync.number);
    if (known) return known;
    const one: Running = { open, why: null, done: Promise.withResolvers() };
    running.set(open.sync.number, one);
    return one;
  }

  async function rest(signal: AbortSignal): Promise<void> {
    await clock.sleep(running.size > 0 ? PATIENCE : SWEEP_AFTER, AbortSignal.any([signal, nap.signal]));
    // Calls about users who have left may have come to their end.
    cleaner.lookAgain();
  }

  function finished({ done }: Running, open: OpenSync): void {
    running.delete(open.sync.number);
    cleaner.lookAgain();
    done.resolve(open);
  }
}

/** Works until the signal is aborted. What goes wrong is told: a damaged page of theirs must not keep all else from working. */
async function overAndOver(
  { clock, report }: WorkerWorld,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      report.storeFailed("work on audiences and traits", error);
      await clock.sleep(PATIENCE, signal);
    }
  }
}

/** Half of the time is for others: calls from outside, and the deliveries of all this. */
function breathe(clock: Clock, took: Ms, signal: AbortSignal): Promise<void> {
  return took < 1 ? clock.nextTurn() : clock.sleep(took, signal);
}

type Work = WorkerWorld & { readonly finished: (one: Running, open: OpenSync) => void };

/** A page of each. Answers whether there was something to do that could be done. */
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

/** Does a page of it, and what is to be done after the last one. */
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
    // It stays, and is tried again.
    report.unexpected("send a sync", error);
    return fault("internal", "something unexpected went wrong; see the log");
  }
}

/** Once for each reason. */
function tellWaiting(one: Running, { code, message }: Fault, report: Pick<Report, "syncWaits">): void {
  if (one.why !== code && code !== "overloaded") report.syncWaits(one.open, message);
  one.why = code;
}

type Cleaner = {
  /** A little. Answers whether there may be more. */
  tidy(): Promise<boolean>;
  /** There may be something again. */
  lookAgain(): void;
};

/** Forgets what was never begun, and who has left. */
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

/** A page of a sync. Answers whether it is finished, or why it has to wait. */
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

/** Calls about users who were deleted are refused as those of clients are, and their membership is forgotten. */
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
 * The identify call that tells of a change (SPEC.md 6): the trait is true for a member, false for one who has left; for a
 * computed trait it is the value, or null. Its messageId is the same whenever it is made for this sync and user. `now`: by the
 * wall clock.
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

/** Which computation it is about, in the words that receivers of such calls look for. */
function personasOf({ class: kind, id, key, name, source }: Computation): object {
  return {
    computation_class: kind,
    computation_id: id,
    computation_key: key,
    computation_name: name,
    namespace: source,
  };
}
