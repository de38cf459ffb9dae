import type { Config, Tls } from "../model/config.ts";
import type { Destination, WebhookTls } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import type { Source } from "../model/source.ts";
import { fullPath } from "./full-path.ts";
import type { Checked } from "./schema.ts";
import type { TlsOfWebhooks } from "./webhook-tls.ts";

/** Where the file is, and what was read along with it. */
type Beside = { readonly file: string; readonly tls: Tls | null; readonly tlsOfWebhooks: TlsOfWebhooks };

/** Makes the Config out of checked values. The outbox's path starts at the folder of the config file. */
export function build(checked: Checked, { file, tls, tlsOfWebhooks }: Beside): Config {
  const { ingest, admin, outbox, delivery, log, sources, destinations } = checked;
  return {
    ingest: {
      listen: ingest.listen,
      tls,
      trustedProxies: ingest.trustedProxies.map(({ cidr }) => cidr),
      corsOrigins: ingest.corsOrigins.map((origin) => origin.toLowerCase()),
      maxCall: ingest.maxCall,
      maxBatch: ingest.maxBatch,
    },
    admin: { listen: admin.listen, token: admin.token === undefined ? null : new Secret(admin.token) },
    outbox: { ...outbox, path: fullPath(outbox.path, file) },
    delivery,
    log,
    sources: Object.entries(sources).map(([name, source]) => buildSource(name, source)),
    destinations: Object.entries(destinations).map(([name, destination]) => {
      return buildDestination(destination, { name, tlses: tlsOfWebhooks.get(name) ?? [] });
    }),
  };
}

function buildSource(name: string, { writeKey, ...rest }: Checked["sources"][string]): Source {
  return { name, writeKey: new Secret(writeKey), ...rest };
}

type Around = { readonly name: string; readonly tlses: readonly (WebhookTls | null)[] };

function buildDestination(checked: Checked["destinations"][string], { name, tlses }: Around): Destination {
  const { enabled, sources = null, types = null, historical, webhooks, sharedSecret = [], standardWebhooks } = checked;
  return {
    name,
    enabled,
    sources,
    types,
    historical,
    webhooks: webhooks.map(({ url, headers }, index) => ({
      url,
      headers: Object.entries(headers).map(([header, value]) => [header, new Secret(value)] as const),
      tls: tlses[index] ?? null,
    })),
    sharedSecrets: [sharedSecret].flat().map((secret) => new Secret(secret)),
    standardWebhooks,
  };
}
