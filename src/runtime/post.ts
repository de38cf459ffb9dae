import type { WebhookTls } from "../model/destination.ts";
import type { Post, PostRequest, Reply } from "../model/ports.ts";
import { KB } from "../model/units.ts";
import { proxyFor, readStart, replyToFailure } from "./post-reply.ts";

/**
 * HTTP POSTs from this machine (SPEC.md 4.1). Each runtime has its own client: Bun's `fetch` is the fast one, but Deno's
 * ignores TLS settings, hides why it failed, and sends a POST again by itself.
 */
export function createPost(): Post {
  return typeof Bun === "undefined" ? postWithNode : postWithFetch;
}

async function postWithNode(...args: Parameters<Post>): ReturnType<Post> {
  // Imported late: under Bun, where nobody needs it, node:https costs 10 MB and 14 ms at the start.
  const { postWithNode } = await import("./post-deno.ts");
  return postWithNode(...args);
}

/** Said outright: NODE_TLS_REJECT_UNAUTHORIZED in the environment would switch the check off. */
const CHECKED = { rejectUnauthorized: true };
const NO_BODY = Promise.resolve("");

/**
 * POSTs with Bun's `fetch`, which runs at most 256 requests in the process: whoever calls this keeps below. It reads
 * HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY by itself.
 */
async function postWithFetch({ url, headers, body, tls, signal }: PostRequest): Promise<Reply> {
  try {
    // A compressed answer stays compressed: unpacked, a few KB can become gigabytes.
    const init = { method: "POST", headers, body, signal, redirect: "manual", decompress: false } as const;
    return toReply(await fetch(url, /^https:/i.test(url) ? { ...init, ...trusting(tls) } : init));
  } catch (error) {
    return replyToFailure(error, signal, { url, tls, proxy: proxyFor(url) });
  }
}

/** Connections stay with the session that opened them, and close when its value is forgotten, as after a reload. */
const sessions = new WeakMap<WebhookTls, Bun.FetchSession>();

function trusting(tls: WebhookTls | null): BunFetchRequestInit {
  if (tls === null) return { tls: CHECKED };
  const kept = sessions.get(tls);
  if (kept) return { session: kept };
  // Made once: with `tls` on each request, Bun reads all of a file of authorities each time.
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
  // Every look at a header costs, and on a success neither of these two means anything.
  if (status < 300) return { kind: "answered", status, retryAfter: null, location: null, body };
  return { kind: "answered", status, retryAfter: headers.get("retry-after"), location: headers.get("location"), body };
}

function bodyStart(response: Response): Promise<string> {
  const length = response.headers.get("content-length");
  // A chunked body is as long as the receiver likes, whatever length it declares besides.
  if (length === null || Number(length) > KB || response.headers.has("transfer-encoding")) {
    return response.body === null ? NO_BODY : readStart(response.body, length);
  }
  return length === "0" ? NO_BODY : response.text().catch(() => "");
}
