import type { Ms } from "./units.ts";

/**
 * Every refusal that a client or an operator can meet, with its HTTP status. Codes are stable: programs may match on them.
 * Client libraries retry 429 and 5xx, and drop a call on any other 4xx.
 */
export const FAULT_STATUS = {
  invalid_json: 400,
  invalid_call: 400,
  invalid_timestamp: 400,
  missing_id: 400,
  missing_event: 400,
  missing_group_id: 400,
  missing_previous_id: 400,
  message_id_too_long: 400,
  unknown_type: 400,
  number_out_of_range: 400,
  too_deep: 400,
  call_too_large: 400,
  envelope_too_large: 400,
  too_many_events: 400,
  body_too_large: 400,
  body_incomplete: 400,
  invalid_encoding: 400,
  invalid_request: 400,
  unknown_source: 404,
  unknown_destination: 404,
  unknown_delivery: 404,
  unknown_deletion: 404,
  user_deleted: 409,
  unknown_audience: 404,
  unknown_trait: 404,
  destination_in_use: 409,
  destination_busy: 409,
  destination_disabled: 409,
  name_taken: 409,
  sync_running: 409,
  list_shrinks: 409,
  outbox_in_place: 409,
  missing_write_key: 401,
  unknown_write_key: 401,
  source_disabled: 401,
  unauthorized: 401,
  user_suppressed: 403,
  forbidden_origin: 403,
  forbidden_host: 403,
  read_only: 403,
  not_found: 404,
  method_not_allowed: 405,
  config_invalid: 422,
  body_too_slow: 408,
  unsupported_media_type: 415,
  too_many_bodies: 429,
  too_many_watchers: 429,
  overloaded: 429,
  rate_limited: 429,
  source_full: 429,
  internal: 500,
  store_full: 503,
  store_failed: 503,
  outbox_gone: 503,
  stopping: 503,
} as const;

export type FaultCode = keyof typeof FAULT_STATUS;

/** A refusal: what could not be done, why, with which value, and what to do. */
export type Fault = {
  readonly code: FaultCode;
  readonly message: string;
  /** How long the client should wait before it tries again. */
  readonly retryAfter?: Ms;
};

export function fault(code: FaultCode, message: string, retryAfter?: Ms): Fault {
  return retryAfter === undefined ? { code, message } : { code, message, retryAfter };
}

/** The store cannot be reached now, or is too busy. Reads reject with it, and with any other error only for a bug or damage. */
export class StoreAway extends Error {}

/** The answer when something could not be read. */
export function unreadableNow({ message }: StoreAway): Fault {
  return fault("store_failed", `the outbox cannot be read now: ${message}`);
}

/** Distinguishes a fault from the other results of a function. */
export function isFault(value: unknown): value is Fault {
  if (typeof value !== "object" || value === null || !("code" in value)) return false;
  return typeof value.code === "string" && Object.hasOwn(FAULT_STATUS, value.code);
}
