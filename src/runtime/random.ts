import type { Random } from "../model/ports.ts";

/**
 * Random bytes are drawn this many at a time: a call to the system costs more than what it gives. A slice keeps the
 * whole text of its pool in memory, so the pool stays small.
 */
const POOL_BYTES = 1_024;

/** The machine's chance. `hex` is fit for secrets, `fraction` is not. */
export function createRandom(): Random {
  let pool = "";
  let used = 0;
  return {
    fraction: Math.random,
    hex(bytes) {
      if (bytes > POOL_BYTES) return randomHex(bytes);
      const digits = 2 * bytes;
      if (used + digits > pool.length) {
        pool = randomHex(POOL_BYTES);
        used = 0;
      }
      used += digits;
      return pool.slice(used - digits, used);
    },
  };
}

function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}
