/**
 * The tail: the newest segments, of which only `contents` is written. So a commit of new events is one row, one page and one
 * fsync. What follows from it (rows in `segments`, `progress`, `counts` and `seen`) is in memory, and is written for many
 * segments at once: the tail is folded. A crash loses nothing: each row of `contents` says what the others will, and which
 * deliveries had succeeded when it was written. The next start reads the tail from there. A segment is in the tail if its
 * number is higher than all in `segments`.
 *
 * The tail is folded when it is long or old, when successes have no new row to be written with, and before anything changes
 * those tables in another way. Whatever reads them asks the tail too (segment-rows.ts).
 */
import type { Report } from "../../model/report.ts";
import { type At, MINUTE } from "../../model/units.ts";
import type { Draft } from "../draft.ts";
import { countLetter, type Letter, statesOf } from "../segment.ts";
import { type Delivered, noTakers, note, type Takers, toLines } from "../takers.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Counts } from "./counts.ts";
import type { Database } from "./driver.ts";
import type { Place } from "./progress.ts";
import type { Repeats } from "./repeats.ts";
import type { Letters, Segment as SegmentRow, TailRows, WaitingLetters } from "./segment-rows.ts";
import { createInsertContents, type Loaded, readTail, type Success } from "./stored-tail.ts";

/** The tail is folded from so many segments or events on, or when its oldest segment is this old. */
const LONGEST = { segments: 256, events: 1_024, age: MINUTE };

export type Tail = Keeper &
  TailRows & {
    /** The last step of a transaction: writes the contents of its segments, which are in the tail from then on. */
    append(tx: Tx, drafts: readonly Draft[]): void;
    /** A waiting delivery was delivered by its first attempt. Answers whether it waited; null if it is not in the tail. */
    deliver(tx: Tx, place: Place, by: Delivered): boolean | null;
    /** Writes the rows of all segments in the tail. */
    fold(tx: Tx): void;
    /** Whether there is nothing to fold. */
    isEmpty(): boolean;
    /** The number after its last event; 0 if it is empty. */
    end(): number;
  };

/** A segment in the tail. */
type Segment = {
  readonly first: number;
  readonly events: number;
  /** Null if it is damaged, and nothing else says it. */
  readonly acceptedAt: At | null;
  readonly routes: ReadonlyMap<string, Route>;
};

/** A segment's deliveries to one destination: a letter for each event, as in `progress`, and who took those with a d. */
type Route = { readonly states: Buffer; waiting: number; readonly takers: Takers };

/** What a transaction has found delivered. `nth`: the event's index in its segment. */
type NewSuccess = Success & { readonly route: Route; readonly nth: number };

/** The segments in the tail, by number and in this order. */
type Held = {
  readonly segments: ReadonlyMap<number, Segment>;
  /** Of all segments. */
  events(): number;
  add(segment: Segment): void;
  clear(): void;
};

/** Of the transaction. */
type State = {
  /** Segments whose contents it has written, and what it has found delivered. */
  readonly fresh: Segment[];
  readonly successes: NewSuccess[];
  /** What it has folded: nothing, the segments held, or the fresh ones as well. */
  folded: "nothing" | "held" | "all";
};

type TailParts = { readonly counts: Counts; readonly repeats: Repeats; readonly report: Pick<Report, "storeFailed"> };

