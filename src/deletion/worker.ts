import type { Deletion, DeletionStage, StoredDeletions, Unnoticed, WalkCursor } from "../model/deletion.ts";
import { type Fault, isFault, StoreAway } from "../model/fault.ts";
import type { Accept, Clock, Extra } from "../model/ports.ts";
import type { ForgetRejections } from "../model/refusal.ts";
import type { Report } from "../model/report.ts";
import { createRounds, type Rounds } from "../model/rounds.ts";
import { MINUTE, type Ms, SECOND } from "../model/units.ts";
import { makeNotice, standingOf } from "./request.ts";
import { type Held, holdersOf, holdWaiting, type ReachWorld, type WithdrawWorld } from "./withdraw.ts";

type DeletionWorkerWorld = Omit<AnnounceWorld & EraseWorld, "signal" | "deletions" | "clock"> & {
  readonly deletions: StoredDeletions;
  readonly clock: Clock;
  readonly report: Pick<Report, "deletionEnded" | "storeFailed" | "unexpected">;
};

export type Worker = Rounds & {
  /** A notification was settled. It is checked a little later, together with others that are settled meanwhile. */
  settled(): void;
};

/** How often running requests are checked without a wake-up, and failed writes are repeated. */
const LOOK_EVERY: Ms = MINUTE;
const TRY_AGAIN: Ms = 5 * SECOND;

/**
 * Carries out requests stage by stage. `notices`: creates their notifications. `settling`: waits until all are settled, and
 * while one that was given up can still be replayed. `erasing`: removes the data stored here. Then `done`. After a restart,
 * running requests continue: every step can be repeated safely.
 */
export function createDeletionWorker(world: DeletionWorkerWorld): Worker {
  const { clock, deletions, report } = world;
  let cancel: (() => void) | null = null;
  const traces = createTraces();
  const rounds = createRounds(clock, async (signal) => {
    const wait = await workOnAll({ ...world, signal }).catch((error: unknown) => {
      if (error instanceof StoreAway) {
        report.storeFailed("delete users", error);
        return TRY_AGAIN;
      }
      report.unexpected("delete users", error);
      return LOOK_EVERY;
    });
    return { kind: "sleep", ms: wait };
  });

  return {
    wake: rounds.wake,
    settled() {
      cancel ??= clock.after(SECOND, () => {
        cancel = null;
        rounds.wake();
      });
    },
    async run(signal) {
      await rounds.run(signal);
      cancel?.();
    },
  };

  /**
   * Notifications come first: nothing is erased that one of them needs. Answers when to look again; null: at the next
   * wake-up.
   */
  async function workOnAll(running: Running): Promise<Ms | null> {
    let wait = LOOK_EVERY;
    const erased: Deletion[] = [];
    for (const stage of STAGES) {
      let page = await deletions.unfinished(stage, "");
      while (page.length > 0) {
        for (const deletion of page) {
          if (running.signal.aborted) return null;
          const refused = await STEPS[stage](deletion, running);
          if (refused === "erased") erased.push(deletion);
          else if (refused) wait = Math.min(wait, refused.retryAfter ?? TRY_AGAIN);
        }
        page = await deletions.unfinished(stage, page.at(-1)?.id ?? "");
      }
    }
    const refused = await finish(erased, traces, running);
    if (refused !== null) wait = Math.min(wait, refused);
    const left = await Promise.all(STAGES.map((stage) => deletions.unfinished(stage, "")));
    return left.some((those) => those.length > 0) ? wait : null;
  }
}

const STAGES = ["notices", "settling", "erasing"] as const;

type Running = DeletionWorkerWorld & { readonly signal: AbortSignal };
type Step = (deletion: Deletion, world: Running) => Promise<Fault | "erased" | null>;

/** Each step answers why it must be tried again soon, or null; `erased` if only traces are left. */
const STEPS: Readonly<Record<Exclude<DeletionStage, "done">, Step>> = {
  async notices(deletion, world) {
    const made = await announce(deletion, world);
    if (made !== true) return made;
    return move(deletion, { ...deletion, stage: "settling" }, world);
  },
  async settling({ id }, world) {
    const now = await world.deletions.check(id);
    if (isFault(now)) return now;
    const standing = standingOf(now);
    if (standing === "waiting") return move(now, { ...now, status: "running" }, world);
    const goesOn = standing === "gone out" || now.forced || now.closed;
    const stage = !goesOn ? "settling" : now.erase ? "erasing" : "done";
    const status = standing === "given up" ? "failed" : stage === "erasing" ? "running" : "finished";
    return move(now, { ...now, stage, status }, world);
  },
  async erasing(deletion, world) {
    const erased = await erase(deletion, world);
    return erased === true ? "erased" : erased || null;
  },
};

/**
 * Removes the traces of all erased requests together: that takes no longer than for one. Answers when to try again, or null.
 */
async function finish(erased: readonly Deletion[], traces: Traces, world: Running): Promise<Ms | null> {
  if (erased.length === 0) return null;
  const ids = erased.map(({ id }) => id);
  const done = await traces.remove(ids, world);
  if (done === null) return null;
  // A reader of the files may finish at any moment.
  if (done !== true) return done === false ? TRY_AGAIN : (done.retryAfter ?? TRY_AGAIN);
  let wait: Ms | null = null;
  for (const deletion of erased) {
    const status = standingOf(deletion) === "given up" ? "failed" : "finished";
    const refused = await move(deletion, { ...deletion, stage: "done", status }, world);
    if (refused) wait = refused.retryAfter ?? TRY_AGAIN;
  }
  return wait;
}

