import { hash } from "node:crypto";
import type { At } from "../../model/units.ts";
import type { Keeper, Tx } from "./commits.ts";
import type { Database } from "./driver.ts";

/**
 * Recognises a messageId that its source has sent before, exactly, at a cost that does not grow with their number.
 * The keys are on disk, 16 bytes each, some hundreds in a row. A unique index would write to a random page for each event
 * instead. An index in memory says which rows to read. Keys of events in the tail (tail.ts) are in memory only: the next start
 * finds them by the events.
 */

const NEVER: At = Number.NEGATIVE_INFINITY;
const KEY_BYTES = 16;
/** Keys in a row, so that it fits into one page of the file. */
const ROW_KEYS = 250;

type Row = { readonly first: number; readonly seen_at: number; readonly keys: Buffer };

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
  /** Notes an event that an earlier process has left in the tail. */
  restore(source: string, messageId: string, at: At): void;
};

/** Reads all keys once, which takes about 0.2 s for a million. */
export function createRepeats(db: Database): Repeats {
  const insert = db.prepare<[number, number, Buffer]>("INSERT INTO seen (first, seen_at, keys) VALUES (?, ?, ?)");
  const find = db.prepare<[number], Row>("SELECT * FROM seen WHERE first <= ? ORDER BY first DESC LIMIT 1");
  const oldest = db.prepare<[number], Row>("SELECT * FROM seen ORDER BY first LIMIT ?");
  const remove = db.prepare<[number]>("DELETE FROM seen WHERE first <= ?");
  const index = createKeyIndex();
  let nextNumber = load(db, index);
  // The keys of the tail, and those of the transaction. They get a number and enter the index when they are folded.
  const recent = new Map<Key, At>();
  const pending = new Map<Key, At>();
  let folded: Key[] = [];

  return {
    isRepeat({ now }, source, messageId, since) {
      const key = keyOf(source, messageId);
      if (pending.has(key) || (recent.get(key) ?? NEVER) >= since) return true;
      if (index.some(key, (number) => isSame(number, key, since))) return true;
      pending.set(key, now);
      return false;
    },
    seenAt(source, messageId) {
      const key = keyOf(source, messageId);
      const at = recent.get(key);
      if (at !== undefined) return at;
      const numbers: number[] = [];
      index.some(key, (number) => isSame(number, key, 0) && numbers.push(number) === 0);
      // After 24 hours the id may have come again: the newest counts.
      return numbers.length === 0 ? null : (find.get(Math.max(...numbers))?.seen_at ?? null);
    },
    hasBefore: (before) => oldest.all(1).some((row) => isOld(row, before, index.oldest())),
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
    fold() {
      const done = new Set(folded);
      const keys = [...recent, ...pending].filter(([key]) => !done.has(key));
      let number = nextNumber + folded.length;
      for (const [at, all] of Map.groupBy(keys, ([, at]) => at)) {
        for (let nth = 0; nth < all.length; nth += ROW_KEYS) {
          const row = all.slice(nth, nth + ROW_KEYS).map(([key]) => key);
          insert.run(number, at, Buffer.from(row.join(""), "latin1"));
          folded.push(...row);
          number += row.length;
        }
      }
    },
    restore: (source, messageId, at) => void recent.set(keyOf(source, messageId), at),
    write() {},
    committed() {
      for (const [key, at] of pending) recent.set(key, at);
      for (const key of folded) {
        recent.delete(key);
        index.add(key, nextNumber);
        nextNumber += 1;
      }
      begin();
    },
    rolledBack: begin,
  };

  function begin(): void {
    pending.clear();
    folded = [];
  }

  function isSame(number: number, key: Key, since: At): boolean {
    const row = find.get(number);
    return row !== undefined && row.seen_at >= since && keyIn(row.keys, number - row.first) === key;
  }
}

