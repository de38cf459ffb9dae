import type { Secret } from "./secret.ts";

/** Something that sends calls: a web site, an app, a server program. It is known by its write key. */
export type Source = {
  readonly name: string;
  readonly writeKey: Secret;
  readonly enabled: boolean;
  /** Whose address and user agent its calls come with: a person's, or a program's. `auto`: each call tells. */
  readonly type: SourceType;
  /** What becomes of the IP address in a call's context. */
  readonly ip: IpPolicy;
};

export const SOURCE_TYPES = ["auto", "web", "mobile", "server"] as const;
export type SourceType = (typeof SOURCE_TYPES)[number];

/** From the laxest to the strictest. `truncate` takes the last octet off an IPv4 address, and the last 80 bits off an IPv6 address. */
export const IP_POLICIES = ["keep", "truncate", "drop"] as const;
export type IpPolicy = (typeof IP_POLICIES)[number];
