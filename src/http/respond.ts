import { FAULT_STATUS, type Fault } from "../model/fault.ts";

/** Shared: most answers have no other header, and creating one per answer costs more than the rest of it. */
const JSON_TYPE = new Headers({ "Content-Type": "application/json" });

/** A JSON answer. */
export function respond(status: number, body: object, headers?: Readonly<Record<string, string>>): Response {
  const all = headers ? { "Content-Type": "application/json", ...headers } : JSON_TYPE;
  return new Response(JSON.stringify(body), { status, headers: all });
}

/**
 * The answer to a refused request. It has `code`, `message` and `error`, because client libraries use one or another to
 * decide on a retry. They read the time of the retry from one of two headers, in whole seconds.
 */
export function respondFault({ code, message, retryAfter }: Fault): Response {
  const seconds = retryAfter === undefined ? null : String(Math.ceil(retryAfter / 1_000));
  const wait = seconds === null ? undefined : { "Retry-After": seconds, "X-RateLimit-Reset": seconds };
  // The rest of the body may still arrive, or never.
  const headers = code === "body_too_slow" ? { ...wait, Connection: "close" } : wait;
  return respond(FAULT_STATUS[code], { success: false, code, message, error: message }, headers);
}
