import type { CallType } from "./event.ts";
import type { Secret } from "./secret.ts";

/** The kind of every destination, and the name by which an `integrations` object may mean all of them (SPEC.md 1.4). */
export const DESTINATION_KIND = "Webhooks";

/** Somewhere that events go: one to five webhooks of which any one has to accept (SPEC.md 2.1, 6). */
export type Destination = {
  readonly name: string;
  readonly enabled: boolean;
  /** The sources it takes events from; null means all. */
  readonly sources: readonly string[] | null;
  /** The calls it takes; null means all six. Delete notifications always go out. */
  readonly types: readonly CallType[] | null;
  /** Whether it takes events that were older than a day when they were received (SPEC.md 4.3 rule 5). */
  readonly historical: "accept" | "skip";
  readonly webhooks: readonly Webhook[];
  /** The first signs; more than one while a secret is being replaced. Empty: requests are not signed. */
  readonly sharedSecrets: readonly Secret[];
  /** Whether requests carry the headers of Standard Webhooks too. There is a shared secret then. */
  readonly standardWebhooks: boolean;
};

/** One URL that receives POSTs, with the headers that every request to it carries. */
export type Webhook = {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** Null: the authorities that this machine trusts, and no certificate of our own. */
  readonly tls: WebhookTls | null;
};

/**
 * Whom a webhook's connections trust, and by what they are known themselves. All of it is PEM. Connections are shared by
 * requests with the same one, and by no others.
 */
export type WebhookTls = {
  /** The only authorities that are trusted; null: those that this machine trusts. */
  readonly ca: string | null;
  /** Our certificate with its chain, and its key: both or neither. */
  readonly cert: string | null;
  readonly key: Secret | null;
};
