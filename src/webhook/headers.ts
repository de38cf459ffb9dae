import type { Destination, Webhook } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import { sign } from "./signature.ts";

/** SPEC.md 4.1: the product token of the service, version 1.0. */
export const USER_AGENT = "Fairlead/1.0";

/** The headers of one request: the webhook's static ones, and a signature if there is a shared secret (SPEC.md 4.1, 5). */
export function requestHeaders(webhook: Webhook, body: string, destination: Destination): Record<string, string> {
  const headers: Record<string, string> = { "User-Agent": USER_AGENT, "Content-Type": "application/json" };
  for (const [name, value] of webhook.headers) headers[name] = value.reveal();
  const [secret] = destination.sharedSecrets;
  if (secret) headers["X-Signature"] = sign(body, secret.reveal());
  return headers;
}

/** The same as they may be shown: without the values of the static ones, which may be secrets. */
export function shownHeaders(webhook: Webhook, body: string, destination: Destination): Record<string, string> {
  const headers = webhook.headers.map(([name]) => [name, new Secret("***")] as const);
  return requestHeaders({ ...webhook, headers }, body, destination);
}
