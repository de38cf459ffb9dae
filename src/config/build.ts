import type { Config, Tls } from "../model/config.ts";
import type { Destination } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import type { Source } from "../model/source.ts";
import { fullPath } from "./full-path.ts";
import type { Checked } from "./schema.ts";

/** Where the file is, and what was read along with it. */
type Beside = { readonly file: string; readonly tls: Tls | null };

/** Makes the Config out of checked values. The outbox's path starts at the folder of the config file. */
export function build(checked: Checked, { file, tls }: Beside): Config {
  const { ingest, admin, outbox, delivery, log, sources, destinations } = checked;
  return {
    ingest: {
      listen: ingest.listen,
      tls,
      trustedProxies: ingest.trustedProxies.map(({ cidr }) => cidr),
      corsOrigins: ingest.corsOrigins.map((origin) => origin.toLowerCase()),
    },
    admin: { listen: admin.listen, token: admin.token === undefined ? null : new Secret(admin.token) },
    outbox: { ...outbox, path: fullPath(outbox.path, file) },
    delivery,
    log,
    sources: Object.entries(sources).map(([name, source]) => buildSource(name, source)),
    destinations: Object.entries(destinations).map(([name, destination]) => buildDestination(name, destination)),
  };
}

function buildSource(name: string, { writeKey, ...rest }: Checked["sources"][string]): Source {
  return { name, writeKey: new Secret(writeKey), ...rest };
}

function buildDestination(name: string, checked: Checked["destinations"][string]): Destination {
  const { enabled, sources = null, types = null, historical, webhooks, sharedSecret = [] } = checked;
  return {
    name,
    enabled,
    sources,
    types,
    historical,
    webhooks: webhooks.map(({ url, headers }) => ({
      url,
      headers: Object.entries(headers).map(([header, value]) => [header, new Secret(value)] as const),
    })),
    sharedSecrets: [sharedSecret].flat().map((secret) => new Secret(secret)),
  };
}
