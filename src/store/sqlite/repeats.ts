import type { At } from "../../model/units.ts";
import { KEY_BYTES, type Key, keyOf } from "../message-key.ts";
import type { About } from "../segment.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

/**
 * Recognises a messageId that its source has sent before, exactly, at a cost that does not grow with their number.
 * The keys are on disk, 16 bytes each, some hundreds in a row. A unique index would write to a random page for each event
 * instead. An index in memory says which rows to read. Rows of events in the tail (tail.ts) are in memory only: the next start
 * makes them of the events.
 */

/** Keys in a row, so that it fits into one page of the file. */
const ROW_KEYS = 250;

type Row = { readonly first: number; readonly seen_at: number; readonly keys: Buffer };

/** The keys of one commit, which are no row yet. */
type Batch = { readonly first: number; readonly at: At; readonly keys: readonly Key[] };

export type Repeats = Keeper & {
  /** Whether this id was seen at `since` or later. If not, it is noted as seen now. */
  isRepeat(tx: Tx, source: string, messageId: string, since: At): boolean;
  /** When this id was seen last; null if never, or not within what is kept. */
  seenAt(source: string, messageId: string): At | null;
  /** Whether there is anything for `prune`. */
  hasBefore(before: At): boolean;
  /**
   * Removes at most `limit` rows that were seen before `before`, or that the index in memory has
   * no room for any more; answers how many keys.
   */
  prune(tx: Tx, before: At, limit: number): number;
  /** Writes the keys of all events so far, as the tail is folded. */
  fold(tx: Tx): void;
  /** Notes a segment that an earlier process has left in the tail. */
  restore(events: readonly About[], at: At): void;
};

/** Reads all keys once, which takes about 0.1 s for a million. */
export function createRepeats(db: Database): Repeats {
  const insertRows = createInsertRows(db);
  const kept = createKeptKeys(db);
  // Of the transaction: its keys, and how many of them it has written. They enter the index once they are committed.
  const pending = new Set<Key>();
  let pendingAt: At = 0;
  let isFolded = false;
  let folded = 0;

  return {
    isRepeat({ now }, source, messageId, since) {
      const key = keyOf(source, messageId);
      if (pending.has(key) || kept.isSeen(key, since)) return true;
      pending.add(key);
      pendingAt = now;
      return false;
    },
    seenAt: (source, messageId) => kept.seenAt(keyOf(source, messageId)),
    ...createPruneSeen(db, kept),
    fold({ now }) {
      if (!isFolded) kept.tail().forEach(insertRows);
      const keys = [...pending].slice(folded);
      insertRows({ first: kept.next() + folded, at: now, keys });
      isFolded = true;
      folded += keys.length;
    },
    restore(events, at) {
      const keys = events.map(([source, , messageId]) => keyOf(source, messageId));
      kept.add(keys, at, 0);
    },
    write() {},
    committed() {
      if (isFolded) kept.folded();
      if (pending.size > 0) kept.add([...pending], pendingAt, folded);
      begin();
    },
    rolledBack: begin,
  };

  function begin(): void {
    pending.clear();
    isFolded = false;
    folded = 0;
  }
}

/** The keys of all commits, each with its number: in rows, and those of the tail in memory. */
type KeptKeys = {
  readonly index: KeyIndex;
  /** The number of the next key. */
  next(): number;
  /** Numbers the keys of a commit, of which so many have a row. */
  add(keys: readonly Key[], at: At, written: number): void;
  isSeen(key: Key, since: At): boolean;
  seenAt(key: Key): At | null;
  tail(): readonly Batch[];
  /** The tail has rows now. */
  folded(): void;
};

