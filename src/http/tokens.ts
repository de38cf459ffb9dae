import { createHash, timingSafeEqual } from "node:crypto";
import type { Secret } from "../model/secret.ts";

/** Whether a token is the expected one. Takes the same time for any wrong one, whatever its length. */
export function isSameToken(given: string, expected: Secret): boolean {
  return timingSafeEqual(digest(given), digest(expected.reveal()));
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The token of `Authorization: Bearer …`, or null. */
export function bearerToken(request: Request): string | null {
  const [scheme, token] = (request.headers.get("authorization") ?? "").split(" ", 2);
  return scheme?.toLowerCase() === "bearer" && token ? token : null;
}
