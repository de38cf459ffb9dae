import type { Delivery } from "../../model/delivery.ts";
import type { Entry } from "../../model/ports.ts";
import type { At } from "../../model/units.ts";
import { packBodies } from "./bodies.ts";
import { checksum } from "./checksum.ts";
import type { Keeper } from "./commits.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { type About, statesOf } from "./letters.ts";
import { untried } from "./untried.ts";

/** Events in one segment: what the delivery loop reads and writes of it stays small. */
const MOST_EVENTS = 256;
/** Characters of bodies in one segment, from which on a new one is begun. */
const MOST_BODIES = 256 * 1_024;

const NOWHERE: readonly Delivery[] = [];

/** The events of the running transaction, which become segments at its end: a few large rows in place of many. */
export type Segments = Keeper & {
  /** Inside a transaction: numbers the event, and answers the deliveries that wait for it. */
  add(entry: Entry, now: At): readonly Delivery[];
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
    add(entry, now) {
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
    write() {
      for (const draft of drafts) insert(draft);
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

function createInsert(db: Database, counts: Counts): (draft: Draft) => void {
  const insertSegment = db.prepare<[number, number, number, number, number | null]>(
    "INSERT INTO segments (first, events, accepted_at, open, settled_at) VALUES (?, ?, ?, ?, ?)",
  );
  const insertContents = db.prepare<[number, string, string | Buffer, number]>(
    "INSERT INTO contents (segment, about, bodies, sum) VALUES (?, ?, ?, ?)",
  );
  const insertProgress = db.prepare<[number, string, number, string]>(
    "INSERT INTO progress (segment, destination, waiting, states) VALUES (?, ?, ?, ?)",
  );

  return function insert({ first, acceptedAt, about, bodies, routed }) {
    let open = 0;
    for (const [destination, indexes] of routed) {
      open += indexes.length;
      insertProgress.run(first, destination, indexes.length, statesOf(indexes, bodies.length));
      counts.add(destination, "waiting", indexes.length);
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
