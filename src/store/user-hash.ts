import { hash } from "node:crypto";

/** Replaces a userId where that must not be kept. */
export type UserHash = { readonly salt: string; of(userId: string): string };

/** The salt is the store's own, so that hashes of two stores have nothing in common. */
export function createUserHash(salt: string): UserHash {
  return { salt, of: (userId) => hash("sha256", salted(userId, salt), "hex") };
}

/**
 * An id may contain lone surrogates. UTF-8 has one character for all of them, so such an id is written as JSON: otherwise two
 * ids would get one hash. The salt has a fixed length, and a quote follows it only here.
 */
function salted(userId: string, salt: string): string {
  return userId.isWellFormed() ? `${salt}:${userId}` : `${salt}${JSON.stringify(userId)}`;
}
