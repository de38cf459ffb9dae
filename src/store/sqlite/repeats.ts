/**
 * Recognises a messageId that its source has sent before, exactly, at a cost that does not grow with their number.
 *
 * on disk:   the truth. Each commit appends its keys (16 bytes each) as one row, in the transaction of its events. A
 *            unique index would have to write to a random page for each event instead.
 * in memory: for each 2^20 keys a hash table of 32-bit slots, each with 12 bits of a key and its number. It only
 *            nominates: whatever it says is compared with the whole key on disk. So a slot that was left behind by a
 *            transaction that failed does no harm.
 */
import { hash } from "node:crypto";
import type { At } from "../../model/units.ts";
import type { Database } from "./driver.ts";

const KEY_BYTES = 16;
/** Keys in a row: what fits into one page of the file. */
const ROW_KEYS = 250;
const NUMBER_BITS = 20;
const TABLE_KEYS = 2 ** NUMBER_BITS;
const SLOTS = 2 * TABLE_KEYS;
const TAG_MASK = 2 ** (32 - NUMBER_BITS) - 1;

/** The keys from number `base` on. */
type Table = { readonly base: number; readonly slots: Uint32Array };
type Row = { readonly first: number; readonly seen_at: number; readonly keys: Buffer };

export type Repeats = {
  /** Inside a transaction: whether this id was seen after `since`. If not, it is from now on. */
  isRepeat(source: string, messageId: string, since: At): boolean;
  /** Inside a transaction, at its end: writes the keys that have come in it. */
  write(now: At): void;
  committed(): void;
  rolledBack(): void;
  /** Inside a transaction: removes at most `limit` rows that were seen before `before`; answers how many keys. */
  prune(before: At, limit: number): number;
};

export function createRepeats(db: Database): Repeats {
  const insert = db.prepare<[number, number, Buffer]>("INSERT INTO seen (first, seen_at, keys) VALUES (?, ?, ?)");
  const find = db.prepare<[number], Row>("SELECT * FROM seen WHERE first <= ? ORDER BY first DESC LIMIT 1");
  const oldest = db.prepare<[number, number], Row>(
    "SELECT * FROM (SELECT * FROM seen ORDER BY first LIMIT ?) WHERE seen_at < ?",
  );
  const remove = db.prepare<[number]>("DELETE FROM seen WHERE first <= ?");
  const tables: Table[] = [];
  let next = 1;
  let firstPending = 1;
  let pending: Buffer[] = [];
  load();

  return {
    isRepeat(source, messageId, since) {
      const key = keyOf(source, messageId);
      if (tables.some((table) => nominees(table, key).some((number) => isSame(number, key, since)))) return true;
      pending.push(key);
      nominate(key);
      return false;
    },
    write(now) {
      for (let from = 0; from < pending.length; from += ROW_KEYS) {
        insert.run(firstPending + from, now, Buffer.concat(pending.slice(from, from + ROW_KEYS)));
      }
    },
    committed() {
      firstPending = next;
      if (pending.length > 0) pending = [];
    },
    rolledBack() {
      next = firstPending;
      pending = [];
      while ((tables.at(-1)?.base ?? 0) > next) tables.pop();
    },
    prune(before, limit) {
      const rows = oldest.all(limit, before);
      const last = rows.at(-1);
      if (!last) return 0;
      remove.run(last.first);
      const kept = last.first + last.keys.length / KEY_BYTES;
      while (tables.length > 1 && (tables[1]?.base ?? kept) <= kept) tables.shift();
      return rows.reduce((sum, row) => sum + row.keys.length / KEY_BYTES, 0);
    },
  };

  /** About 0.2 s for a million keys. */
  function load(): void {
    for (const { first, keys } of db.prepare<[], Row>("SELECT * FROM seen ORDER BY first").iterate()) {
      next = first;
      for (let at = 0; at < keys.length; at += KEY_BYTES) nominate(keys.subarray(at, at + KEY_BYTES));
    }
    firstPending = next;
  }

  function nominate(key: Buffer): void {
    const table = tableFor(next);
    let slot = firstSlot(key);
    while (table.slots[slot] !== 0) slot = (slot + 1) % SLOTS;
    table.slots[slot] = (tagOf(key) << NUMBER_BITS) | (next - table.base);
    next += 1;
  }

  function tableFor(number: number): Table {
    const last = tables.at(-1);
    if (last && number < last.base + TABLE_KEYS) return last;
    const table = { base: number, slots: new Uint32Array(SLOTS) };
    tables.push(table);
    return table;
  }

  function isSame(number: number, key: Buffer, since: At): boolean {
    if (number >= next) return false;
    if (number >= firstPending) return pending[number - firstPending]?.equals(key) ?? false;
    const row = find.get(number);
    if (!row || row.seen_at < since) return false;
    const at = (number - row.first) * KEY_BYTES;
    return row.keys.subarray(at, at + KEY_BYTES).equals(key);
  }
}

/** The numbers of the keys in a table that may be this one. */
function nominees({ base, slots }: Table, key: Buffer): readonly number[] {
  const tag = tagOf(key);
  let found: number[] | null = null;
  for (let slot = firstSlot(key); ; slot = (slot + 1) % SLOTS) {
    const value = slots[slot] ?? 0;
    if (value === 0) return found ?? NONE;
    if (value >>> NUMBER_BITS === tag) (found ??= []).push(base + (value & (TABLE_KEYS - 1)));
  }
}

const NONE: readonly number[] = [];

/** The length keeps ("a", "bc") and ("ab", "c") apart. */
function keyOf(source: string, messageId: string): Buffer {
  return hash("sha256", `${source.length}:${source}${messageId}`, "buffer").subarray(0, KEY_BYTES);
}

function firstSlot(key: Buffer): number {
  return key.readUInt32LE(0) % SLOTS;
}

/** Never 0, which is an empty slot. */
function tagOf(key: Buffer): number {
  return key.readUInt32LE(4) & TAG_MASK || 1;
}
