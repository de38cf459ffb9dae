import { type Answer, type FinalAnswer, is2xx } from "./post.ts";

/** What an answer means for a batch. */
export type Verdict =
  | { readonly kind: "taken" }
  | {
      readonly kind: "again";
      readonly afterMs: number;
      /** Whether it uses up one of the retries. */
      readonly counted: boolean;
      /** Whether the server has named the time, which nothing may shorten. */
      readonly told: boolean;
    }
  | { readonly kind: "lost"; readonly reason: "refused" | "gave_up" };

export type Tried = {
  /** How many retries have been used up, and how many there are. */
  readonly retried: number;
  readonly retries: number;
  /** How many waits came before this one; the first is the shortest. */
  readonly waits: number;
  /** The sum of the waits that a 429 has named, in milliseconds. */
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
/** Twelve hours, as in the official clients. */
const MOST_ASKED_MS = 43_200_000;

/** Redirects for now lead to a login of the network, or to a page that says when the server is back. */
const RETRIED_3XX = [302, 303, 307];
const RETRIED_4XX = [408, 410, 429, 460];
const FINAL_5XX = [501, 505, 511];

/**
 * The retry table of the current official clients. Network errors, timeouts, 408, 410, 429, 460 and 5xx except 501, 505
 * and 511 are retried; all else is final. A 429 with Retry-After waits that long, from 1 to 300 s, and for twelve hours
 * uses up no retry. Elsewhere Retry-After can lengthen a wait, and never shortens it. What another server or a proxy
 * answers is retried as well: a 2xx that does not say `success`, and a temporary redirect.
 */
export function judge(answer: FinalAnswer, tried: Tried): Verdict {
  const status = answer.kind === "answered" ? answer.status : null;
  const success = answer.kind === "answered" ? successOf(answer) : null;
  if (success === true) return { kind: "taken" };
  if (success === false || (status !== null && !isRetried(status))) return { kind: "lost", reason: "refused" };
  const told = answer.kind === "answered" ? readRetryAfter(answer.retryAfter, tried.now) : null;
  const asked = status === 429 && told !== null && tried.askedMs + told <= MOST_ASKED_MS;
  if (asked) return { kind: "again", afterMs: told, counted: false, told: true };
  if (tried.retried >= tried.retries) return { kind: "lost", reason: "gave_up" };
  const afterMs = Math.max(told ?? 0, backoff(tried.waits, tried.fraction));
  return { kind: "again", afterMs, counted: true, told: told !== null };
}

/** What a 2xx says of itself, else null. A server's welcome page has taken no calls, nor has the login of a network. */
export function successOf({ status, body }: Answer & { kind: "answered" }): boolean | null {
  return is2xx(status) ? readAnswer(body).success : null;
}

function isRetried(status: number): boolean {
  if (is2xx(status)) return true;
  return status >= 500 ? !FINAL_5XX.includes(status) : [...RETRIED_3XX, ...RETRIED_4XX].includes(status);
}

/** Half a second, doubling to a minute. */
function backoff(waits: number, fraction: number): number {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** waits);
  return Math.round(wait * (1 - JITTER + 2 * JITTER * fraction));
}

const SECONDS = /^\d+$/;
/** Date.parse finds a time in nearly anything. */
const HTTP_DATE = /^[a-z]{3}, (\d\d) [a-z]{3} \d{4} \d\d:\d\d:\d\d GMT$/i;

/** Seconds or a date, in milliseconds from now, within bounds; null if it is neither. */
function readRetryAfter(header: string | null, now: number): number | null {
  const text = header?.trim() ?? "";
  const ms = SECONDS.test(text) ? Number(text) * 1_000 : parseHttpDate(text) - now;
  return Number.isNaN(ms) ? null : Math.min(MOST_TOLD_MS, Math.max(LEAST_TOLD_MS, ms));
}

/** NaN if it is no date. Date.parse moves 31 February to March, which changes the day. */
function parseHttpDate(text: string): number {
  const [, day] = HTTP_DATE.exec(text) ?? [];
  const at = day === undefined ? Number.NaN : Date.parse(text);
  return new Date(at).getUTCDate() === Number(day) ? at : Number.NaN;
}

/** The body of an answer (docs/reference/http-api.md). What is not understood is left out. */
export type AnswerBody = {
  /** Null if the answer does not say it; Fairlead and Segment always do. */
  readonly success: boolean | null;
  readonly code: string | null;
  readonly message: string | null;
  /** How many calls the server has taken; null if it does not say. */
  readonly accepted: number | null;
  /** How many of the calls the server had already. */
  readonly duplicates: number;
  readonly rejected: readonly unknown[];
};

export function readAnswer(body: string): AnswerBody {
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
  readonly of: ReadonlyMap<Call, { readonly code: string; readonly message: string }>;
  /** How many are about none of these calls, which no server should say. */
  readonly unknown: number;
};

/** Which calls of a batch the server has rejected. They are found by index, or by messageId where the two disagree. */
export function readRejections<Call extends { readonly messageId?: string }>(
  rejected: readonly unknown[],
  batch: readonly Call[],
): Rejections<Call> {
  const found = new Map<Call, { code: string; message: string }>();
  let unknown = 0;
  for (const one of rejected) {
    const { index, messageId, code, message } = objectOf(one);
    const there = typeof index === "number" ? batch[index] : undefined;
    const isThere = typeof messageId !== "string" || messageId === there?.messageId;
    const call = isThere ? there : (batch.find((other) => other.messageId === messageId) ?? there);
    if (call) found.set(call, { code: textOf(code) ?? "rejected", message: textOf(message) ?? "no reason was given" });
    else unknown += 1;
  }
  return { of: found, unknown };
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

/** Numbers of JSON may be no count: -1, 0.5, and 1e999, which is infinite. */
function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : null;
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}
