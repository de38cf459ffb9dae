import type { Entry, Receipt } from "../../model/ports.ts";
import { type At, DAY } from "../../model/units.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import type { Repeats } from "./repeats.ts";

const ACCEPTED: Receipt = { kind: "accepted" };
const DUPLICATE: Receipt = { kind: "duplicate" };

/** Inside a transaction: stores what is not a repeat. Answers one receipt for each entry. */
export type AppendRows = (entries: readonly Entry[], now: At) => readonly Receipt[];

export function createAppend(db: Database, { counts, repeats }: { counts: Counts; repeats: Repeats }): AppendRows {
  const insertEvent = db.prepare(
    `INSERT INTO events (id, source, type, message_id, user_id, received_at, accepted_at, first_delivery, deliveries,
       skipped, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const insertDelivery = db.prepare<[number, number, string, number]>(
    "INSERT INTO deliveries (id, event_id, destination, state, due_at) VALUES (?, ?, ?, 'waiting', ?)",
  );
  // Only this daemon writes, so it can hand out the ids. A transaction that fails leaves a gap, and gaps do no harm.
  let { nextEvent, nextDelivery } = readNextIds(db);

  return function append(entries, now) {
    return entries.map((entry) => {
      const { ownId, messageId } = entry.event;
      if (!ownId && repeats.isRepeat(entry.source, messageId, now - DAY)) return DUPLICATE;
      insert(entry, now);
      return ACCEPTED;
    });
  };

  function insert({ source, event, body, deliverTo, skipped }: Entry, now: At): void {
    const id = nextEvent;
    const skips = skipped.length === 0 ? null : JSON.stringify(skipped);
    const { type, messageId, userId = null, receivedAt } = event;
    const ids = [nextDelivery, deliverTo.length];
    insertEvent.run(id, source, type, messageId, userId, receivedAt, now, ...ids, skips, body);
    for (const destination of deliverTo) {
      insertDelivery.run(nextDelivery, id, destination, now);
      counts.add(destination, "waiting", 1);
      nextDelivery += 1;
    }
    nextEvent += 1;
  }
}

type NextIds = { readonly nextEvent: number; readonly nextDelivery: number };

/** An event keeps the ids of its deliveries when they are pruned before it: another's would keep it from being pruned. */
function readNextIds(db: Database): NextIds {
  const last = db.prepare<[], NextIds>(
    "SELECT id + 1 AS nextEvent, first_delivery + deliveries AS nextDelivery FROM events ORDER BY id DESC LIMIT 1",
  );
  return last.get() ?? { nextEvent: 1, nextDelivery: 1 };
}
