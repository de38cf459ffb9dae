/**
 * Keeps the deliveries of each user in the order of acceptance, for a destination with `order: user`. At most one of a
 * user has its turn: it is sent, and retried, until its final settlement. Those behind it wait in a line, of which only
 * the numbers are in memory: about twelve bytes each. Their bodies are read again when their turn comes; a few are
 * kept, as most lines are short.
 *
 * setting up: the stored retries are read first. Nothing starts before it is known who has one.
 * waiting:    a delivery is read, or was committed just now, and others of its user are before it.
 * turn:       all before it are settled. It is loaded: from those kept, or from the store.
 *
 * After a crash the lines are made again from what the store says, so nothing about them is stored. A delivery keeps
 * its turn. One that the operator replays or moves here joins the line when it is read, ahead of the others in it.
 */
import type { Delivery } from "../model/delivery.ts";
import { specifiedBody } from "../model/payload.ts";
import type { Queue, QueueAsk, QueuePage, QueuePosition } from "../model/ports.ts";
import { type At, KB } from "../model/units.ts";

/** Bodies that are kept of deliveries in lines, and their characters in all. */
const MOST_KEPT = 1_024;
const MOST_BODIES = 512 * KB;
/** Numbers so near to each other may have been stored together, and are read together. */
const NEAR = 256;
/** Reads for those whose turn has come, at once. */
const MOST_READS = 8;

export type Order = {
  /** A delivery was read from this queue, or was committed just now. Answers whether it has its turn; if not, it joins the line. */
  admit(delivery: Delivery, queue: Queue): boolean;
  /**
   * It has its final settlement, or was withdrawn: the turn goes to the next in its line. Answers whether there is one.
   */
  over(id: number): boolean;
  /** The result of its attempt: it is final, or it waits for a retry and keeps its turn. Answers the same. */
  decided(id: number, isFinal: boolean): boolean;
  /** Begins again with these, which are being sent. */
  reset(sending: ReadonlySet<number>): void;
  isSettingUp(): boolean;
  /** A stored retry, found while setting up. */
  note(retry: Delivery): void;
  /** All stored retries were noted. */
  setUp(): void;
  /** Whether some that have their turn must be loaded. */
  hasNext(): boolean;
  /** Those of them whose bodies were kept. Each is answered once. */
  takeKept(): readonly Delivery[];
  /** Takes out those that are retries and not due yet: they are read when they are. */
  takeLater(now: At): readonly QueuePosition[];
  /** Where to read the others. */
  reads(): readonly Read[];
  /** What one of these reads has found. Answers those to be loaded. */
  found(read: Read, page: QueuePage): readonly Delivery[];
  /** How many wait for an earlier one of their user, as far as is known. */
  waiting(): number;
  /** Which of these do. */
  waitingOf(ids: ReadonlySet<number>): ReadonlySet<number>;
};

export type Read = { readonly ask: Omit<QueueAsk, "destination">; readonly ids: readonly number[] };

/** The deliveries of one user that are known of. */
type Line = {
  /** The number of the one that has its turn; 0 if it is yet to be chosen. */
  turn: number;
  /** Whether that one waits for a retry: the others wait for long. */
  isBlocked: boolean;
  /** The numbers of the others, in order, from `next` on. */
  behind: number[];
  next: number;
};

type State = {
  readonly lines: Map<User, Line>;
  /** The deliveries that have their turn, and whose they are. */
  readonly turns: Map<number, User>;
  /** Those of them that must be read, and those whose bodies were kept. */
  readonly unread: Set<number>;
  readonly ready: Delivery[];
  /** When those in lines are due that are retries. */
  readonly dues: Map<number, At>;
  readonly kept: Map<number, Delivery>;
  /** Characters of bodies. */
  keptSize: number;
  waiting: number;
  isSettingUp: boolean;
};

