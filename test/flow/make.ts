import {
  type Config,
  type DeliveryPolicy,
  type Destination,
  NOTICE_KINDS,
  type Notifier,
  notifyName,
  type Source,
  type WebhookTls,
} from "../../src/model/config.ts";
import { Secret } from "../../src/model/secret.ts";
import { DAY, GB, HOUR, KB, MINUTE, SECOND } from "../../src/model/units.ts";

export const KEY = "website-key";
export const URL_A = "https://a.example.com/hook";
export const URL_B = "https://b.example.com/hook";

const OPEN = { rate: null, maxWaiting: null };

export function makeSource(source: Partial<Source> = {}): Source {
  return { name: "website", writeKey: new Secret(KEY), enabled: true, type: "auto", ip: "keep", ...OPEN, ...source };
}

export const DELIVERY: DeliveryPolicy = { timeout: 5 * SECOND, cutoff: 4 * HOUR, concurrency: 64 };

type Parts = Partial<Destination> & {
  /** One webhook for each. */
  readonly urls?: readonly string[];
  /** Of every webhook. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly tls?: WebhookTls;
};

export function makeDestination({ urls = [URL_A], headers = {}, tls, ...destination }: Parts = {}): Destination {
  const secrets = Object.entries(headers).map(([name, value]) => [name, new Secret(value)] as const);
  return {
    name: "crm",
    enabled: true,
    sources: null,
    types: null,
    historical: "accept",
    filter: null,
    template: null,
    noticeTemplate: null,
    webhooks: urls.map((url) => ({ url, headers: secrets, tls: tls ?? null })),
    sharedSecrets: [],
    standardWebhooks: false,
    rate: null,
    order: "none",
    ...DELIVERY,
    ...destination,
  };
}

export const OPS = "https://ops.example.com/fairlead";

type NotifierParts = Partial<Omit<Notifier, "destination">> &
  Pick<Parts, "enabled" | "sharedSecrets"> & { readonly url?: string };

export function makeNotifier({
  url = OPS,
  name = "ops",
  enabled = true,
  sharedSecrets = [],
  ...parts
}: NotifierParts = {}): Notifier {
  return {
    name,
    on: NOTICE_KINDS,
    failingFor: 5 * MINUTE,
    repeat: 4 * HOUR,
    perHour: 12,
    destination: makeDestination({ name: notifyName(name), urls: [url], enabled, sharedSecrets }),
    ...parts,
  };
}

export function makeIngest(ingest: Partial<Config["ingest"]> = {}): Config["ingest"] {
  const listen = { kind: "tcp", host: "127.0.0.1", port: 8080 } as const;
  return {
    listen,
    reusePort: false,
    tls: null,
    trustedProxies: [],
    corsOrigins: ["*"],
    maxCall: 32 * KB,
    maxBatch: 500 * KB,
    ...ingest,
  };
}

export function makeAdmin(admin: Partial<Config["admin"]> = {}): Config["admin"] {
  const listen = { kind: "tcp", host: "127.0.0.1", port: 8081 } as const;
  return { listen, token: null, readToken: null, dashboard: true, ...admin };
}

export function makeConfig(config: Partial<Config> = {}): Config {
  return {
    ingest: makeIngest(),
    admin: makeAdmin(),
    outbox: {
      path: ":memory:",
      postgres: null,
      maxSize: GB,
      freeDisk: 0,
      keepDelivered: 24 * HOUR,
      keepFailed: 30 * DAY,
    },
    delivery: DELIVERY,
    log: { level: "info", format: "text" },
    sources: [makeSource()],
    destinations: [makeDestination()],
    notify: [],
    certificates: [],
    ...config,
  };
}
