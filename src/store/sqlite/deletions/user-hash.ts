import { hash } from "node:crypto";
import type { Database } from "../driver.ts";

/** Stands for a userId where that must not be kept. */
export type UserHash = { readonly salt: string; of(userId: string): string };

export function createUserHash(db: Database): UserHash {
  const salt = db.prepare<[], string>("SELECT value FROM salt").pluck().get() ?? "";
  return { salt, of: (userId) => hash("sha256", `${salt}:${userId}`, "hex") };
}
