import type { Config } from "../model/config.ts";
import { IP_POLICIES, type IpPolicy, type Source } from "../model/source.ts";
import { type Cors, createCors } from "./cors.ts";
import { createHideKeys, type HideKeys } from "./hide-keys.ts";
import { createProxies, type Doubted, type Proxies } from "./proxies.ts";
import { createFindSource, type FindSource } from "./write-key.ts";

/** What the config says about who may send calls, made ready to be asked with each request. */
export type Door = {
  readonly findSource: FindSource;
  readonly hideKeys: HideKeys;
  readonly proxies: Proxies;
  readonly cors: Cors;
  /** What may be kept of addresses; without a source, what all of them allow. */
  ipPolicyOf(source: Source | null): IpPolicy;
  /** In bytes: of one call, and of one request. */
  readonly limits: Pick<Config["ingest"], "maxCall" | "maxBatch">;
  /** Whether the daemon speaks TLS itself. */
  readonly secure: boolean;
};

/** Made anew at each reload. */
export function createDoor({ ingest, sources }: Pick<Config, "ingest" | "sources">, doubted: Doubted): Door {
  const strictest = IP_POLICIES.findLast((policy) => sources.some(({ ip }) => ip === policy)) ?? "keep";
  return {
    findSource: createFindSource(sources),
    hideKeys: createHideKeys(sources),
    proxies: createProxies(ingest.trustedProxies, doubted),
    cors: createCors(ingest.corsOrigins),
    ipPolicyOf: (source) => source?.ip ?? strictest,
    limits: { maxCall: ingest.maxCall, maxBatch: ingest.maxBatch },
    secure: ingest.tls !== null,
  };
}