export function createOrder(): Order {
  const state: State = {
    lines: new Map(),
    turns: new Map(),
    unread: new Set(),
    ready: [],
    dues: new Map(),
    kept: new Map(),
    keptSize: 0,
    waiting: 0,
    isSettingUp: true,
  };
  const { lines, turns, unread, ready, dues } = state;
  return {
    admit: (delivery, queue) => admit(delivery, queue, state),
    over: (id) => over(id, state),
    decided(id, isFinal) {
      if (isFinal) return over(id, state);
      block(id, state);
      return false;
    },
    reset: (sending) => reset(sending, state),
    isSettingUp: () => state.isSettingUp,
    note(retry) {
      const user = userOf(retry.body);
      if (user === null || turns.has(retry.id)) return;
      join(lineFor(user, 0, state), retry.id, state);
      dues.set(retry.id, retry.dueAt);
    },
    setUp() {
      state.isSettingUp = false;
      for (const [user, line] of lines) if (line.turn === 0) choose(user, line, state);
      // They are retries, which are read when they are due, except those that were withdrawn meanwhile.
      for (const id of unread) if (dues.delete(id)) unread.delete(id);
    },
    hasNext: () => ready.length > 0 || unread.size > 0,
    takeKept: () => ready.splice(0).filter(({ id }) => turns.has(id)),
    takeLater(now) {
      const later = [...unread].flatMap((id) => ((dues.get(id) ?? 0) > now ? { id, dueAt: dues.get(id) ?? 0 } : []));
      for (const { id } of later) unread.delete(id);
      for (const { id } of later) dues.delete(id);
      return later;
    },
    reads: () => readsOf(state),
    found: (read, page) => found(read, page, state),
    waiting: () => state.waiting,
    waitingOf: (ids) => waitingOf(ids, lines),
  };
}

function admit(delivery: Delivery, queue: Queue, state: State): boolean {
  const { id } = delivery;
  const { turns, unread, dues } = state;
  if (turns.has(id)) {
    unread.delete(id);
    return true;
  }
  const user = userOf(delivery.body);
  if (user === null) return true;
  const line = lineFor(user, id, state);
  if (line.turn === id) {
    turns.set(id, user);
    return true;
  }
  join(line, id, state);
  if (queue === "retry") dues.set(id, delivery.dueAt);
  else keep(delivery, line, state);
  return false;
}

function over(id: number, state: State): boolean {
  const { turns, lines, unread, dues, isSettingUp } = state;
  drop(id, state);
  // One that is withdrawn stays in its line. When it has its turn, it must be looked up at once, not when it would be
  // due.
  dues.delete(id);
  const user = turns.get(id);
  const line = user === undefined ? undefined : lines.get(user);
  if (user === undefined || !line) return false;
  turns.delete(id);
  unread.delete(id);
  line.turn = 0;
  // The line is not known in full yet.
  if (isSettingUp && line.next < line.behind.length) return false;
  return choose(user, line, state);
}

/** The others wait for long now, so their bodies are not kept. */
function block(id: number, state: State): void {
  const line = lineOf(id, state);
  if (!line) return;
  line.isBlocked = true;
  for (let at = line.next; at < line.behind.length; at += 1) if (!drop(line.behind[at] ?? 0, state)) return;
}

/** Gives the turn to the next in line. Answers whether there is one. */
function choose(user: User, line: Line, state: State): boolean {
  const id = line.behind[line.next];
  if (id === undefined) {
    state.lines.delete(user);
    return false;
  }
  line.next += 1;
  // Shortened now and then only, as that moves all the others.
  if (line.next * 2 > line.behind.length) {
    line.behind = line.behind.slice(line.next);
    line.next = 0;
  }
  state.waiting -= 1;
  line.turn = id;
  line.isBlocked = state.dues.has(id);
  state.turns.set(id, user);
  const kept = state.kept.get(id);
  drop(id, state);
  if (kept) state.ready.push(kept);
  else state.unread.add(id);
  return true;
}

function reset(sending: ReadonlySet<number>, state: State): void {
  const { lines, turns, unread, ready, dues, kept } = state;
  const users = [...turns].filter(([id]) => sending.has(id));
  for (const all of [lines, turns, unread, dues, kept]) all.clear();
  ready.length = 0;
  Object.assign(state, { keptSize: 0, waiting: 0, isSettingUp: true });
  for (const [id, user] of users) {
    lineFor(user, id, state);
    turns.set(id, user);
  }
}

/** For those that are due as retries: each alone. Of the others, those that may be stored together. */
function readsOf({ unread, dues }: State): readonly Read[] {
  const ids = [...unread].sort((one, other) => one - other);
  const reads: { readonly ask: Read["ask"]; readonly ids: number[] }[] = [];
  let [first, near]: [number, number[]] = [0, []];
  for (const id of ids) {
    const dueAt = dues.get(id);
    if (dueAt === undefined && first > 0 && id < first + NEAR) {
      near.push(id);
      continue;
    }
    if (reads.length === MOST_READS) break;
    if (dueAt === undefined) [first, near] = [id, [id]];
    const queue = dueAt === undefined ? "first" : "retry";
    const after = { dueAt: dueAt ?? 0, id: id - 1 };
    reads.push({ ask: { queue, after, dueBy: dueAt ?? 0, limit: 1 }, ids: dueAt === undefined ? near : [id] });
  }
  return reads;
}

