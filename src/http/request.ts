import { createHash, timingSafeEqual } from "node:crypto";
import { type Fault, fault } from "../model/fault.ts";
import type { Secret } from "../model/secret.ts";

/**
 * The path of a URL as the server gives it, without a slash at its end. It is not parsed: a client may send a host that no
 * URL can have, and a URL object costs as much as a small request.
 */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + "://".length);
  const query = url.indexOf("?", start);
  const end = query < 0 ? url.length : query;
  return url.slice(start, url[end - 1] === "/" ? end - 1 : end);
}

export function isGzip(request: Request): boolean | Fault {
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return false;
  if (encoding === "gzip" || encoding === "x-gzip") return true;
  return fault("unsupported_media_type", `Content-Encoding must be gzip or absent (got "${encoding.slice(0, 40)}")`);
}

/** The token of `Authorization: Bearer …`, or null. */
export function bearerToken(request: Request): string | null {
  const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token ? token : null;
}

/** Compares a token in constant time, whatever its length. */
export function isSameToken(given: string, expected: Secret): boolean {
  return timingSafeEqual(digest(given), digest(expected.reveal()));
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
