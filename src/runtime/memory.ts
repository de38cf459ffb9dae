/**
 * Gives back what reading the config and starting has used: a daemon may stand idle for weeks from here, and nothing
 * else would make it tidy up. Nor does it hurry by itself when large bodies leave a hundred times their size behind. Takes a
 * few milliseconds; on Deno it does nothing.
 */
export function freeMemory(): void {
  if (typeof Bun !== "undefined") Bun.gc(true);
}
