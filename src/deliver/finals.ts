import { createHash } from "node:crypto";
import type { Delivery, FinalAnswer } from "../model/delivery.ts";
import type { Destination, Webhook } from "../model/destination.ts";

/**
 * The final answers that still count. A webhook whose entry in the config has changed since (its headers, certificates or
 * signing secrets) is another one, and is asked again.
 */
export function currentFinals(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
  if (finals.length === 0) return finals;
  return finals.filter(({ url, entry }) => {
    const webhook = destination.webhooks.find((one) => one.url === url);
    return webhook === undefined || entry === undefined || entry === entryOf(webhook, destination);
  });
}

/** The webhooks that have not answered finally. */
export function openWebhooks({ finals }: Delivery, destination: Destination): readonly Webhook[] {
  const { webhooks } = destination;
  if (finals.length === 0) return webhooks;
  const counting = currentFinals(finals, destination);
  const open = webhooks.filter(({ url }) => !counting.some((final) => final.url === url));
  // If every webhook that was still open has left the config, the others are asked once more, and that is final.
  return open.length > 0 ? open : webhooks;
}

/** Notes with each new final answer which entry of the config gave it. */
export function withConfigEntries(finals: readonly FinalAnswer[], destination: Destination): readonly FinalAnswer[] {
  if (finals.every(({ entry }) => entry !== undefined)) return finals;
  return finals.map((final) => {
    const webhook = destination.webhooks.find(({ url }) => url === final.url);
    return final.entry !== undefined || !webhook ? final : { ...final, entry: entryOf(webhook, destination) };
  });
}

/** Too short to reveal the secrets in an entry, and long enough to tell it from the one before. */
const LENGTH = 8;

// Waiting deliveries ask for it again and again. A reload makes new objects.
const known = new WeakMap<Webhook, { readonly destination: Destination; readonly entry: string }>();

function entryOf(webhook: Webhook, destination: Destination): string {
  const found = known.get(webhook);
  if (found?.destination === destination) return found.entry;
  const entry = hashEntry(webhook, destination);
  known.set(webhook, { destination, entry });
  return entry;
}

function hashEntry({ url, headers, tls }: Webhook, { sharedSecrets, standardWebhooks }: Destination): string {
  const secrets = sharedSecrets.map((secret) => secret.reveal());
  const sent = headers.map(([name, value]) => [name, value.reveal()]);
  const certificates = tls && [tls.ca, tls.cert, tls.key?.reveal()];
  const entry = JSON.stringify([url, sent, certificates, secrets, standardWebhooks]);
  return createHash("sha256").update(entry).digest("hex").slice(0, LENGTH);
}
