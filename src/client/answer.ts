import type { Sendable } from "./entry.ts";

/** What the body of an answer says (docs/http-api.md). What is not understood is left out. */
export type Said = {
  /** Whether all went well; null if it does not say, as no answer of Fairlead's or Segment's. */
  readonly success: boolean | null;
  readonly code: string | null;
  readonly message: string | null;
  /** How many calls the server has taken; null if it does not say. */
  readonly accepted: number | null;
  /** How many calls the server had already. */
  readonly duplicates: number;
  readonly rejected: readonly unknown[];
};

export type Rejection = { readonly code: string; readonly message: string };

export function readAnswer(body: string): Said {
  const { success, code, message, accepted, duplicate, rejected } = parse(body);
  return {
    success: typeof success === "boolean" ? success : null,
    code: textOf(code),
    message: textOf(message),
    accepted: countOf(accepted),
    duplicates: countOf(duplicate) ?? 0,
    rejected: Array.isArray(rejected) ? rejected : [],
  };
}

export type Rejections<Call> = {
  readonly of: ReadonlyMap<Call, Rejection>;
  /** How many are about none of these calls: no server should say that. */
  readonly unknown: number;
};

/**
 * Which calls of a batch the server has rejected, each by itself. They are found by their place, and by their messageId
 * where the two do not agree, as long as there is such a one.
 */
export function readRejections<Call extends Sendable>(
  rejected: readonly unknown[],
  batch: readonly Call[],
): Rejections<Call> {
  const found = new Map<Call, Rejection>();
  let unknown = 0;
  for (const one of rejected) {
    const { index, messageId, code, message } = objectOf(one);
    const entry = find(batch, { index, messageId });
    if (entry)
      found.set(entry, { code: textOf(code) ?? "rejected", message: textOf(message) ?? "no reason was given" });
    else unknown += 1;
  }
  return { of: found, unknown };
}

type Place = { readonly index: unknown; readonly messageId: unknown };

function find<Call extends Sendable>(batch: readonly Call[], { index, messageId }: Place): Call | undefined {
  const there = typeof index === "number" ? batch[index] : undefined;
  if (typeof messageId !== "string" || messageId === there?.messageId) return there;
  return batch.find((call) => call.messageId === messageId) ?? there;
}

type Fields = { readonly [name: string]: unknown };

function parse(body: string): Fields {
  try {
    return objectOf(JSON.parse(body));
  } catch {
    return {};
  }
}

function objectOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** JSON has numbers that count nothing: -1, 0.5, and 1e999, which is infinite. */
function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