/** What should be on the page and is not, is no longer waiting. What may be behind it is left for the next read. */
function found({ ids, ask }: Read, { deliveries, more, upTo }: QueuePage, state: State): readonly Delivery[] {
  const { turns, unread, dues } = state;
  const wanted = new Set(ids);
  const loaded: Delivery[] = [];
  for (const delivery of deliveries) {
    const { id } = delivery;
    if (!wanted.delete(id)) keepInLine(delivery, ask.queue, state);
    else if (turns.has(id) && unread.delete(id)) {
      dues.delete(id);
      loaded.push(delivery);
    }
  }
  const last = Math.max(upTo?.id ?? 0, deliveries.at(-1)?.id ?? 0);
  for (const id of wanted) if (ask.queue === "retry" || !more || id <= last) forget(id, state);
  return loaded;
}

function forget(id: number, state: State): void {
  state.dues.delete(id);
  if (state.unread.has(id)) over(id, state);
}

/** A delivery that was read beside others: its turn may come soon. */
function keepInLine(delivery: Delivery, queue: Queue, state: State): void {
  if (queue === "retry" || !hasRoom(state)) return;
  const user = userOf(delivery.body);
  const line = user === null ? undefined : state.lines.get(user);
  if (line && line.behind[placeOf(delivery.id, line)] === delivery.id) keep(delivery, line, state);
}

/** Not of those that wait for a retry: that takes long. */
function keep(delivery: Delivery, line: Line, state: State): void {
  if (line.isBlocked || !hasRoom(state) || state.kept.has(delivery.id)) return;
  state.kept.set(delivery.id, delivery);
  state.keptSize += delivery.body.length;
}

function hasRoom({ kept, keptSize }: State): boolean {
  return kept.size < MOST_KEPT && keptSize < MOST_BODIES;
}

/** Answers whether it was kept. */
function drop(id: number, state: State): boolean {
  state.keptSize -= state.kept.get(id)?.body.length ?? 0;
  return state.kept.delete(id);
}

function lineOf(id: number, { turns, lines }: State): Line | undefined {
  const user = turns.get(id);
  return user === undefined ? undefined : lines.get(user);
}

/** The line of the user. If there is none, one is made, in which `turn` has its turn. */
function lineFor(user: User, turn: number, { lines }: State): Line {
  const known = lines.get(user);
  if (known) return known;
  const line = { turn, isBlocked: false, behind: [], next: 0 };
  lines.set(user, line);
  return line;
}

function join(line: Line, id: number, state: State): void {
  const { behind, next } = line;
  const at = placeOf(id, line);
  if (behind[at] === id) return;
  if (at === behind.length) behind.push(id);
  // The place before the first one is free.
  else if (at === next && next > 0) behind[--line.next] = id;
  else behind.splice(at, 0, id);
  state.waiting += 1;
}

/** The place of this number in the line, or the one where it belongs. */
function placeOf(id: number, { behind, next }: Line): number {
  let [low, high] = [next, behind.length];
  if (high === low || (behind[high - 1] ?? 0) < id) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((behind[middle] ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function waitingOf(ids: ReadonlySet<number>, lines: State["lines"]): ReadonlySet<number> {
  const found = new Set<number>();
  for (const { behind, next } of lines.values()) {
    for (let at = next; at < behind.length; at += 1) {
      const id = behind[at] ?? 0;
      if (ids.has(id)) found.add(id);
    }
  }
  return found;
}

/** A hash in place of the id, which may be long. Two users with the same one share a line, which only makes them wait. */
type User = number;

/**
 * Whose delivery this is, by its body: the userId, else the anonymousId, as for `sample`. An alias is of the user that it names
 * in the end. Null if it is of nobody: such deliveries have no order.
 */
export function userOf(stored: string): User | null {
  const {
    userId,
    "User ID": aliased,
    anonymousId,
  } = JSON.parse(specifiedBody(stored)) as Readonly<Record<string, unknown>>;
  const user = userId ?? aliased ?? anonymousId ?? null;
  return user === null ? null : hash(String(user));
}

/** 53 bits: FNV-1a over UTF-16 with two beginnings, each with the last step of MurmurHash3. */
function hash(text: string): number {
  let [one, other] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x5bd1e995);
  }
  return (spread(one) & 0x1fffff) * 2 ** 32 + spread(other);
}

function spread(sum: number): number {
  let bits = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
