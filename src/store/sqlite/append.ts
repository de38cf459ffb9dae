import type { MemberChange } from "../../model/audience.ts";
import type { Delivery, FinalAnswer } from "../../model/delivery.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import type { Entry, Receipt, Store } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/withdrawal.ts";
import { OutboxGone } from "../presence.ts";
import { type Room, UNWRITTEN } from "../room.ts";
import type { Commits, Keeper, Tx } from "./commits.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { unwritable } from "./files.ts";
import type { MemberBatch, MemberRows } from "./members.ts";
import type { Notices } from "./notices.ts";
import type { Repeats } from "./repeats.ts";
import { type About, checksum, packBodies, refOf, statesOf } from "./segment.ts";
import type { Withdrawn, WithdrawRows } from "./settle.ts";
import type { Suppression } from "./suppressed.ts";

export type IntakeWorld = {
  readonly commits: Commits;
  readonly room: Pick<Room, "refusal">;
  readonly appendRows: AppendRows;
  readonly withdrawal: WithdrawRows;
  /** Called after a commit that has ended the waiting of these. */
  readonly withdrawn: (deliveries: readonly Withdrawn[]) => void;
};

/** What comes in, and what must not go out any more because of it. */
export function createIntake(world: IntakeWorld): Pick<Store, "append" | "withdraw"> {
  const { commits, room, appendRows, withdrawal } = world;
  return {
    append(entries) {
      if (entries.length === 0) return Promise.resolve([]);
      const refusal = room.refusal();
      if (refusal) return Promise.resolve(refusal);
      const withdrawn: Withdrawn[] = [];
      const run = (tx: Tx): readonly Receipt[] => appendRows(tx, entries, emptied(withdrawn));
      const job = {
        rows: rowsOf(entries),
        run,
        failed: (error: unknown) => (error instanceof OutboxGone ? error.fault : UNWRITTEN),
      };
      const written = commits.add<readonly Receipt[] | Fault>(job);
      return entries.some(({ withdraws, change }) => withdraws ?? change) ? tellThen(written, withdrawn) : written;
    },
    async withdraw(wish) {
      const run = (tx: Tx): readonly Withdrawn[] => withdrawal.run(tx, wish);
      const answer = await commits.add<readonly Withdrawn[] | Fault>({
        rows: wish.events.length,
        run,
        failed: unwritable,
      });
      if (isFault(answer)) return answer;
      if (answer.length > 0) world.withdrawn(answer);
      return answer.length;
    },
  };

  /** Whoever has them in memory hears of it as soon as it is durable. */
  async function tellThen<T extends object>(written: Promise<T>, withdrawn: readonly Withdrawn[]): Promise<T> {
    const answer = await written;
    if (withdrawn.length > 0 && !isFault(answer)) world.withdrawn(withdrawn);
    return answer;
  }
}

/** A transaction that fails with others is tried by itself: nothing of the first time counts. */
function emptied<T>(list: T[]): T[] {
  list.length = 0;
  return list;
}

function rowsOf(entries: readonly Entry[]): number {
  return entries.reduce((rows, { deliverTo }) => rows + 1 + deliverTo.length, 0);
}

const DUPLICATE: Receipt = { kind: "duplicate" };
const SUPPRESSED: Receipt = { kind: "suppressed" };

/** Stores what is not a repeat. Answers one receipt for each entry, and adds to the list what it has withdrawn. */
export type AppendRows = (tx: Tx, entries: readonly Entry[], withdrawn: Withdrawn[]) => readonly Receipt[];

export type AppendParts = {
  readonly segments: Segments;
  readonly repeats: Repeats;
  readonly suppression: Pick<Suppression, "refuses">;
  readonly withdrawal: WithdrawRows;
  readonly notices: Pick<Notices, "has" | "note">;
  readonly memberRows: MemberRows;
};

const NO_CHANGES: readonly MemberChange[] = [];
/** Of nearly all events, which tell of no membership. */
const NO_MEMBERS: MemberBatch = { older: [], take: () => false, write() {}, close() {} };

export function createAppend(parts: AppendParts): AppendRows {
  const { segments, repeats, suppression, withdrawal, notices, memberRows } = parts;
  return function append(tx, entries, withdrawn) {
    const changes = entries.some(({ change }) => change) ? entries.flatMap(({ change }) => change ?? []) : NO_CHANGES;
    const batch = changes.length > 0 ? memberRows.open(tx, changes) : NO_MEMBERS;
    if (batch.older.length > 0) withdrawn.push(...withdrawal.run(tx, { events: batch.older, reason: SUPERSEDED }));
    const receipts = entries.map((entry): Receipt => {
      const { ownId, messageId, userId, previousId } = entry.event;
      // The notification that a user is deleted goes out all the same.
      if (!entry.notice && suppression.refuses([userId, previousId], entry.source)) return SUPPRESSED;
      // Its user was forgotten since it was read.
      if (entry.change && !batch.take(entry.change)) return DUPLICATE;
      if (!ownId && repeats.isRepeat(tx, entry.source, messageId, tx.now - DAY)) return DUPLICATE;
      const { notice, source, deliverTo } = entry;
      if (notice && notices.has(notice, source)) return DUPLICATE;
      if (notice) notices.note(tx, notice, { source, event: segments.nextNumber(), deliverTo });
      if (entry.withdraws) withdrawn.push(...withdrawal.run(tx, entry.withdraws));
      const deliveries = segments.add(tx, entry);
      if (entry.change) batch.write(entry.change, deliveries[0]?.id ?? null);
      return { kind: "accepted", deliveries };
    });
    batch.close();
    return receipts;
  };
}

