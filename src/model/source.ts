import type { Secret } from "./secret.ts";

/** Something that sends calls: a web site, an app, a server program. It is known by its write key. */
export type Source = {
  readonly name: string;
  readonly writeKey: Secret;
  readonly enabled: boolean;
};
