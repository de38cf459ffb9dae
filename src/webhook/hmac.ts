import { hash } from "node:crypto";

/** The HMAC of a message with one key. */
export type Hmac = (message: string, encoding: "hex" | "base64") => string;

/** The block size of SHA-1 and SHA-256, in bytes. */
const BLOCK = 64;

/**
 * Prepares a key for HMAC (RFC 2104), so that each message costs two one-shot hashes. `createHmac` builds a stream for each,
 * with a KB of garbage.
 */
export function prepareHmac(algorithm: "sha1" | "sha256", key: Uint8Array): Hmac {
  const short = key.length > BLOCK ? hash(algorithm, key, "buffer") : key;
  const inner = Buffer.alloc(BLOCK, 0x36);
  const outer = Buffer.alloc(BLOCK + hash(algorithm, "", "buffer").length, 0x5c);
  for (const [at, byte] of short.entries()) {
    inner[at] = 0x36 ^ byte;
    outer[at] = 0x5c ^ byte;
  }
  return (message, encoding) => {
    outer.set(hash(algorithm, join(inner, message), "buffer"), BLOCK);
    return hash(algorithm, outer, encoding);
  };
}

/** Most messages fit in here, so that they need no memory of their own. */
const scratch = Buffer.alloc(32_768);
/** The most bytes of a UTF-16 code unit in UTF-8. */
const BYTES_PER_UNIT = 3;

/** The bytes of both. Valid until the next call. */
function join(block: Uint8Array, message: string): Uint8Array {
  if (BLOCK + message.length * BYTES_PER_UNIT > scratch.length) return Buffer.concat([block, Buffer.from(message)]);
  scratch.set(block);
  return scratch.subarray(0, BLOCK + scratch.write(message, BLOCK));
}
