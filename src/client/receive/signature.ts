import { verify } from "../../webhook/signature.ts";

/** A shared secret; or several of them, while one takes the place of another. */
export type Secrets = string | readonly string[];

/**
 * Whether the value of `X-Signature` was made over this body, byte for byte as it came, with one of these secrets
 * (SPEC.md 5.4). Takes the same time for any wrong one. Whatever the header is, absent or several or no text, the answer
 * is a boolean; an empty secret and a body that was parsed already are mistakes of the program, and throw a TypeError.
 */
export function verifySignature(body: string | Uint8Array, header: unknown, secret: Secrets): boolean {
  const secrets = readSecrets(secret);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) throw new TypeError(PARSED);
  const signature = readSignature(header);
  if (signature === null) return false;
  // Each is tried, so that the time does not tell which one it was.
  return secrets.map((one) => verify(body, signature, one)).includes(true);
}

const PARSED = "a signature is made over the body as it came: give its text or bytes, and parse them afterwards";

/** Throws a TypeError for none, and for an empty one: with that, anybody could sign. */
export function readSecrets(secret: Secrets): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret];
  if (secrets.length === 0 || !secrets.every(isSecret)) throw new TypeError(NO_SECRET);
  return secrets;
}

const NO_SECRET = "there is no secret to verify webhooks with: give the destination's sharedSecret, which is not empty";

function isSecret(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** Null if it cannot be a signature. Servers give a header as text, or as a list of its values. */
export function readSignature(header: unknown): string | null {
  const value: unknown = Array.isArray(header) && header.length === 1 ? header[0] : header;
  return typeof value === "string" && /^[\da-f]{40}$/.test(value) ? value : null;
}
