import { createHmac } from "node:crypto";
import type { Secret } from "../model/secret.ts";
import { type At, SECOND } from "../model/units.ts";

/** What is signed: one attempt to deliver one message. */
export type Message = {
  readonly messageId: string;
  readonly body: string;
  /** When the attempt begins, by the wall clock. */
  readonly at: At;
};

export type StandardHeaders = Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>>;

/**
 * The headers of Standard Webhooks 1.0: an id that is the same at each attempt, the attempt's time, and an HMAC-SHA256
 * over both and the body by each of the secrets, so that a receiver can change from one to another.
 */
export function standardHeaders({ messageId, body, at }: Message, secrets: readonly Secret[]): StandardHeaders {
  const id = webhookId(messageId);
  const timestamp = String(Math.floor(at / SECOND));
  const signatures = secrets.map((secret) => {
    return `v1,${createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest("base64")}`;
  });
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/**
 * A client's messageId may be any text. A header takes visible ASCII alone, and a dot would let its sender move the
 * border between id, time and body: the signature of one message would be that of another. Percent signs are encoded
 * too, so that no two ids become the same.
 */
function webhookId(messageId: string): string {
  if (/^[\w-]+$/.test(messageId)) return messageId;
  return messageId.toWellFormed().replace(/[^!-~]+|[.%]/g, (part) => encodeURIComponent(part).replaceAll(".", "%2E"));
}

const PREFIX = "whsec_";

/** Secrets with the standard's prefix are base64; others are keys as they stand. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal();
  return text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), "base64") : Buffer.from(text);
}
