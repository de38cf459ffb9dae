import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/** Characters from which on compressing is worth it: what is shorter fits into a page of the file as it is. */
const SHORT = 4_096;
/** Half a microsecond an event, and a seventh of its size; higher levels take several times as long for little. */
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_checksumFlag]: 1 } };

/**
 * The bodies of a segment as they are stored, a line for each. Events resemble each other, so that most of what would be
 * written to the disk, twice, can be saved; a short text stays as it is.
 */
export function packBodies(bodies: readonly string[]): string | Buffer {
  const lines = bodies.join("\n");
  return lines.length < SHORT ? lines : zstdCompressSync(`${lines}\n`, FAST);
}

/** The bodies, in their order. Throws when they are damaged. */
export function unpackBodies(stored: string | Buffer): readonly string[] {
  if (typeof stored === "string") return stored.split("\n");
  const bodies = zstdDecompressSync(stored).toString().split("\n");
  // The runtimes take what was cut off for an empty text: only the end of the last line says that all is there.
  if (bodies.length < 2 || bodies.pop() !== "") throw new Error("the bodies of a segment are damaged");
  return bodies;
}
