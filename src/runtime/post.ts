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
    return toReply(await fetch(url, /^https:/i.test(url) ? { ...init, session: sessionFor(url, tls) } : init));
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

/**
 * Connections belong to a session. It is created once: with `tls` on each request, Bun parses the whole list of authorities
 * each time.
 */
function sessionFor(url: string, tls: WebhookTls | null): Bun.FetchSession {
  return tls === null ? publicSession(url) : ownSession(tls);
}

/** Webhooks without TLS settings share connections by origin. All origins come from the config, so they are few. */
const publicSessions = new Map<string, Bun.FetchSession>();

function publicSession(url: string): Bun.FetchSession {
  // Without `new URL`, because this is asked for at each attempt.
  const end = url.indexOf("/", "https://".length);
  const origin = end < 0 ? url : url.slice(0, end);
  const known = publicSessions.get(origin);
  if (known) return known;
  const session = createSession({ ca: null, cert: null, key: null }, publicSessions.size);
  publicSessions.set(origin, session);
  return session;
}

/** By a webhook's settings. Connections close when these are garbage, as after a reload. */
const ownSessions = new WeakMap<WebhookTls, Bun.FetchSession>();
let ownCount = 0;

function ownSession(tls: WebhookTls): Bun.FetchSession {
  const known = ownSessions.get(tls);
  if (known) return known;
  const session = createSession(tls, ownCount);
  ownCount += 1;
  ownSessions.set(tls, session);
  return session;
}

/**
 * Bun keeps 64 idle connections for each distinct TLS configuration, whatever their sessions and origins. To keep those of
 * many receivers, sessions are spread over several configurations of the same meaning. Bun keeps only 60 of these: room for
 * webhooks without TLS settings, and for two kinds of such settings.
 */
const POOLS = 20;

function createSession(tls: WebhookTls, nth: number): Bun.FetchSession {
  // For how long a server may resume sessions. It means nothing to a client, but makes the configuration a distinct one.
  const sessionTimeout = 300 + (nth % POOLS);
  const options: Bun.TLSOptions & { readonly sessionTimeout: number } = { ...toOptions(tls), sessionTimeout };
  return new Bun.FetchSession({ tls: options });
}

function toOptions({ ca, cert, key }: WebhookTls): Bun.TLSOptions {
  return {
    // Explicit: NODE_TLS_REJECT_UNAUTHORIZED in the environment would switch the check off.
    rejectUnauthorized: true,
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
