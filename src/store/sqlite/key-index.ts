/**
 * A compact index in memory from keys to their numbers: for each 2^20 keys a hash table of 32-bit slots, each with 12
 * bits of a key and its number. It only nominates: whoever asks has to compare the whole key.
 */
const NUMBER_BITS = 20;
const TABLE_KEYS = 2 ** NUMBER_BITS;
const SLOTS = 2 * TABLE_KEYS;
/** 8 MB each: memory has a bound, whatever comes in. */
const MOST_TABLES = 16;
const TAG_MASK = 2 ** (32 - NUMBER_BITS) - 1;

/** The keys from number `base` on. */
type Table = { readonly base: number; readonly slots: Uint32Array };

export type KeyIndex = {
  /** The numbers of the keys that may be this one, the newest tables last. */
  nominees(key: Buffer): readonly number[];
  /** Numbers only ever grow, and each is added once: what is added in vain takes a slot for good. */
  add(key: Buffer, number: number): void;
  /** Drops what lies wholly before this number. */
  forgetBefore(number: number): void;
  /** The oldest number that is still here: beyond 16 million keys the oldest million is dropped. */
  oldest(): number;
};

export function createKeyIndex(): KeyIndex {
  const tables: Table[] = [];
  return {
    nominees: (key) => tables.flatMap((table) => inTable(table, key)),
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

function inTable({ base, slots }: Table, key: Buffer): readonly number[] {
  const tag = tagOf(key);
  const found: number[] = [];
  for (let slot = firstSlot(key); ; slot = (slot + 1) % SLOTS) {
    const value = slots[slot] ?? 0;
    if (value === 0) return found;
    if (value >>> NUMBER_BITS === tag) found.push(base + (value & (TABLE_KEYS - 1)));
  }
}

function firstSlot(key: Buffer): number {
  return key.readUInt32LE(0) % SLOTS;
}

/** Never 0: a slot with tag 0 and number 0 would look empty. */
function tagOf(key: Buffer): number {
  return key.readUInt32LE(4) & TAG_MASK || 1;
}
