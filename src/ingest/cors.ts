/**
 * The rules by which a browser lets a page talk to this server. No cookie is ever set or read, so that there is nothing
 * that a page could borrow; credentials are allowed, because `navigator.sendBeacon` always asks for that.
 */
export type Cors = {
  /** Whether pages of this origin may send calls (`ingest.corsOrigins`). */
  allows(origin: string): boolean;
};

export function createCors(origins: readonly string[]): Cors {
  const exact = new Set(origins);
  const patterns = origins.filter((origin) => origin.includes("*.")).map((origin) => origin.split("*"));
  const all = exact.has("*");
  return {
    allows(origin) {
      if (all) return true;
      const own = origin.toLowerCase();
      return exact.has(own) || patterns.some(([start = "", end = ""]) => isSubdomain(own, start, end));
    },
  };
}

function isSubdomain(origin: string, start: string, end: string): boolean {
  return origin.length > start.length + end.length && origin.startsWith(start) && origin.endsWith(end);
}

/** The answer to a browser that asks before it sends. Headers are listed: `*` would not cover Authorization. */
export function answerPreflight(origin: string): Response {
  return addCors(new Response(null, { status: 204, headers: PREFLIGHT }), origin);
}

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": [
    ...["authorization", "content-type", "x-retry-count"],
    // Of pages that compress, of those without a client library, and of RudderStack's.
    ...["content-encoding", "x-write-key", "anonymousid"],
  ].join(", "),
  "Access-Control-Max-Age": "86400",
};

/** Lets the page read the answer, an error too, and when it should come again. */
export function addCors(response: Response, origin: string): Response {
  const { headers } = response;
  headers.set("Access-Control-Allow-Origin", origin);
  headers.set("Access-Control-Allow-Credentials", "true");
  headers.set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Reset");
  headers.append("Vary", "Origin");
  return response;
}
