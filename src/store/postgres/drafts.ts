import type { Delivery } from "../../model/delivery.ts";
import type { Entry, Receipt } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import { addTo, type Draft, deliveriesOf, hasRoom, newDraft } from "../draft.ts";
import { type Key, keyOf } from "../message-key.ts";
import type { Sql } from "./database.ts";
import type { Numbers } from "./numbers.ts";
import { type PackedDraft, pack } from "./place.ts";
import { refOf } from "./streams.ts";

/** What becomes of the entries of several calls that share a statement. */
export type Plan = {
  /** For each call and entry: its receipt, or which of `stored` it is. */
  readonly calls: readonly (readonly (Receipt | number)[])[];
  readonly stored: readonly Entry[];
  /** Of those of them whose messageId a client chose. */
  readonly keys: readonly Key[];
};

type PlanParts = {
  /** Whether calls about any of these users are refused. */
  readonly refuses: (userIds: readonly (string | undefined)[], source: string) => boolean;
  /** These messageIds were seen before. */
  readonly known: ReadonlySet<Key>;
};

const DUPLICATE: Receipt = { kind: "duplicate" };
const SUPPRESSED: Receipt = { kind: "suppressed" };

export function planOf(calls: readonly (readonly Entry[])[], { refuses, known }: PlanParts): Plan {
  const stored: Entry[] = [];
  const keys = new Set<Key>();
  const answers = calls.map((entries) =>
    entries.map((entry): Receipt | number => {
      const { ownId, messageId, userId, previousId } = entry.event;
      // A deletion notice is about a suppressed user, and must be sent.
      if (!entry.notice && refuses([userId, previousId], entry.source)) return SUPPRESSED;
      if (!ownId) {
        const key = keyOf(entry.source, messageId);
        if (known.has(key) || keys.has(key)) return DUPLICATE;
        keys.add(key);
      }
      return stored.push(entry) - 1;
    }),
  );
  return { calls: answers, stored, keys: [...keys] };
}

/** The events as segments, and for each its number and its deliveries. */
export type Drafted = {
  readonly packed: readonly PackedDraft[];
  readonly numbers: readonly number[];
  readonly deliveries: readonly (readonly Delivery[])[];
};

export async function draftAll(stored: readonly Entry[], { sql, numbers, stream, now }: DraftParts): Promise<Drafted> {
  const drafts: Draft[] = [];
  const ids: number[] = [];
  const deliveries: (readonly Delivery[])[] = [];
  for (const [nth, entry] of stored.entries()) {
    let draft = drafts.at(-1);
    if (!draft || !hasRoom(draft)) {
      await numbers.prepare(sql, stored.length - nth);
      draft = newDraft(numbers.peek(), now);
      drafts.push(draft);
    }
    numbers.use();
    const ref = refOf({ stream, segment: draft.first });
    const id = addTo(draft, entry);
    ids.push(id);
    deliveries.push(deliveriesOf(entry, { id, ref, acceptedAt: now }));
  }
  return { packed: drafts.map(pack), numbers: ids, deliveries };
}

export type DraftParts = {
  readonly sql: Sql;
  readonly numbers: Numbers;
  readonly stream: number;
  readonly now: At;
};

/** The receipts of each call, once its entries are stored. */
export function receiptsOf({ calls }: Plan, { deliveries }: Drafted): readonly (readonly Receipt[])[] {
  return calls.map((answers) =>
    answers.map(
      (one): Receipt => (typeof one === "number" ? { kind: "accepted", deliveries: deliveries[one] ?? [] } : one),
    ),
  );
}
