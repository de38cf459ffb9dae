import type { Destination, Webhook } from "../model/config.ts";
import type { Delivery } from "../model/delivery.ts";
import { Secret } from "../model/secret.ts";
import { type At, SECOND } from "../model/units.ts";
import { type Hmac, prepareHmac } from "./hmac.ts";

/** SPEC.md 4.1: the product token of the service, version 1.0. */
const USER_AGENT = "Fairlead/1.0";

/** `at`: when the attempt begins, by the wall clock. */
export type Sending = { readonly destination: Destination; readonly at: At };

/**
 * The headers of one request (SPEC.md 4.1, 5): the webhook's static ones, a signature if there is a shared secret, and those
 * of Standard Webhooks if the destination has them.
 */
export function requestHeaders(
  webhook: Webhook,
  { messageId, body }: Pick<Delivery, "messageId" | "body">,
  { destination, at }: Sending,
): Record<string, string> {
  const headers: Record<string, string> = { "User-Agent": USER_AGENT, "Content-Type": "application/json" };
  for (const [name, value] of webhook.headers) headers[name] = value.reveal();
  const { sharedSecrets, standardWebhooks } = destination;
  const [secret] = sharedSecrets;
  if (secret) headers["X-Signature"] = hmacSha1(secret)(body, "hex");
  if (standardWebhooks) Object.assign(headers, standardHeaders({ messageId, body, at }, sharedSecrets));
  return headers;
}

/** The same headers for display, without the values of static ones, which may be secret. */
export function shownHeaders(
  webhook: Webhook,
  delivery: Pick<Delivery, "messageId" | "body">,
  sending: Sending,
): Record<string, string> {
  const headers = webhook.headers.map(([name]) => [name, new Secret("***")] as const);
  return requestHeaders({ ...webhook, headers }, delivery, sending);
}

/** One message of one attempt. */
type Message = {
  readonly messageId: string;
  readonly body: string;
  /** When the attempt begins, by the wall clock. */
  readonly at: At;
};

type StandardHeaders = Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>>;

/**
 * The headers of Standard Webhooks 1.0: an id that is the same at each attempt, the time of the attempt, and signatures. A
 * signature is an HMAC-SHA256 over both and the body. There is one for each secret, so that receivers can rotate them.
 */
export function standardHeaders({ messageId, body, at }: Message, secrets: readonly Secret[]): StandardHeaders {
  const id = webhookId(messageId);
  const timestamp = String(Math.floor(at / SECOND));
  const signatures = secrets.map((secret) => `v1,${hmacSha256(secret)(`${id}.${timestamp}.${body}`, "base64")}`);
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

/**
 * Encodes a messageId, which may be any text, for a header of visible ASCII. Dots are encoded because they separate id, time
 * and body: a message with a dot in its id could have the signature of another. Percent signs are encoded so that different
 * ids stay different.
 */
function webhookId(messageId: string): string {
  if (/^[\w-]+$/.test(messageId)) return messageId;
  return messageId.toWellFormed().replace(/[^!-~]+|[.%]/g, (part) => encodeURIComponent(part).replaceAll(".", "%2E"));
}

// Each attempt needs one of them. A reload makes new secrets.
const hmacSha1 = keptFor((secret) => prepareHmac("sha1", Buffer.from(secret.reveal())));
const hmacSha256 = keptFor((secret) => prepareHmac("sha256", keyOf(secret)));

function keptFor(prepare: (secret: Secret) => Hmac): (secret: Secret) => Hmac {
  const prepared = new WeakMap<Secret, Hmac>();
  return (secret) => {
    const known = prepared.get(secret) ?? prepare(secret);
    prepared.set(secret, known);
    return known;
  };
}

const PREFIX = "whsec_";

/** Secrets with the standard's prefix are base64; others are used as text. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal();
  return text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), "base64") : Buffer.from(text);
}