/** Fills the index with what is stored; answers the next number. */
function load(db: Database, index: KeyIndex): number {
  let next = 1;
  for (const { first, keys } of db.prepare<[], Row>("SELECT * FROM seen ORDER BY first").iterate()) {
    const count = keys.length / KEY_BYTES;
    for (let nth = 0; nth < count; nth += 1) index.add(keyIn(keys, nth), first + nth);
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

function keyOf(source: string, messageId: string): Key {
  return hash("sha256", nameOf(source, messageId), "latin1").slice(0, KEY_BYTES);
}

/**
 * Joins both so that ("a", "bc") and ("ab", "c") differ. The first form is quicker. The second, JSON, also distinguishes lone
 * surrogates, which UTF-8 cannot represent.
 */
function nameOf(source: string, messageId: string): string {
  const name = `${source.length} ${source}${messageId}`;
  return name.isWellFormed() ? name : JSON.stringify([source, messageId]);
}

/**
 * A compact index in memory from keys to their numbers: for each 2^20 keys a hash table of 32-bit slots, each with 12
 * bits of a key and its number. It only finds candidates: the caller compares the whole key.
 */
const NUMBER_BITS = 20;
const TABLE_KEYS = 2 ** NUMBER_BITS;
const SLOTS = 2 * TABLE_KEYS;
/** Tables of 8 MB each, so that memory is bounded. */
const MOST_TABLES = 16;
const TAG_MASK = 2 ** (32 - NUMBER_BITS) - 1;

/** The keys from number `base` on. */
type Table = { readonly base: number; readonly slots: Uint32Array };

/** A string of eight or more characters, each a byte: cheaper to make and to keep than a Buffer. */
export type Key = string;

export type KeyIndex = {
  /** Whether `isIt` holds for the number of any key that may be this one. The newest tables come last. */
  some(key: Key, isIt: (number: number) => boolean): boolean;
  /** Numbers only ever grow, and each is added once: a slot is never freed. */
  add(key: Key, number: number): void;
  /** Drops the tables that lie wholly before this number. */
  forgetBefore(number: number): void;
  /** The oldest number still indexed. Beyond 16 million keys the oldest million is dropped. */
  oldest(): number;
};

export function createKeyIndex(): KeyIndex {
  const tables: Table[] = [];
  return {
    some: (key, isIt) => tables.some((table) => someIn(table, key, isIt)),
    add(key, number) {
      const table = tableFor(number);
      let slot = firstSlot(key);
      while (table.slots[slot] !== 0) slot = (slot + 1) % SLOTS;
      table.slots[slot] = (tagOf(key) << NUMBER_BITS) | (number - table.base);
    },
    forgetBefore(number) {
      while ((tables[1]?.base ?? Number.POSITIVE_INFINITY) <= number) tables.shift();
    },
    oldest: () => tables[0]?.base ?? 0,
  };

  function tableFor(number: number): Table {
    const last = tables.at(-1);
    if (last && number < last.base + TABLE_KEYS) return last;
    const table = { base: number, slots: new Uint32Array(SLOTS) };
    tables.push(table);
    if (tables.length > MOST_TABLES) tables.shift();
    return table;
  }
}

function someIn({ base, slots }: Table, key: Key, isIt: (number: number) => boolean): boolean {
  const tag = tagOf(key);
  for (let slot = firstSlot(key); ; slot = (slot + 1) % SLOTS) {
    const value = slots[slot] ?? 0;
    if (value === 0) return false;
    if (value >>> NUMBER_BITS === tag && isIt(base + (value & (TABLE_KEYS - 1)))) return true;
  }
}

function firstSlot(key: Key): number {
  return (key.charCodeAt(0) | (key.charCodeAt(1) << 8) | (key.charCodeAt(2) << 16)) % SLOTS;
}

/** Never 0: a slot with tag 0 and number 0 would look empty. */
function tagOf(key: Key): number {
  return (key.charCodeAt(4) | (key.charCodeAt(5) << 8)) & TAG_MASK || 1;
}
