import { createHmac } from "node:crypto";
import type { ListedDelivery } from "../model/lookup.ts";
import { specifiedBody } from "../model/payload.ts";

/** What a call of an audience or trait says of a user. `isGone`: the user is no member, or has no value. */
export type Call = {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly key: string;
  readonly user: string;
  readonly isGone: boolean;
};

/** Whether it is a call of an audience or trait, as far as its messageId tells. */
export function looksLikeCall({ type, messageId, userId }: ListedDelivery, hash: CallHash): boolean {
  return type === "identify" && userId !== null && hash.isOf(messageId, userId);
}

/** Null if it is no call of an audience or trait. */
export function callOf({ userId }: ListedDelivery, body: string): Call | null {
  const { traits, context } = parse(body);
  const { computation_class: kind, computation_key: key, ...personas } = context?.personas ?? {};
  if (userId === null || kind === undefined || key === undefined || traits === undefined) return null;
  const isGone = traits[key] === (kind === "audience" ? false : null);
  return { kind, key, user: userId, isGone, id: `${personas.computation_id}`, name: `${personas.computation_name}` };
}

type Body = {
  readonly traits?: Readonly<Record<string, unknown>>;
  readonly context?: { readonly personas?: Readonly<Record<string, string>> };
};

/** A damaged body is reported where it is read to be sent. */
function parse(body: string): Body {
  try {
    return JSON.parse(specifiedBody(body));
  } catch {
    return {};
  }
}

/** Hexadecimal digits, enough to tell the users of one sync apart. */
const DIGITS = 24;

export type CallHash = {
  /** Always the same for a user of this outbox. Readers of logs and messageIds cannot tell the user from it. */
  of(user: string): string;
  /** Whether a messageId was made for a call about this user. */
  isOf(messageId: string, user: string): boolean;
};

export function createCallHash(key: string): CallHash {
  const of = (user: string): string => createHmac("sha256", key).update(user).digest("hex").slice(0, DIGITS);
  return {
    of,
    isOf(messageId, user) {
      const [, hash] = /^(?:audience|trait)-[0-9a-f]+-([0-9a-f]+)$/.exec(messageId) ?? [];
      return hash !== undefined && hash === of(user);
    },
  };
}