/** Also reads the tail that an earlier process has left. */
export function createTail(db: Database, { counts, repeats, report }: TailParts): Tail {
  const insertContents = createInsertContents(db);
  const insertRows = createInsertRows(db);
  const held = createHeld();
  let state = begin();
  for (const segment of readTail(db, report)) load(held, segment, { counts, repeats });

  return {
    append(tx, drafts) {
      drafts.forEach((draft, nth) => {
        insertContents(draft, nth === 0 && state.folded === "nothing" ? state.successes : []);
        state.fresh.push(toSegment(draft));
        for (const [destination, indexes] of draft.routed) counts.later(tx, destination, "waiting", indexes.length);
      });
      if (isLong(held, state, tx.now) || (state.successes.length > 0 && drafts.length === 0)) fold(tx);
    },
    deliver(tx, place, by) {
      const isHeld = state.folded === "nothing";
      const route = isHeld ? held.segments.get(place.segment)?.routes.get(place.destination) : undefined;
      if (!route) return null;
      const nth = place.id - place.segment;
      if (route.states[nth] !== WAITING) return false;
      mark(route, nth, DELIVERED);
      state.successes.push({ route, place, nth, by });
      counts.later(tx, place.destination, "waiting", -1);
      counts.later(tx, place.destination, "delivered", 1);
      return true;
    },
    fold,
    isEmpty: () => unfolded().size === 0,
    end: () => endOf(held),
    ...createTailRows(unfolded),
    write() {},
    committed() {
      const { folded, successes, fresh } = state;
      if (folded === "nothing") for (const { route, place, by } of successes) note(route.takers, place.id, by);
      else held.clear();
      if (folded !== "all") for (const segment of fresh) held.add(segment);
      state = begin();
    },
    rolledBack() {
      for (const { route, nth } of state.successes) mark(route, nth, WAITING);
      state = begin();
    },
  };

  function unfolded(): Held["segments"] {
    return state.folded === "nothing" ? held.segments : NONE;
  }

  function fold(tx: Tx): void {
    const { fresh, successes } = state;
    const takers = withSuccesses(unfolded().size > 0 ? successes : []);
    for (const segment of [...unfolded().values(), ...fresh]) insertRows(segment, takers, tx.now);
    state.folded = fresh.length > 0 ? "all" : "held";
    counts.fold(tx);
    repeats.fold(tx);
  }
}

function createTailRows(unfolded: () => Held["segments"]): TailRows {
  return {
    segments: () => [...unfolded().values()].map((segment) => toRow(segment, takersOf)),
    segmentUpTo(event) {
      const found = [...unfolded().values()].findLast(({ first }) => first <= event);
      return found && toRow(found, takersOf);
    },
    letters(number) {
      const segment = unfolded().get(number);
      return segment && toLetters(segment, takersOf);
    },
    waitingFor: (destination) => [...unfolded().values()].flatMap((segment) => waitingIn(segment, destination)),
  };
}

function begin(): State {
  return { fresh: [], successes: [], folded: "nothing" };
}

function createHeld(): Held {
  const segments = new Map<number, Segment>();
  let events = 0;
  return {
    segments,
    events: () => events,
    add(segment) {
      segments.set(segment.first, segment);
      events += segment.events;
    },
    clear() {
      segments.clear();
      events = 0;
    },
  };
}

const NONE: Held["segments"] = new Map();

/** The number after the last event; 0 if there is none. */
function endOf({ segments }: Held): number {
  const last = [...segments.values()].at(-1);
  return last ? last.first + last.events : 0;
}

function waitingIn({ first, acceptedAt, routes }: Segment, destination: string): readonly WaitingLetters[] {
  const { waiting, states } = routes.get(destination) ?? { waiting: 0, states: "" };
  if (waiting === 0) return [];
  return [{ segment: first, states: states.toString("latin1"), waiting, acceptedAt: acceptedAt ?? 0 }];
}

type Restoring = Pick<TailParts, "counts" | "repeats">;

/** Holds a segment that an earlier process has left, after those before it. */
function load(held: Held, loaded: Loaded, { counts, repeats }: Restoring): void {
  const { segment: first, events, about, acceptedAt, to, successes } = loaded;
  const routes = new Map(to.map(([destination, states]) => [destination, toRoute(states)]));
  held.add({ first, events, acceptedAt, routes });
  for (const [destination, { waiting }] of routes) counts.restore(destination, "waiting", waiting);
  repeats.restore(about, acceptedAt ?? 0);
  for (const [destination, at, url, status, ids] of successes) {
    for (const id of ids) {
      const segment = [...held.segments.values()].findLast((one) => one.first <= id);
      const route = segment?.routes.get(destination);
      if (!segment || route?.states[id - segment.first] !== WAITING) continue;
      mark(route, id - segment.first, DELIVERED);
      note(route.takers, id, { at, url, status });
      counts.restore(destination, "waiting", -1);
      counts.restore(destination, "delivered", 1);
    }
  }
}