/** Stores a change, and logs the end of a request. */
async function move(from: Deletion, to: Deletion, { deletions, clock, report }: Running): Promise<Fault | null> {
  if (from.stage === to.stage && from.status === to.status) return null;
  const isEnd = to.status !== "running" && to.status !== from.status;
  const endedAt = to.status === "running" ? null : isEnd ? clock.wall() : from.endedAt;
  const moved = await deletions.advance(from.id, { stage: to.stage, status: to.status, endedAt });
  if (isFault(moved)) return moved;
  if (isEnd) report.deletionEnded(moved);
  return null;
}

type AnnounceWorld = Omit<WithdrawWorld, "deletions"> &
  ReachWorld & {
    readonly accept: Accept;
    readonly deletions: WithdrawWorld["deletions"] & Pick<StoredDeletions, "unnoticed">;
  };

const IN_COMMIT = 20;

/**
 * Creates the notifications of a request, one for each user and affected source; the waiting events of that user and source
 * end with it. Notifications from before a crash are not repeated. Answers whether all are created; null if the daemon is
 * stopping.
 */
async function announce(deletion: Deletion, world: AnnounceWorld): Promise<true | Fault | null> {
  const held = await holdWaiting(deletion, world);
  if (held === null || isFault(held)) return held;
  for (const source of deletion.sources) {
    const refused = await announceFrom(source, { deletion, held }, world);
    if (refused !== true) return refused;
  }
  for (const withdrawal of held.rest()) {
    const ended = await world.withdraw(withdrawal);
    if (typeof ended !== "number") return ended;
  }
  return true;
}

type Announcing = { readonly deletion: Deletion; readonly held: Held };

async function announceFrom(source: string, of: Announcing, world: AnnounceWorld): Promise<true | Fault | null> {
  const { accept, deletions, signal } = world;
  const { deletion, held } = of;
  for (;;) {
    if (signal.aborted) return null;
    const users = await deletions.unnoticed({ id: deletion.id, source }, IN_COMMIT);
    if (users.length === 0) return true;
    const events = users.map((user) => makeNotice(user, source, deletion));
    const alsoTo = await holdersOf(source, world);
    const extras = users.map((user) => ({ ...extraOf(user, source, { deletion, held }), alsoTo }));
    const receipts = await accept(source, events, extras);
    if (isFault(receipts)) return receipts;
  }
}

function extraOf({ nth, userId }: Unnoticed, source: string, { deletion, held }: Announcing): Extra {
  const notice = { deletion: deletion.id, nth };
  const withdraws = held.withdrawalOf(source, userId);
  return withdraws ? { notice, withdraws } : { notice };
}

type EraseWorld = {
  readonly deletions: Pick<StoredDeletions, "people" | "erase" | "forgetPeople">;
  readonly rejections: { readonly forget: ForgetRejections };
  readonly clock: Pick<Clock, "nextTurn">;
  readonly signal: AbortSignal;
};

/**
 * Erases the data of a request's users here: events and attempts, refused calls, and finally their ids. Memberships were
 * removed with the request itself; any there are now come from a later list. Answers whether only traces are left; false if
 * something must be waited for, null if the daemon is stopping.
 */
async function erase(deletion: Deletion, world: EraseWorld): Promise<boolean | Fault | null> {
  const { deletions, rejections } = world;
  const userIds = await deletions.people(deletion.id);
  if (userIds.length === 0) return true;
  rejections.forget(userIds, deletion.scope);
  const erased = await eraseEvents(deletion, userIds, world);
  return erased === true ? deletions.forgetPeople(deletion) : erased;
}

type TracesWorld = {
  readonly deletions: Pick<StoredDeletions, "rewrite" | "scrub">;
  readonly signal: AbortSignal;
};

/** Removes the traces of erased rows from the store's files. */
type Traces = {
  /**
   * Answers whether no trace of these requests is left; false if a reader of the files prevents that, null if the daemon is
   * stopping.
   */
  remove(requests: readonly string[], world: TracesWorld): Promise<boolean | Fault | null>;
};

function createTraces(): Traces {
  // Requests that only wait for a reader: their files are not rewritten again.
  let rewritten: ReadonlySet<string> = new Set();
  return {
    async remove(requests, { deletions, signal }) {
      if (requests.some((id) => !rewritten.has(id))) {
        const done = await deletions.rewrite(signal);
        if (done !== true) return done;
        rewritten = new Set(requests);
      }
      return deletions.scrub();
    },
  };
}

async function eraseEvents(
  deletion: Deletion,
  userIds: readonly string[],
  { deletions, clock, signal }: EraseWorld,
): Promise<boolean | Fault | null> {
  const of = { users: new Set(userIds), sources: deletion.scope, upTo: deletion.upTo };
  let after: WalkCursor | null = null;
  let busy = false;
  do {
    if (signal.aborted) return null;
    const step = await deletions.erase(deletion, of, after);
    if ("code" in step) return step;
    busy ||= step.busy;
    after = step.next;
    await clock.nextTurn();
  } while (after !== null);
  return !busy;
}
