import type { Secret } from "./secret.ts";

/** A sender of calls: a website, an app, a server program. It is identified by its write key. */
export type Source = {
  readonly name: string;
  readonly writeKey: Secret;
  readonly enabled: boolean;
  /**
   * Whether calls come from the user's own device or from a server, which decides about address and user agent. `auto`:
   * decided for each call.
   */
  readonly type: SourceType;
  /** What happens to the IP address in a call's context. */
  readonly ip: IpPolicy;
};

export const SOURCE_TYPES = ["auto", "web", "mobile", "server"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** From the laxest to the strictest. `truncate` takes the last octet off an IPv4 address, and the last 80 bits off an IPv6 address. */
export const IP_POLICIES = ["keep", "truncate", "drop"] as const;
export type IpPolicy = (typeof IP_POLICIES)[number];
