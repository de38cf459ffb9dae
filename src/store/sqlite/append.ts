import type { MemberChange } from "../../model/audience.ts";
import { isFault } from "../../model/fault.ts";
import type { Entry, Receipt, Store } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import { SUPERSEDED } from "../../model/waiting-deliveries.ts";
import { addTo, type Draft, deliveriesOf, hasRoom, newDraft, type Spot } from "../draft.ts";
import { OutboxGone } from "../presence.ts";
import { type Room, UNWRITTEN } from "../room.ts";
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

/** Stores new events, and withdraws those that must no longer be sent. */
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

  /** The delivery loop has them in memory, and is called as soon as it is durable. */
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
      return { id: addTo(draft, entry), ref: refOf(draft.first), acceptedAt: draft.acceptedAt };
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
    if (last && hasRoom(last)) return last;
    const draft = newDraft(afterDrafts(), now);
    drafts.push(draft);
    return draft;
  }

  function afterDrafts(): number {
    const last = drafts.at(-1);
    return last ? last.first + last.bodies.length : nextEvent;
  }
}

/** No number is used twice, even after the newest segments were pruned. */
function readNextEvent(db: Database): number {
  const newest = db.prepare<[], { next: number }>(
    "SELECT first + events AS next FROM segments ORDER BY first DESC LIMIT 1",
  );
  const pruned = db.prepare<[], { next: number }>("SELECT value AS next FROM meta WHERE name = 'next_event'");
  return Math.max(newest.get()?.next ?? 1, pruned.get()?.next ?? 1);
}
