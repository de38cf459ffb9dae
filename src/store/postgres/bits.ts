/** Bit strings of `progress`, as text: a character for each event of a segment, the first one first. */

/** `ones`: the indexes that have a 1. */
export function bitsOf(ones: readonly number[], events: number): string {
  if (ones.length === events) return "1".repeat(events);
  const bits = Buffer.alloc(events, "0");
  for (const index of ones) bits.write("1", index);
  return bits.toString("latin1");
}

/** The indexes that have a 1, from `from` on. */
export function onesIn(bits: string, from = 0): readonly number[] {
  const ones: number[] = [];
  for (let at = bits.indexOf("1", from); at >= 0; at = bits.indexOf("1", at + 1)) ones.push(at);
  return ones;
}

/** How zstd begins. No JSON does. */
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** The column `bodies` as `unpackBodies` takes it: a text, unless it is compressed. */
export function textOrPacked(bodies: Buffer): string | Buffer {
  return bodies.subarray(0, ZSTD.length).equals(ZSTD) ? bodies : bodies.toString();
}
