import type { CallType } from "../model/event.ts";
import type { SentCall } from "./calls.ts";
import { type Exact, readExact } from "./exact.ts";
import type { Entry } from "./queue.ts";

/** What the library throws or reports. The codes are stable: programs may match on them. */
export class AnalyticsError extends Error {
  override readonly name: string = "AnalyticsError";
  readonly code: string;

  constructor(code: string, message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** An option that cannot be used. Thrown by `new Analytics`. */
export class InvalidOptionError extends AnalyticsError {
  override readonly name = "InvalidOptionError";

  constructor(message: string) {
    super("invalid_option", message);
  }
}

export type InvalidCallCode =
  | "invalid_call"
  | "invalid_timestamp"
  | "missing_id"
  | "missing_event"
  | "missing_group_id"
  | "missing_previous_id"
  | "message_id_too_long"
  | "not_serialisable";

/** A call that breaks the rules (SPEC.md 2.3). Thrown by the call, with the Go client's message where it has one. */
export class InvalidCallError extends AnalyticsError {
  override readonly name = "InvalidCallError";
  declare readonly code: InvalidCallCode;

  constructor(code: InvalidCallCode, message: string, options?: { readonly cause: unknown }) {
    super(code, message, options);
  }
}

/** A call over `maxCallSize` (SPEC.md 8). Thrown by the call. Sizes are bytes of JSON in UTF-8. */
export class CallTooLargeError extends AnalyticsError {
  override readonly name = "CallTooLargeError";
  readonly bytes: number;
  readonly limit: number;

  constructor(bytes: number, limit: number) {
    super("call_too_large", `the call is ${bytes} bytes; the limit is ${limit}`);
    this.bytes = bytes;
    this.limit = limit;
  }
}

/** The queue has no room for a call. Thrown by the call, which changes nothing. */
export class QueueFullError extends AnalyticsError {
  override readonly name = "QueueFullError";
  readonly limit: number;

  constructor(limit: number, message: string) {
    super("queue_full", message);
    this.limit = limit;
  }
}

export type SpoolErrorCode = "spool_full" | "spool_failed" | "spool_damaged";

/**
 * What is wrong with the spool; passed to its `onError`. `spool_full`: it has `maxBytes`. `spool_failed`: the disk cannot be
 * written, for example because it is full. Both are reported once, until writing works again. `spool_damaged`: a stored call
 * cannot be read.
 */
export class SpoolError extends AnalyticsError {
  override readonly name = "SpoolError";
  declare readonly code: SpoolErrorCode;

  constructor(code: SpoolErrorCode, message: string, options?: { readonly cause: unknown }) {
    super(code, message, options);
  }
}

/** A call after close(). Thrown by the call. */
export class ClosedError extends AnalyticsError {
  override readonly name = "ClosedError";

  constructor() {
    super("closed", "the client is closed: make calls before close(), or create another client");
  }
}

/**
 * Why a call was lost: `rejected` by the server, alone of its batch; `refused` with its whole batch; `gave_up` after all
 * retries; `dropped` from a full queue; `exited`: the program ended first.
 */
export type LostReason = "rejected" | "refused" | "gave_up" | "dropped" | "exited";

export type Loss = {
  readonly reason: LostReason;
  /** The server's code, as `call_too_large` or `unknown_write_key`; the reason when left out. */
  readonly code?: string;
  /** What happened, as a clause. */
  readonly why: string;
  /** Of the last answer; null or left out if there was none. */
  readonly status?: number | null;
  /** How often the call was sent; 0 when left out. */
  readonly attempts?: number;
  readonly cause?: unknown;
};

/** A call that will not be delivered. Passed to `onError`, and listed in the reports of flush() and close(). */
export class LostCallError extends AnalyticsError {
  override readonly name = "LostCallError";
  readonly reason: LostReason;
  readonly status: number | null;
  readonly attempts: number;
  readonly type: CallType;
  readonly messageId: string;
  readonly #text: Exact;

  constructor({ type, messageId, text, digits }: Entry, { reason, code, why, status, attempts, cause }: Loss) {
    super(code ?? reason, `${type} ${messageId} is lost: ${why}`, cause === undefined ? undefined : { cause });
    this.reason = reason;
    this.status = status ?? null;
    this.attempts = attempts ?? 0;
    this.type = type;
    this.messageId = messageId;
    this.#text = { text, digits };
  }

  /** The call as it was sent, or would have been. Store it, or make it again with the same messageId. */
  get call(): SentCall {
    return readExact(this.#text);
  }
}
