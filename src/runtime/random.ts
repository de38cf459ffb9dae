import type { Random } from "../model/ports.ts";

/** Random bytes are drawn in pools, to save calls to the system. The pool is small: each slice keeps all of it in memory. */
const POOL_BYTES = 1_024;

/** `hex` is good enough for secrets, `fraction` is not. */
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
