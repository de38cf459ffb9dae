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

/** Eight characters or more, of which each stands for a byte: cheaper to make and to keep than a Buffer. */
export type Key = string;

export type KeyIndex = {
  /** Whether any of the keys that may be this one, told by their numbers, is. The newest tables come last. */
  some(key: Key, isIt: (number: number) => boolean): boolean;
  /** Numbers only ever grow, and each is added once: what is added in vain takes a slot for good. */
  add(key: Key, number: number): void;
  /** Drops what lies wholly before this number. */
  forgetBefore(number: number): void;
  /** The oldest number that is still here: beyond 16 million keys the oldest million is dropped. */
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
