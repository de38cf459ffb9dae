import type { CallType } from "./event.ts";
import type { Secret } from "./secret.ts";

/** The kind of every destination. An `integrations` object may use it as the name of all of them (SPEC.md 1.4). */
export const DESTINATION_KIND = "Webhooks";

/** A receiver of events: one to five webhooks, of which any one has to accept (SPEC.md 2.1, 6). */
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
  /** Whether requests also carry the headers of Standard Webhooks, which need a shared secret. */
  readonly standardWebhooks: boolean;
};

/** One URL that receives POSTs, with the headers that every request to it carries. */
export type Webhook = {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: Secret])[];
  /** Null: the authorities that this machine trusts, and no certificate of our own. */
  readonly tls: WebhookTls | null;
};

/** The TLS settings of a webhook's connections, as PEM. Only requests with the same settings object share connections. */
export type WebhookTls = {
  /** The only trusted authorities; null: those that this machine trusts. */
  readonly ca: string | null;
  /** Our certificate with its chain, and its key: both or neither. */
  readonly cert: string | null;
  readonly key: Secret | null;
};
