import type { Delivery } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import type { At } from "../model/units.ts";
import { sign } from "./signature.ts";
import { standardHeaders } from "./standard.ts";

/** SPEC.md 4.1: the product token of the service, version 1.0. */
export const USER_AGENT = "Fairlead/1.0";

/** What else decides about the headers: the webhook's destination, and when the attempt begins, by the wall clock. */
export type Sending = { readonly destination: Destination; readonly at: At };

/**
 * The headers of one request: the webhook's static ones, and a signature if there is a shared secret (SPEC.md 4.1, 5);
 * those of Standard Webhooks beside it if the destination has them.
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
  if (secret) headers["X-Signature"] = sign(body, secret.reveal());
  if (standardWebhooks) Object.assign(headers, standardHeaders({ messageId, body, at }, sharedSecrets));
  return headers;
}

/** The same as they may be shown: without the values of the static ones, which may be secrets. */
export function shownHeaders(
  webhook: Webhook,
  delivery: Pick<Delivery, "messageId" | "body">,
  sending: Sending,
): Record<string, string> {
  const headers = webhook.headers.map(([name]) => [name, new Secret("***")] as const);
  return requestHeaders({ ...webhook, headers }, delivery, sending);
}