/** Events in one segment: what the delivery loop reads and writes of it stays small. */
const MOST_EVENTS = 256;
/** Characters of bodies in one segment, from which on a new one is begun. */
const MOST_BODIES = 256 * 1_024;

const NOWHERE: readonly Delivery[] = [];

/** The events of the running transaction, which become segments at its end: a few large rows in place of many. */
export type Segments = Keeper & {
  /** Numbers the event, and answers the deliveries that wait for it. */
  add(tx: Tx, entry: Entry): readonly Delivery[];
  /** The number that the next event gets. */
  nextNumber(): number;
};

/** A segment that is not written yet. */
type Draft = {
  readonly first: number;
  readonly acceptedAt: At;
  readonly about: About[];
  readonly bodies: string[];
  /** Of all bodies, in characters. */
  size: number;
  /** By destination: which of the events go to it, counted from 0. */
  readonly routed: Map<string, number[]>;
};

export function createSegments(db: Database, counts: Counts): Segments {
  const insert = createInsert(db, counts);
  // Only this daemon writes, so it can hand out the numbers.
  let nextEvent = readNextEvent(db);
  let drafts: Draft[] = [];

  return {
    add({ now }, entry) {
      const draft = draftFor(now);
      const index = draft.bodies.length;
      draft.about.push(aboutOf(entry));
      draft.bodies.push(entry.body);
      draft.size += entry.body.length;
      if (entry.deliverTo.length === 0) return NOWHERE;
      return entry.deliverTo.map((destination) => {
        note(draft.routed, destination, index);
        return deliveryOf(entry, destination, { draft, index });
      });
    },
    nextNumber: afterDrafts,
    write(tx) {
      for (const draft of drafts) insert(tx, draft);
    },
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
    const draft = { first: afterDrafts(), acceptedAt: now, about: [], bodies: [], size: 0, routed: new Map() };
    drafts.push(draft);
    return draft;
  }

  function afterDrafts(): number {
    const last = drafts.at(-1);
    return last ? last.first + last.bodies.length : nextEvent;
  }
}

function createInsert(db: Database, counts: Counts): (tx: Tx, draft: Draft) => void {
  const insertSegment = db.prepare<[number, number, number, number, number | null]>(
    "INSERT INTO segments (first, events, accepted_at, open, settled_at) VALUES (?, ?, ?, ?, ?)",
  );
  const insertContents = db.prepare<[number, string, string | Buffer, number]>(
    "INSERT INTO contents (segment, about, bodies, sum) VALUES (?, ?, ?, ?)",
  );
  const insertProgress = db.prepare<[number, string, number, string]>(
    "INSERT INTO progress (segment, destination, waiting, states) VALUES (?, ?, ?, ?)",
  );

  return function insert(tx, { first, acceptedAt, about, bodies, routed }) {
    let open = 0;
    for (const [destination, indexes] of routed) {
      open += indexes.length;
      insertProgress.run(first, destination, indexes.length, statesOf(indexes, bodies.length));
      counts.add(tx, destination, "waiting", indexes.length);
    }
    // What goes nowhere is settled at once.
    insertSegment.run(first, bodies.length, acceptedAt, open, open === 0 ? acceptedAt : null);
    const [told, packed] = [JSON.stringify(about), packBodies(bodies)];
    insertContents.run(first, told, packed, checksum(told, packed));
  };
}

function aboutOf({ source, event, skipped }: Entry): About {
  const { type, messageId, userId = null } = event;
  return skipped.length === 0 ? [source, type, messageId, userId] : [source, type, messageId, userId, skipped];
}

function note(routed: Map<string, number[]>, destination: string, index: number): void {
  const indexes = routed.get(destination);
  if (indexes) indexes.push(index);
  else routed.set(destination, [index]);
}

type Place = { readonly draft: Draft; readonly index: number };

function deliveryOf({ event, body }: Entry, destination: string, { draft, index }: Place): Delivery {
  const { first, acceptedAt } = draft;
  const { messageId, type } = event;
  return untried({ id: first + index, destination, segment: first, messageId, type, body, acceptedAt });
}

/** A number is never given twice, also when the newest segments were pruned. */
function readNextEvent(db: Database): number {
  const newest = db.prepare<[], { next: number }>(
    "SELECT first + events AS next FROM segments ORDER BY first DESC LIMIT 1",
  );
  const pruned = db.prepare<[], { next: number }>("SELECT value AS next FROM meta WHERE name = 'next_event'");
  return Math.max(newest.get()?.next ?? 1, pruned.get()?.next ?? 1);
}

const NO_FINALS: readonly FinalAnswer[] = [];

/** What is known of a delivery before its first attempt. */
export type Untried = Pick<Delivery, "id" | "destination" | "messageId" | "type" | "body" | "acceptedAt"> & {
  readonly segment: number;
};

/** A delivery that waits for its first attempt, which is due since it was accepted. */
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
