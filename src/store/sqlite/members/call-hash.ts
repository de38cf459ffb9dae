import { createHash, createHmac } from "node:crypto";
import type { Database } from "../driver.ts";

/** What tells users of one sync apart, in hexadecimal digits. */
const DIGITS = 24;

export type CallHash = {
  /** The same for a user as long as the outbox lives, and says nothing of the user to readers of logs and messageIds. */
  of(user: string): string;
  /** Whether a messageId is one that was made for a call about this user. */
  isOf(messageId: string, user: string): boolean;
};

export function createCallHash(db: Database): CallHash {
  const key = db.prepare<[], string>("SELECT value FROM call_key").pluck().get() ?? "";
  const of = (user: string): string => createHmac("sha256", key).update(user).digest("hex").slice(0, DIGITS);
  return {
    of,
    isOf(messageId, user) {
      const [, hash] = /^(?:audience|trait)-[0-9a-f]+-([0-9a-f]+)$/.exec(messageId) ?? [];
      return hash !== undefined && (hash === of(user) || hash === plain(user));
    },
  };
}

/** As outboxes had it before there was a key. */
function plain(user: string): string {
  return createHash("sha256").update(user).digest("hex").slice(0, DIGITS);
}
