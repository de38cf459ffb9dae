import type { MemberChange } from "../../model/audience.ts";
import type { Notice } from "../../model/deletion.ts";
import type { DeliveryKey } from "../../model/delivery.ts";
import { isFault } from "../../model/fault.ts";
import type { Entry, Receipt, Store } from "../../model/ports.ts";
import { DAY } from "../../model/units.ts";
import { SUPERSEDED, type Withdrawal } from "../../model/waiting-deliveries.ts";
import { keyOf } from "../message-key.ts";
import { UNWRITTEN } from "../room.ts";
import { type AppendParts, noteStored } from "./append.ts";
import type { Held } from "./claims.ts";
import type { Tx } from "./database.ts";
import { type Drafted, draftAll, planOf, receiptsOf } from "./drafts.ts";
import type { Engine } from "./engine.ts";
import { findSeen, isPlaced, place } from "./place.ts";

/** The memberships that the events of a transaction change. */
export type MemberBatch = {
  /** Events that these changes supersede. */
  readonly older: readonly number[];
  /** Whether the change must still be made. */
  take(change: MemberChange): boolean;
  /** The change was reported by this event; null: by none, because nobody is notified. */
  write(change: MemberChange, event: number | null): void;
  /** Writes them. */
  close(): Promise<void>;
};

type CarefulParts = AppendParts & {
  readonly openBatch: (tx: Tx, changes: readonly MemberChange[]) => Promise<MemberBatch>;
  /** Writes the settlements that wait: what has ended is not withdrawn. */
  readonly caughtUp: () => Promise<void>;
  readonly withdrawRows: (tx: Tx, withdrawal: Withdrawal) => Promise<readonly DeliveryKey[]>;
  readonly notices: {
    has(tx: Tx, notice: Notice, source: string): Promise<boolean>;
    note(tx: Tx, notice: Notice, as: NoticeOf): Promise<void>;
  };
};

export type NoticeOf = { readonly source: string; readonly event: number; readonly deliverTo: readonly string[] };

const DUPLICATE: Receipt = { kind: "duplicate" };
/** Why nothing was stored. */
const TAKEN = {
  refused: "another daemon has taken the stream meanwhile",
  repeated: "another daemon has stored one of their messageIds meanwhile",
} as const;
const NO_MEMBERS: MemberBatch = { older: [], take: () => false, write() {}, close: async () => {} };

type Done = {
  readonly held: Held;
  readonly drafted: Drafted;
  readonly receipts: (drafted: Drafted) => readonly Receipt[];
};

/**
 * Stores entries that withdraw others, are notices of a deletion, or change memberships, in one transaction. They are few, and
 * their callers repeat what failed.
 */
export function createCareful(parts: CarefulParts): (entries: readonly Entry[]) => ReturnType<Store["append"]> {
  const { engine, caughtUp } = parts;
  return async function appendCarefully(entries) {
    await caughtUp();
    const withdrawn: DeliveryKey[] = [];
    let tried: Done | null = null;
    const written = await engine.write("commit", async (tx) => {
      withdrawn.length = 0;
      tried = null;
      tried = await append(tx, entries, { ...parts, withdrawn });
      return tried;
    });
    const done = isFault(written) ? await madeAfterAll(tried, engine) : written;
    if (done === null) return UNWRITTEN;
    const drafted = noteStored(engine, done.held, done.drafted);
    if (withdrawn.length > 0) engine.tell({ kind: "withdrawn", deliveries: withdrawn });
    return done.receipts(drafted);
  };
}

/** The answer to the commit may have been lost. */
async function madeAfterAll(tried: Done | null, { streams, counts, db, tell }: Engine): Promise<Done | null> {
  const [draft] = tried?.drafted.packed ?? [];
  if (tried === null || draft === undefined) return null;
  try {
    await streams.fence(tried.held.stream);
    return (await isPlaced(db, draft.first)) ? tried : null;
  } catch {
    // Nobody knows, while the database is away: should it be there, it is found once that can be read.
    counts.doubt([tried.held.stream]);
    tell({ kind: "moved", what: "all" });
    return null;
  }
}

async function append(
  tx: Tx,
  entries: readonly Entry[],
  parts: CarefulParts & { readonly withdrawn: DeliveryKey[] },
): Promise<Done> {
  const { engine, numbers, refuses, openBatch, withdrawRows, notices, withdrawn } = parts;
  const changes = entries.flatMap(({ change }) => change ?? []);
  const batch = changes.length > 0 ? await openBatch(tx, changes) : NO_MEMBERS;
  if (batch.older.length > 0) withdrawn.push(...(await withdrawRows(tx, { events: batch.older, reason: SUPERSEDED })));
  const known = await findSeen(tx, entries.filter(({ event }) => !event.ownId).map(keyOfEntry), tx.now - DAY);
  // The user was forgotten after the change was read, or the notice was made before.
  const needless = new Set<Entry>();
  for (const entry of entries) {
    const isMade = entry.notice && (await notices.has(tx, entry.notice, entry.source));
    if (isMade || (entry.change && !batch.take(entry.change))) needless.add(entry);
  }
  const wanted = entries.filter((entry) => !needless.has(entry));
  const plan = planOf([wanted], { refuses, known });
  const held = engine.streams.home();
  const drafted = await draftAll(plan.stored, { sql: tx, numbers, stream: held.stream, now: tx.now });
  if (plan.stored.length > 0) {
    const result = await place(tx, { ...plan, ...drafted, held, now: tx.now, since: tx.now - DAY });
    if (result !== "placed") throw new Error(`the events could not be stored: ${TAKEN[result]}; they are tried again`);
  }
  for (const [nth, entry] of plan.stored.entries()) {
    const event = drafted.numbers[nth] ?? 0;
    const { notice, change, source, deliverTo, withdraws } = entry;
    if (notice) await notices.note(tx, notice, { source, event, deliverTo });
    if (withdraws) withdrawn.push(...(await withdrawRows(tx, withdraws)));
    if (change) batch.write(change, deliverTo.length > 0 ? event : null);
  }
  await batch.close();
  return { held, drafted, receipts };

  function receipts(stored: Drafted): readonly Receipt[] {
    const [made = []] = receiptsOf(plan, stored);
    const byEntry = new Map(wanted.map((entry, nth) => [entry, made[nth] ?? DUPLICATE]));
    return entries.map((entry) => byEntry.get(entry) ?? DUPLICATE);
  }
}

function keyOfEntry({ source, event }: Entry): string {
  return keyOf(source, event.messageId);
}