const WAITING = codeOf("w");
const DELIVERED = codeOf("d");

function codeOf(letter: Letter): number {
  return letter.charCodeAt(0);
}

function isLong({ segments, events }: Held, { fresh }: State, now: At): boolean {
  if (segments.size + fresh.length >= LONGEST.segments) return true;
  if (fresh.reduce((sum, segment) => sum + segment.events, events()) >= LONGEST.events) return true;
  const [oldest] = segments.values();
  return oldest !== undefined && now - (oldest.acceptedAt ?? 0) >= LONGEST.age;
}

function mark(route: Route, nth: number, letter: number): void {
  route.states[nth] = letter;
  route.waiting += letter === WAITING ? 1 : -1;
}

function toSegment({ first, acceptedAt, bodies, routed }: Draft): Segment {
  const routes = new Map<string, Route>();
  for (const [destination, indexes] of routed) routes.set(destination, toRoute(statesOf(indexes, bodies.length)));
  return { first, events: bodies.length, acceptedAt, routes };
}

function toRoute(states: string): Route {
  return { states: Buffer.from(states, "latin1"), waiting: countLetter(states, "w"), takers: noTakers() };
}

/** Who took the deliveries of a route. */
type TakersOf = (route: Route) => readonly Takers[];

const takersOf: TakersOf = ({ takers }) => [takers];

/** The same with what the transaction adds. */
function withSuccesses(successes: readonly NewSuccess[]): TakersOf {
  const added = new Map<Route, Takers>();
  for (const { route, place, by } of successes) {
    const takers = added.get(route) ?? noTakers();
    note(takers, place.id, by);
    added.set(route, takers);
  }
  return (route) => [route.takers, added.get(route) ?? noTakers()];
}

function toRow({ first, events, acceptedAt: at, routes }: Segment, takersOf: TakersOf): SegmentRow {
  let [open, lastAt] = [0, 0];
  for (const route of routes.values()) {
    open += route.waiting;
    for (const takers of takersOf(route)) lastAt = Math.max(lastAt, takers.lastAt);
  }
  const acceptedAt = at ?? 0;
  // A segment without deliveries is settled at once.
  return { first, events, acceptedAt, open, settledAt: lastAt > 0 || open > 0 ? lastAt || null : acceptedAt };
}

function toLetters({ routes }: Segment, takersOf: TakersOf): readonly Letters[] {
  const byName = [...routes].sort(([one], [other]) => (one < other ? -1 : 1));
  return byName.map(([destination, route]) => {
    const [states, settled] = [route.states.toString("latin1"), takersOf(route).map(toLines).join("")];
    return { destination, states, waiting: route.waiting, settled };
  });
}

function createInsertRows(db: Database): (segment: Segment, takersOf: TakersOf, now: At) => void {
  const insertSegment = db.prepare<[number, number, At, number, At | null]>(
    "INSERT INTO segments (first, events, accepted_at, open, settled_at) VALUES (?, ?, ?, ?, ?)",
  );
  const insertProgress = db.prepare<[number, string, number, string, string]>(
    "INSERT INTO progress (segment, destination, waiting, states, settled) VALUES (?, ?, ?, ?, ?)",
  );
  return function insertRows(segment, takersOf, now) {
    const { first, events, acceptedAt, open, settledAt } = toRow(
      { ...segment, acceptedAt: segment.acceptedAt ?? now },
      takersOf,
    );
    insertSegment.run(first, events, acceptedAt, open, settledAt);
    for (const { destination, states, waiting, settled } of toLetters(segment, takersOf)) {
      insertProgress.run(first, destination, waiting, states, settled);
    }
  };
}
