import { crc32 } from "node:zlib";

/** A disk can give back other bytes than were written: what is sent and signed has to be what came in. */
export function checksum(about: string, bodies: string | Buffer): number {
  return crc32(bodies, crc32(about));
}

/** A step of the schema, and never changed once it was released. */
export const CHECKSUMS = `
  -- The CRC-32 of "about" and, after it, "bodies" or "body", as they were written: what has changed on the disk since is not
  -- sent. NULL in rows that are older than this column.
  ALTER TABLE contents ADD COLUMN sum INTEGER;
  ALTER TABLE tried ADD COLUMN sum INTEGER;
`;
