const HEADER = 32;
const FRAME = 24 + 4_096;

/** A write-ahead log of several commits, with a byte changed in a page in its middle. */
export function damagedLog(log: Buffer): Buffer {
  const at = HEADER + Math.floor((log.length - HEADER) / FRAME / 2) * FRAME + 100;
  const damaged = Buffer.from(log);
  damaged.writeUInt8(log.readUInt8(at) ^ 1, at);
  return damaged;
}