function createKeptKeys(db: Database): KeptKeys {
  const find = db.prepare<[number], Row>("SELECT * FROM seen WHERE first <= ? ORDER BY first DESC LIMIT 1");
  const index = createKeyIndex();
  let nextNumber = load(db, index);
  let recent: Batch[] = [];

  return {
    index,
    next: () => nextNumber,
    add(keys, at, written) {
      keys.forEach((key, nth) => {
        index.add(hashOf(key), nextNumber + nth);
      });
      if (written < keys.length) recent.push({ first: nextNumber + written, at, keys: keys.slice(written) });
      nextNumber += keys.length;
    },
    isSeen: (key, since) => index.some(hashOf(key), (number) => isSame(number, key, since)),
    seenAt(key) {
      const numbers: number[] = [];
      index.some(hashOf(key), (number) => isSame(number, key, 0) && numbers.push(number) === 0);
      // After 24 hours the id may have come again: the newest counts.
      const newest = Math.max(...numbers);
      return numbers.length === 0 ? null : (batchOf(newest)?.at ?? find.get(newest)?.seen_at ?? null);
    },
    tail: () => recent,
    folded() {
      recent = [];
    },
  };

  function isSame(number: number, key: Key, since: At): boolean {
    const batch = batchOf(number);
    if (batch) return batch.at >= since && batch.keys[number - batch.first] === key;
    const row = find.get(number);
    return row !== undefined && row.seen_at >= since && keyIn(row.keys, number - row.first) === key;
  }

  /** Undefined if it has a row. */
  function batchOf(number: number): Batch | undefined {
    return number < (recent[0]?.first ?? Number.POSITIVE_INFINITY)
      ? undefined
      : recent.findLast(({ first }) => first <= number);
  }
}

function createInsertRows(db: Database): (batch: Batch) => void {
  const insert = db.prepare<[number, number, Buffer]>("INSERT INTO seen (first, seen_at, keys) VALUES (?, ?, ?)");
  return function insertRows({ first, at, keys }) {
    for (let nth = 0; nth < keys.length; nth += ROW_KEYS) {
      insert.run(first + nth, at, Buffer.from(keys.slice(nth, nth + ROW_KEYS).join(""), "latin1"));
    }
  };
}

function createPruneSeen(db: Database, { index, tail }: KeptKeys): Pick<Repeats, "hasBefore" | "prune"> {
  const oldest = db.prepare<[number], Row>("SELECT * FROM seen ORDER BY first LIMIT ?");
  const remove = db.prepare<[number]>("DELETE FROM seen WHERE first <= ?");
  return {
    hasBefore(before) {
      if ((tail()[0]?.at ?? before) < before) return true;
      return oldest.all(1).some((row) => isOld(row, before, index.oldest()));
    },
    prune(_tx, before, limit) {
      const all = oldest.all(limit);
      const kept = all.findIndex((row) => !isOld(row, before, index.oldest()));
      const rows = kept < 0 ? all : all.slice(0, kept);
      const last = rows.at(-1);
      if (!last) return 0;
      remove.run(last.first);
      // A rollback does no harm here: such old keys are never asked for.
      index.forgetBefore(last.first + last.keys.length / KEY_BYTES);
      return rows.reduce((sum, row) => sum + row.keys.length / KEY_BYTES, 0);
    },
  };
}

/** Fills the index with what is stored; answers the next number. */
function load(db: Database, index: KeyIndex): number {
  let next = 1;
  for (const { first, keys } of db.prepare<[], Row>("SELECT * FROM seen ORDER BY first").iterate()) {
    const count = keys.length / KEY_BYTES;
    for (let nth = 0; nth < count; nth += 1) index.add(hashIn(keys, nth), first + nth);
    next = first + count;
  }
  return next;
}

function isOld({ first, seen_at: seenAt, keys }: Row, before: At, oldest: number): boolean {
  return seenAt < before || first + keys.length / KEY_BYTES <= oldest;
}

/** The nth key of a row; empty, which equals no key, if the row has fewer. */
function keyIn(keys: Buffer, nth: number): Key {
  return keys.toString("latin1", nth * KEY_BYTES, (nth + 1) * KEY_BYTES);
}

/** What `hashOf` answers for the nth key of a row, without making a string of it. */
function hashIn(keys: Buffer, nth: number): number {
  return marked(keys.readInt32LE(nth * KEY_BYTES));
}

