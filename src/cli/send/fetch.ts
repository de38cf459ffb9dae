import type { Fetch } from "../../client/platform.ts";
import type { Ms } from "../../model/units.ts";
import { type Exchange, request } from "../../runtime/request.ts";

/** Why there is no whole answer; the message goes on after a colon. */
export class UnreachableError extends Error {
  override readonly name = "UnreachableError";
  /** The system's, where there is one. */
  readonly code: string | null;

  constructor({ code, reason }: Extract<Exchange, { kind: "failed" }>) {
    super(reason);
    this.code = code;
  }
}

/**
 * The client library's way to a daemon, which is that of all commands: over Unix sockets too, and with certificates that
 * are always checked. It keeps to its own deadline, for one request until its answer is read, and to no signal. Rejects
 * with an UnreachableError.
 */
export function createFetch(base: string, timeout: Ms): Fetch {
  return async (url, { method, headers, body }) => {
    const { origin, pathname } = new URL(url);
    const to = base.startsWith("unix:") ? base : origin;
    const exchange = await request({ base: to, method, path: pathname, headers, body, timeout });
    if (exchange.kind === "failed") throw new UnreachableError(exchange);
    const { status, text } = exchange;
    return { status, statusText: "", headers: exchange.headers, text: async () => text };
  };
}
