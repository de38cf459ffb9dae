/** Chance from a seed: the same seed gives the same run. */
export type Chance = {
  /** Evenly from 0 (included) to 1 (excluded). */
  fraction(): number;
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  /** Whether something of this probability happens. */
  happens(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
};

/** Mulberry32: small, quick, and good enough to choose acts by. */
export function createChance(seed: number): Chance {
  let state = seed >>> 0;
  const chance: Chance = {
    fraction() {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    },
    below: (end) => Math.floor(chance.fraction() * end),
    happens: (probability) => chance.fraction() < probability,
    pick(list) {
      if (list.length === 0) throw new Error("there is nothing to pick from");
      return list[chance.below(list.length)] as (typeof list)[number];
    },
  };
  return chance;
}

/** A number that looks like chance, and is always the same for these. */
export function mix(...numbers: readonly number[]): number {
  const hash = numbers.reduce((sum, number) => Math.imul(sum ^ number, 0x9e3779b1) ^ (sum >>> 13), 0x2545f491);
  return createChance(hash).below(2 ** 31);
}
