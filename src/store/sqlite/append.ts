import type { MemberChange } from "../../model/audience.ts";
import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import type { Skip } from "../../model/event.ts";
import { isFault } from "../../model/fault.ts";
import type { Entry, Receipt, Store } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import { OutboxGone } from "../presence.ts";
import { type Room, UNWRITTEN } from "../room.ts";
import { type About, MOST_EVENTS, storeSkips } from "../segment.ts";
import type { Commits, Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import type { MemberBatch } from "./members.ts";
import type { Notices } from "./notices.ts";
import { refOf } from "./progress.ts";
import type { Tables } from "./tables.ts";
import type { Tail } from "./tail.ts";
import type { Withdrawn, WithdrawRows } from "./waiting.ts";

type IntakeParts = {
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly appendRows: AppendRows;
  readonly withdrawal: WithdrawRows;
  /** Called after a commit that has withdrawn these. */
  readonly withdrawn: (deliveries: readonly Withdrawn[]) => void;
};

/** Stores new events, and withdraws those that must not be sent any more. */
export function createIntake(parts: IntakeParts): Pick<Store, "append" | "withdraw"> {
  const { commits, room, appendRows, withdrawal } = parts;
  return {
    append(entries) {
      if (entries.length === 0) return Promise.resolve([]);
      const refusal = room.refusal();
      if (refusal) return Promise.resolve(refusal);
      const withdrawn: Withdrawn[] = [];
      const written = commits.add({
        rows: rowsOf(entries),
        run(tx) {
          // A transaction that fails with others is tried again by itself: what it withdrew the first time does not count.
          withdrawn.length = 0;
          return appendRows(tx, entries, withdrawn);
        },
        failed: (error) => (error instanceof OutboxGone ? error.fault : UNWRITTEN),
      });
      return entries.some(({ withdraws, change }) => withdraws ?? change) ? announce(written, withdrawn) : written;
    },
    async withdraw(wish) {
      const answer = await commits.add({ rows: wish.events.length, run: (tx) => withdrawal.run(tx, wish) });
      if (isFault(answer)) return answer;
      if (answer.length > 0) parts.withdrawn(answer);
      return answer.length;
    },
  };

  /** The delivery loop has them in memory, and hears of it as soon as it is durable. */
  async function announce<T extends object>(written: Promise<T>, withdrawn: readonly Withdrawn[]): Promise<T> {
    const answer = await written;
    if (withdrawn.length > 0 && !isFault(answer)) parts.withdrawn(withdrawn);
    return answer;
  }
}

function rowsOf(entries: readonly Entry[]): number {
  return entries.reduce((rows, { deliverTo }) => rows + 1 + deliverTo.length, 0);
}

const DUPLICATE: Receipt = { kind: "duplicate" };
const SUPPRESSED: Receipt = { kind: "suppressed" };

/** Stores the entries that are no repeats. Answers one receipt for each, and adds to `withdrawn` what it has withdrawn. */
export type AppendRows = (tx: Tx, entries: readonly Entry[], withdrawn: Withdrawn[]) => readonly Receipt[];

type AppendParts = { readonly tables: Tables; readonly withdrawal: WithdrawRows; readonly notices: Notices };

const NO_CHANGES: readonly MemberChange[] = [];
/** For nearly all calls: their events change no membership. */
const NO_MEMBERS: MemberBatch = { older: [], take: () => false, write() {}, close() {} };

export function createAppend({ tables, withdrawal, notices }: AppendParts): AppendRows {
  const { segments, repeats, suppression, memberRows } = tables;
  return function append(tx, entries, withdrawn) {
    const changes = entries.some(({ change }) => change) ? entries.flatMap(({ change }) => change ?? []) : NO_CHANGES;
    const batch = changes.length > 0 ? memberRows.open(tx, changes) : NO_MEMBERS;
    if (batch.older.length > 0) withdrawn.push(...withdrawal.run(tx, { events: batch.older, reason: SUPERSEDED }));
    const receipts = entries.map((entry): Receipt => {
      const { ownId, messageId, userId, previousId } = entry.event;
      // A deletion notice is about a suppressed user, and must be sent.
      if (!entry.notice && suppression.refuses([userId, previousId], entry.source)) return SUPPRESSED;
      // The user was forgotten after the change was read.
      if (entry.change && !batch.take(entry.change)) return DUPLICATE;
      if (!ownId && repeats.isRepeat(tx, entry.source, messageId, tx.now - DAY)) return DUPLICATE;
      const { notice, source, deliverTo } = entry;
      if (notice && notices.has(notice, source)) return DUPLICATE;
      if (notice) notices.note(tx, notice, { source, event: segments.nextNumber(), deliverTo });
      if (entry.withdraws) withdrawn.push(...withdrawal.run(tx, entry.withdraws));
      const deliveries = deliveriesOf(entry, segments.add(tx, entry));
      if (entry.change) batch.write(entry.change, deliveries[0]?.id ?? null);
      return { kind: "accepted", deliveries };
    });
    batch.close();
    return receipts;
  };
}

const NOWHERE: readonly Delivery[] = [];

function deliveriesOf({ event, body, deliverTo }: Entry, { id, segment, acceptedAt }: Spot): readonly Delivery[] {
  if (deliverTo.length === 0) return NOWHERE;
  const { messageId, type } = event;
  return deliverTo.map((destination) => untried({ id, destination, segment, messageId, type, body, acceptedAt }));
}

/** Characters of bodies at which a new segment is begun. */
const MOST_BODIES = 256 * 1_024;

/** A segment that the transaction will write. */
export type Draft = {
  readonly first: number;
  readonly acceptedAt: At;
  readonly about: About[];
  readonly bodies: string[];
  /** Of all bodies, in characters. */
  size: number;
  /** By destination: the indexes of its events, from 0. */
  readonly routed: Map<string, number[]>;
  /** Lists of skips: the index of the first event that has it. */
  readonly skips: Map<readonly Skip[], number>;
};

/** Where an event is. */
type Spot = { readonly id: number; readonly segment: number; readonly acceptedAt: At };

/** Collects the events of a transaction into segments: a few large rows in place of many. They are written into the tail. */
export type Segments = Keeper & {
  /** Numbers the event. */
  add(tx: Tx, entry: Entry): Spot;
  /** The number that the next event gets. */
  nextNumber(): number;
};

export function createSegments(db: Database, tail: Tail): Segments {
  // Only this daemon writes, so the numbers can be counted in memory.
  let nextEvent = Math.max(readNextEvent(db), tail.end());
  let drafts: Draft[] = [];

  return {
    add({ now }, entry) {
      const draft = draftFor(now);
      const { first, acceptedAt, about, bodies, routed } = draft;
      const index = bodies.length;
      about.push(aboutOf(entry, draft));
      bodies.push(entry.body);
      draft.size += entry.body.length;
      for (const destination of entry.deliverTo) note(routed, destination, index);
      return { id: first + index, segment: first, acceptedAt };
    },
    nextNumber: afterDrafts,
    write: (tx) => tail.append(tx, drafts),
    committed() {
      nextEvent = afterDrafts();
      drafts = [];
    },
    rolledBack() {
      drafts = [];
    },
  };

  function draftFor(now: At): Draft {
    const last = drafts.at(-1);
    if (last && last.bodies.length < MOST_EVENTS && last.size < MOST_BODIES) return last;
    const [routed, skips] = [new Map(), new Map()];
    const draft = { first: afterDrafts(), acceptedAt: now, about: [], bodies: [], size: 0, routed, skips };
    drafts.push(draft);
    return draft;
  }

  function afterDrafts(): number {
    const last = drafts.at(-1);
    return last ? last.first + last.bodies.length : nextEvent;
  }
}

/** Events of one source and type have the same list of skips, and hundreds of destinations make it long: it is stored once. */
function aboutOf({ source, event, skipped }: Entry, { skips, bodies }: Draft): About {
  const { type, messageId, userId = null } = event;
  if (skipped.length === 0) return [source, type, messageId, userId];
  const same = skips.get(skipped);
  if (same === undefined) skips.set(skipped, bodies.length);
  return [source, type, messageId, userId, same ?? storeSkips(skipped)];
}

function note(routed: Map<string, number[]>, destination: string, index: number): void {
  const indexes = routed.get(destination);
  if (indexes) indexes.push(index);
  else routed.set(destination, [index]);
}

/** No number is used twice, even after the newest segments were pruned. */
function readNextEvent(db: Database): number {
  const newest = db.prepare<[], { next: number }>(
    "SELECT first + events AS next FROM segments ORDER BY first DESC LIMIT 1",
  );
  const pruned = db.prepare<[], { next: number }>("SELECT value AS next FROM meta WHERE name = 'next_event'");
  return Math.max(newest.get()?.next ?? 1, pruned.get()?.next ?? 1);
}

const NO_FINALS: readonly FinalAnswer[] = [];

/** A delivery before its first attempt. */
export type Untried = Pick<Delivery, "id" | "destination" | "messageId" | "type" | "body" | "acceptedAt"> & {
  readonly segment: number;
};

/** A delivery before its first attempt, which has been due since it was accepted. */
export function untried({ id, destination, segment, messageId, type, body, acceptedAt }: Untried): Delivery {
  return {
    id,
    destination,
    ref: refOf(segment),
    messageId,
    type,
    body,
    acceptedAt,
    attempts: 0,
    firstAttemptAt: null,
    attemptedAt: null,
    replayedAt: null,
    stoodStill: 0,
    dueAt: acceptedAt,
    finals: NO_FINALS,
  };
}
