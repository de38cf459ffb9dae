/** The config of a run, in the few words by which acts change it. */
import type { Config } from "../../../src/model/config.ts";
import { Secret } from "../../../src/model/secret.ts";
import { DAY, GB, HOUR, MINUTE, type Ms, SECOND } from "../../../src/model/units.ts";
import { makeConfig, makeDestination, makeSource } from "../../flow/make.ts";

export const SOURCES = ["website", "backend"] as const;
export type SourceName = (typeof SOURCES)[number];
export const DESTINATIONS = ["crm", "mail", "warehouse"] as const;
export type DestinationName = (typeof DESTINATIONS)[number];

export type DestinationShape = {
  readonly listed: boolean;
  readonly enabled: boolean;
  /** Which of its webhooks there are. */
  readonly webhooks: readonly number[];
  /** Versions of its secrets: the first signs. */
  readonly secrets: readonly number[];
  /** The version of its static header. */
  readonly header: number;
  readonly sources: readonly SourceName[] | null;
  readonly types: readonly string[] | null;
  readonly historical: "accept" | "skip";
};

export type Shape = {
  readonly cutoff: Ms;
  readonly concurrency: number;
  /** Requests a second to each destination, and at once; 0: as many as it takes. */
  readonly rate: number;
  /** Whether each user's deliveries go one after the other. */
  readonly isOrdered: boolean;
  /** Calls a second of each source, and at once; and bytes of it that may wait. 0: any number. */
  readonly callRate: number;
  readonly maxWaiting: number;
  readonly maxSize: number;
  readonly freeDisk: number;
  readonly keepDelivered: Ms;
  readonly keepFailed: Ms;
  readonly destinations: Readonly<Record<DestinationName, DestinationShape>>;
};

export const ALL_TYPES = ["identify", "track", "page", "screen", "group", "alias"] as const;

export const FIRST_DESTINATION: DestinationShape = {
  listed: true,
  enabled: true,
  webhooks: [1],
  secrets: [1],
  header: 1,
  sources: null,
  types: null,
  historical: "accept",
};

export const FIRST_SHAPE: Shape = {
  cutoff: 10 * MINUTE,
  concurrency: 64,
  rate: 0,
  isOrdered: false,
  callRate: 0,
  maxWaiting: 0,
  maxSize: GB,
  freeDisk: 0,
  keepDelivered: DAY,
  keepFailed: 30 * DAY,
  destinations: {
    crm: FIRST_DESTINATION,
    mail: { ...FIRST_DESTINATION, webhooks: [1, 2], secrets: [2, 1] },
    warehouse: { ...FIRST_DESTINATION, secrets: [], types: ["track", "page", "identify"] },
  },
};

export const CUTOFFS: readonly Ms[] = [2 * MINUTE, 10 * MINUTE, 10 * MINUTE, HOUR, 4 * HOUR];

export function keyOf(source: SourceName): string {
  return `${source}-key`;
}

export function urlOf(destination: string, webhook: number): string {
  return `https://${destination}.example.com/hook/${webhook}`;
}

/** Whose URL it is: no two destinations have the same one. */
export function ownerOf(url: string): DestinationName {
  return new URL(url).hostname.split(".")[0] as DestinationName;
}

export function secretOf(destination: string, version: number): string {
  return `secret ${version} of ${destination}`;
}

export function headerOf(destination: string, { header }: DestinationShape): string {
  return `Bearer ${destination} ${header}`;
}

export function toConfig(shape: Shape, path: string): Config {
  const { cutoff, concurrency, rate, maxSize, freeDisk, keepDelivered, keepFailed } = shape;
  const limits = {
    rate: shape.callRate === 0 ? null : { requests: shape.callRate, per: SECOND, burst: shape.callRate },
    maxWaiting: shape.maxWaiting === 0 ? null : { bytes: shape.maxWaiting, share: null },
  };
  const listed = DESTINATIONS.filter((name) => shape.destinations[name].listed);
  return makeConfig({
    delivery: { timeout: 5 * SECOND, cutoff, concurrency },
    outbox: { path, postgres: null, maxSize, freeDisk, keepDelivered, keepFailed },
    sources: SOURCES.map((name) =>
      makeSource({ name, writeKey: new Secret(keyOf(name)), type: name === "website" ? "web" : "server", ...limits }),
    ),
    destinations: listed.map((name) => {
      const one = shape.destinations[name];
      return makeDestination({
        name,
        enabled: one.enabled,
        urls: one.webhooks.map((webhook) => urlOf(name, webhook)),
        headers: { Authorization: headerOf(name, one) },
        sources: one.sources,
        types: one.types as never,
        historical: one.historical,
        sharedSecrets: one.secrets.map((version) => new Secret(secretOf(name, version))),
        // Its headers name the event, which the body of a delete notification does not.
        standardWebhooks: true,
        ...{ cutoff, concurrency },
        rate: rate === 0 ? null : { requests: rate, per: SECOND, burst: rate },
        order: shape.isOrdered ? "user" : "none",
      });
    }),
  });
}
