import type { Config } from "../model/config.ts";
import { type Cors, createCors } from "./cors.ts";
import { createProxies, type Doubted, type Proxies } from "./proxies.ts";
import { createFindSource, type FindSource } from "./write-key.ts";

/** What the config says about who may send calls, made ready to be asked with each request. */
export type Door = {
  readonly findSource: FindSource;
  readonly proxies: Proxies;
  readonly cors: Cors;
  /** Whether the daemon speaks TLS itself. */
  readonly secure: boolean;
};

/** Made anew at each reload. */
export function createDoor({ ingest, sources }: Pick<Config, "ingest" | "sources">, doubted: Doubted): Door {
  return {
    findSource: createFindSource(sources),
    proxies: createProxies(ingest.trustedProxies, doubted),
    cors: createCors(ingest.corsOrigins),
    secure: ingest.tls !== null,
  };
}
