import type { Answer, FinalAnswer } from "./post.ts";
import type { Sendable } from "./queue.ts";

/** What an answer means for a batch. */
export type Verdict =
  | { readonly kind: "taken" }
  | {
      readonly kind: "again";
      readonly afterMs: number;
      /** Whether it uses up one of the retries. */
      readonly counted: boolean;
      /** Whether the server has named the time: then nothing may shorten it. */
      readonly told: boolean;
    }
  | { readonly kind: "lost"; readonly reason: "refused" | "gave_up" };

export type Tried = {
  /** How many retries have been used up, and how many there are. */
  readonly retried: number;
  readonly retries: number;
  /** How many waits came before this one; the first is the shortest. */
  readonly waits: number;
  /** How long it has waited because a 429 has named the time, in milliseconds. */
  readonly askedMs: number;
  /** Chance, from 0 to 1. */
  readonly fraction: number;
  /** Wall time in milliseconds, for a Retry-After that is a date. */
  readonly now: number;
};

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
/** Of the wait, up or down. */
const JITTER = 0.1;
const LEAST_TOLD_MS = 1_000;
const MOST_TOLD_MS = 300_000;
/** As the official clients have it: twelve hours. */
const MOST_ASKED_MS = 43_200_000;

const RETRIED_4XX = [408, 410, 429, 460];
const FINAL_5XX = [501, 505, 511];

/**
 * The retry table of the current official clients: network errors and timeouts, 408, 410, 429, 460 and 5xx except 501,
 * 505 and 511 are tried again; 429 with Retry-After waits that long, from 1 to 300 s, and is not counted for twelve
 * hours; all else is final. A 2xx must say that it is one: what another server or a proxy says is tried again. Elsewhere
 * a Retry-After can lengthen a wait, and never shortens it.
 */
export function judge(answer: FinalAnswer, tried: Tried): Verdict {
  const status = answer.kind === "answered" ? answer.status : null;
  const success = answer.kind === "answered" ? saidSuccess(answer) : null;
  if (success === true) return { kind: "taken" };
  if (success === false || (status !== null && !isRetried(status))) return { kind: "lost", reason: "refused" };
  const told = answer.kind === "answered" ? readRetryAfter(answer.retryAfter, tried.now) : null;
  const asked = status === 429 && told !== null && tried.askedMs + told <= MOST_ASKED_MS;
  if (asked) return { kind: "again", afterMs: told, counted: false, told: true };
  if (tried.retried >= tried.retries) return { kind: "lost", reason: "gave_up" };
  const afterMs = Math.max(told ?? 0, backoff(tried.waits, tried.fraction));
  return { kind: "again", afterMs, counted: true, told: told !== null };
}

/** What a 2xx says of itself; null for all else. A welcome page has not taken any calls, nor has a login of a network. */
function saidSuccess({ status, body }: Answer & { kind: "answered" }): boolean | null {
  return is2xx(status) ? readAnswer(body).success : null;
}

export function is2xx(status: number): boolean {
  return status >= 200 && status < 300;
}

function isRetried(status: number): boolean {
  if (is2xx(status)) return true;
  if (status >= 500) return !FINAL_5XX.includes(status);
  return RETRIED_4XX.includes(status);
}

/** Half a second, doubling to a minute. */
function backoff(waits: number, fraction: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** waits);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * fraction));
}

const SECONDS = /^\d+$/;
/** Date.parse would find a time in nearly anything. */
const HTTP_DATE = /^[a-z]{3}, (\d\d) [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT$/i;

/** Seconds or a date, in milliseconds from now, within bounds; null if it says nothing. */
function readRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  return Number.isNaN(ms) ? null : Math.min(MOST_TOLD_MS, Math.max(LEAST_TOLD_MS, ms));
}

/** NaN for what is no date. What Date.parse has moved to another day, as 31 February to March, was none. */
function parseHttpDate(text: string): number {
  const [, day] = HTTP_DATE.exec(text) ?? [];
  const at = day === undefined ? Number.NaN : Date.parse(text);
  return new Date(at).getUTCDate() === Number(day) ? at : Number.NaN;
}

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

type Rejection = { readonly code: string; readonly message: string };

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
