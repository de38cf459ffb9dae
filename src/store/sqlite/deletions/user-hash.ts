import { hash } from "node:crypto";
import type { Database } from "../driver.ts";

/** Stands for a userId where that must not be kept. */
export type UserHash = { readonly salt: string; of(userId: string): string };

export function createUserHash(db: Database): UserHash {
  const salt = db.prepare<[], string>("SELECT value FROM salt").pluck().get() ?? "";
  return { salt, of: (userId) => hash("sha256", salted(userId, salt), "hex") };
}

/**
 * An id may hold halves of surrogate pairs. UTF-8, in which hashes and the store read text, has one character for all of them,
 * so such an id is written as JSON: two ids are never one. The salt has one length, and no other id has a quote behind it.
 */
function salted(userId: string, salt: string): string {
  return userId.isWellFormed() ? `${salt}:${userId}` : `${salt}${JSON.stringify(userId)}`;
}

/** Begins the ids that are stored as JSON. */
const AS_JSON = "\u0000json:";

/** A userId as the store can keep it. */
export function toStoredId(userId: string): string {
  return userId.isWellFormed() && !userId.startsWith(AS_JSON) ? userId : AS_JSON + JSON.stringify(userId);
}

export function fromStoredId(stored: string): string {
  return stored.startsWith(AS_JSON) ? JSON.parse(stored.slice(AS_JSON.length)) : stored;
}
