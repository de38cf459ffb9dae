import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * The value of `X-Signature`: lowercase hexadecimal HMAC-SHA1 of the body's UTF-8 bytes, with the shared secret as key
 * (SPEC.md 5.3).
 */
export function sign(body: string | Uint8Array, secret: string): string {
  return createHmac("sha1", secret).update(body).digest("hex");
}

/** Verifies a signature of this body (SPEC.md 5.4), in constant time. */
export function verify(body: string | Uint8Array, signature: string, secret: string): boolean {
  const expected = Buffer.from(sign(body, secret));
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
