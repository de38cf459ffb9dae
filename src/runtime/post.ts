import type { WebhookTls } from "../model/config.ts";
import type { Post, PostRequest, PostSignal, Reply } from "../model/ports.ts";
import { KB } from "../model/units.ts";
import { proxyFor, readStart, replyToFailure } from "./post-reply.ts";

/**
 * HTTP POSTs from this machine. Each runtime has its own client: Bun's `fetch` is fast, but Deno's ignores TLS settings,
 * hides why it failed, and sends a POST again by itself.
 */
export function createPost(): Post {
  if (typeof Bun !== "undefined") return postWithFetch;
  // Imported late: under Bun, which does not need it, node:https costs 10 MB and 14 ms at the start.
  return async (request) => (await import("./post-deno.ts")).postWithNode(request);
}

/** Explicit: NODE_TLS_REJECT_UNAUTHORIZED in the environment would switch the check off. */
const CHECKED = { rejectUnauthorized: true };
const NO_BODY = Promise.resolve("");

/**
 * POSTs with Bun's `fetch`, which runs at most 256 requests in the process: callers keep below that. It reads HTTP_PROXY,
 * HTTPS_PROXY, ALL_PROXY and NO_PROXY by itself.
 */
async function postWithFetch({ url, headers, body, tls, signal }: PostRequest): Promise<Reply> {
  try {
    // A compressed answer stays compressed: unpacked, a few KB can become gigabytes.
    const cut = toAbortSignal(signal);
    const init = { method: "POST", headers, body, signal: cut, redirect: "manual", decompress: false } as const;
    return toReply(await fetch(url, /^https:/i.test(url) ? { ...init, ...trusting(tls) } : init));
  } catch (error) {
    return replyToFailure(error, signal, { url, tls, proxy: proxyFor(url) });
  }
}

function toAbortSignal(signal: PostSignal): AbortSignal {
  if (signal.aborted) return AbortSignal.abort();
  const controller = new AbortController();
  signal.addEventListener("abort", () => controller.abort());
  return controller.signal;
}

/** Connections belong to a session, and close when its TLS settings are garbage, as after a reload. */
const sessions = new WeakMap<WebhookTls, Bun.FetchSession>();

function trusting(tls: WebhookTls | null): BunFetchRequestInit {
  if (tls === null) return { tls: CHECKED };
  const kept = sessions.get(tls);
  if (kept) return { session: kept };
  // Created once: with `tls` on each request, Bun parses the whole list of authorities each time.
  const session = new Bun.FetchSession({ tls: toOptions(tls) });
  sessions.set(tls, session);
  return { session };
}

function toOptions({ ca, cert, key }: WebhookTls): Bun.TLSOptions {
  return {
    ...CHECKED,
    ...(ca !== null && { ca }),
    ...(cert !== null && key !== null && { cert, key: key.reveal() }),
  };
}

function toReply(response: Response): Reply {
  const { status, headers } = response;
  const body = bodyStart(response);
  // Reading a header costs time, and these two mean nothing on a success.
  if (status < 300) return { kind: "answered", status, retryAfter: null, location: null, body };
  return { kind: "answered", status, retryAfter: headers.get("retry-after"), location: headers.get("location"), body };
}

function bodyStart(response: Response): Promise<string> {
  const length = response.headers.get("content-length");
  // A chunked body can have any length, whatever length is declared as well.
  if (length === null || Number(length) > KB || response.headers.has("transfer-encoding")) {
    return response.body === null ? NO_BODY : readStart(response.body, length);
  }
  return length === "0" ? NO_BODY : response.text().catch(() => "");
}