/**
 * A compact index in memory from keys to their numbers. It only finds candidates: the caller compares the whole key.
 * A table has two arrays of one size, a power of two. The low bits of a hash choose a list in the first array, which has the
 * newest entry of each list. The second array has, for each number in the table, the entry before it in its list. An entry is a
 * hash whose low bits are replaced by the number: where it is found says what they were. So a table can grow without its keys.
 */
const FIRST_MASK = 2 ** 8 - 1;
/** A table grows sixteenfold, so seldom; the largest step, from 65,536 keys on, takes some milliseconds. */
const GROWTH_BITS = 4;
const NUMBER_BITS = 20;
const TABLE_KEYS = 2 ** NUMBER_BITS;
/** Tables of 8 MB each at most, so that memory is bounded. */
const MOST_TABLES = 16;

/** The keys from number `base` on. An entry of 0 ends a list. */
type Table = {
  readonly base: number;
  readonly mask: number;
  readonly newest: Int32Array;
  readonly previous: Int32Array;
};

export type KeyIndex = {
  /** Whether `isIt` holds for the number of any key that may have this hash. The newest tables come last. */
  some(hash: number, isIt: (number: number) => boolean): boolean;
  /** Numbers only ever grow, and each is added once: an entry is never removed. */
  add(hash: number, number: number): void;
  /** Drops the tables that lie wholly before this number. */
  forgetBefore(number: number): void;
  /** The oldest number still indexed. Beyond 16 million keys the oldest million is dropped. */
  oldest(): number;
};

export function createKeyIndex(): KeyIndex {
  const tables: Table[] = [];
  return {
    some: (hash, isIt) => tables.some((table) => someIn(table, hash, isIt)),
    add(hash, number) {
      const table = tableFor(number);
      insert(table, hash, number - table.base);
    },
    forgetBefore(number) {
      while ((tables[1]?.base ?? Number.POSITIVE_INFINITY) <= number) tables.shift();
    },
    oldest: () => tables[0]?.base ?? 0,
  };

  /** The last table, with room for the number. */
  function tableFor(number: number): Table {
    let table = tables.at(-1);
    if (!table || number >= table.base + TABLE_KEYS) {
      table = createTable(number, FIRST_MASK);
      tables.push(table);
      if (tables.length > MOST_TABLES) tables.shift();
    }
    while (number - table.base > table.mask) {
      table = grow(table);
      tables[tables.length - 1] = table;
    }
    return table;
  }
}

function createTable(base: number, mask: number): Table {
  return { base, mask, newest: new Int32Array(mask + 1), previous: new Int32Array(mask + 1) };
}

function insert({ mask, newest, previous }: Table, hash: number, number: number): void {
  const list = hash & mask;
  previous[number] = newest[list] ?? 0;
  newest[list] = (hash & ~mask) | number;
}

function grow({ base, mask, newest, previous }: Table): Table {
  const grown = createTable(base, ((mask + 1) << GROWTH_BITS) - 1);
  for (let list = 0; list <= mask; list += 1) {
    for (let entry = newest[list] ?? 0; entry !== 0; entry = previous[entry & mask] ?? 0) {
      insert(grown, (entry & ~mask) | list, entry & mask);
    }
  }
  return grown;
}

function someIn({ base, mask, newest, previous }: Table, hash: number, isIt: (number: number) => boolean): boolean {
  for (let entry = newest[hash & mask] ?? 0; entry !== 0; entry = previous[entry & mask] ?? 0) {
    if (((entry ^ hash) & ~mask) === 0 && isIt(base + (entry & mask))) return true;
  }
  return false;
}

/** 32 bits of a key, for the index. */
export function hashOf(key: Key): number {
  return marked(key.charCodeAt(0) | (key.charCodeAt(1) << 8) | (key.charCodeAt(2) << 16) | (key.charCodeAt(3) << 24));
}

/** An entry must not be 0: the bits that are never replaced by a number are not all 0. */
function marked(hash: number): number {
  return hash >>> NUMBER_BITS === 0 ? hash | TABLE_KEYS : hash;
}
