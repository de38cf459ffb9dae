import ipaddr from "ipaddr.js";
import type { Config } from "../model/config.ts";
import { IP_POLICIES, type IpPolicy, type Source } from "../model/config.ts";
import type { Peer } from "../model/ports.ts";
import type { Sender } from "../model/refusal.ts";
import { type Address, applyPolicy, type Caller, formatAddress, parseAddress } from "../validate/context.ts";
import { createFindSource, createHideKeys, type FindSource, type HideKeys } from "./write-key.ts";

/** The rules of the config about who may send calls, prepared for use with each request. */
export type Door = {
  readonly findSource: FindSource;
  readonly hideKeys: HideKeys;
  readonly proxies: Proxies;
  /** Whether pages of this origin may send calls (`ingest.corsOrigins`). */
  allowsOrigin(origin: string): boolean;
  /** What may be kept of addresses; without a source, what all sources allow. */
  ipPolicyOf(source: Source | null): IpPolicy;
  /** In bytes: of one call, and of one request. */
  readonly limits: Pick<Config["ingest"], "maxCall" | "maxBatch">;
  /** Whether the daemon speaks TLS itself. */
  readonly secure: boolean;
};

/** `doubted`: see `createProxies`. */
export function createDoor(
  { ingest, sources }: Pick<Config, "ingest" | "sources">,
  doubted: (address: string) => void,
): Door {
  const strictest = IP_POLICIES.findLast((policy) => sources.some(({ ip }) => ip === policy)) ?? "keep";
  return {
    findSource: createFindSource(sources),
    hideKeys: createHideKeys(sources),
    proxies: createProxies(ingest.trustedProxies, doubted),
    allowsOrigin: createAllowsOrigin(ingest.corsOrigins),
    ipPolicyOf: (source) => source?.ip ?? strictest,
    limits: { maxCall: ingest.maxCall, maxBatch: ingest.maxBatch },
    secure: ingest.tls !== null,
  };
}

export function createAllowsOrigin(origins: readonly string[]): (origin: string) => boolean {
  const exact = new Set(origins);
  const patterns = origins.filter((origin) => origin.includes("*.")).map((origin) => origin.split("*"));
  const all = exact.has("*");
  return function allowsOrigin(origin) {
    if (all) return true;
    const own = origin.toLowerCase();
    return exact.has(own) || patterns.some(([start = "", end = ""]) => isSubdomain(own, start, end));
  };
}

function isSubdomain(origin: string, start: string, end: string): boolean {
  return origin.length > start.length + end.length && origin.startsWith(start) && origin.endsWith(end);
}

/** The answer to a CORS preflight request. Headers are listed, because `*` does not cover Authorization. */
export function answerPreflight(): Response {
  return new Response(null, { status: 204, headers: PREFLIGHT });
}

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": [
    ...["authorization", "content-type", "x-retry-count"],
    // For pages that compress, for those without a client library, and for RudderStack's.
    ...["content-encoding", "x-write-key", "anonymousid"],
  ].join(", "),
  "Access-Control-Max-Age": "86400",
};

/**
 * Lets the page read an answer, also an error, and when to retry. Credentials are allowed because `navigator.sendBeacon`
 * always sends them. That is safe: this server neither sets nor reads cookies.
 */
export function addCors(response: Response, origin: string): Response {
  const { headers } = response;
  headers.set("Access-Control-Allow-Origin", origin);
  headers.set("Access-Control-Allow-Credentials", "true");
  headers.set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Reset");
  headers.append("Vary", "Origin");
  return response;
}

/** The proxies whose `X-Forwarded-For` is believed. */
type Proxies = {
  /** Whether the peer is one. Over a Unix socket it always is: only a local proxy connects there. */
  trusts(peer: Peer): boolean;
  /** The client's own address, or null if it is unknown. */
  addressOf(request: Request, peer: Peer): string | null;
};

/**
 * `networks` is `ingest.trustedProxies`, in CIDR and checked when the config was read. `doubted` is called at most once, with
 * the address of a proxy that is probably missing there.
 */
export function createProxies(networks: readonly string[], doubted: (address: string) => void): Proxies {
  const ranges = networks.map((network) => ipaddr.parseCIDR(network.includes("/") ? network : single(network)));
  let isDoubted = false;

  return { trusts, addressOf };

  function trusts({ address, overSocket }: Peer): boolean {
    if (overSocket) return true;
    return ranges.length > 0 && address !== null && isWithin(parseAddress(address));
  }

  /**
   * Each proxy appends the address of its peer. So the client is the right-most address that is no trusted proxy; the client
   * may have invented all further left. If a proxy says that it does not know the address, it is unknown.
   */
  function addressOf(request: Request, peer: Peer): string | null {
    if (!trusts(peer)) {
      if (!isDoubted) doubt(request, peer);
      return peer.address;
    }
    let client = peer.address;
    for (const hop of hopsOf(request).toReversed()) {
      const address = parseAddress(withoutPort(hop));
      if (address === null) return null;
      client = formatAddress(address);
      if (!isWithin(address)) break;
    }
    return client;
  }

  /** A stranger may send any header, so only local addresses are doubted. */
  function doubt(request: Request, { address }: Peer): void {
    if (address === null || !request.headers.has("x-forwarded-for") || !isLocal(address)) return;
    isDoubted = true;
    doubted(address);
  }

  function isWithin(address: Address | null): boolean {
    if (address === null) return false;
    return ranges.some(([network, bits]) => address.kind() === network.kind() && address.match(network as never, bits));
  }
}

const LOCAL: ReadonlySet<string> = new Set(["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"]);

function isLocal(address: string): boolean {
  return LOCAL.has(parseAddress(address)?.range() ?? "");
}

function single(address: string): string {
  return `${address}/${address.includes(":") ? 128 : 32}`;
}

function hopsOf(request: Request): readonly string[] {
  const hops = (request.headers.get("x-forwarded-for") ?? "").split(",");
  return hops.map((hop) => hop.trim()).filter((hop) => hop !== "");
}

/** Some proxies write `203.0.113.7:4711` and `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed] = /^\[([^\]]+)\](?::\d+)?$/.exec(hop) ?? [];
  return bracketed ?? hop.replace(/^([\d.]+):\d+$/, "$1");
}

/** Longer than those of browsers. The rest is cut off. */
const LONGEST_USER_AGENT = 1_000;
const LONGEST_ORIGIN = 300;

/** A request before its calls are known. */
export type IncomingRequest = {
  readonly request: Request;
  readonly peer: Peer;
  /** The page that a browser sent it from, or null. */
  readonly origin: string | null;
  /** The rules that were in force when it came. */
  readonly door: Door;
};

/** Who sent a request, for its calls. `isPage`: whether it can only have come from a page or a mail. */
export function callerOf(incoming: IncomingRequest, source: Source, isPage: boolean): Caller {
  return {
    address: () => addressOf(incoming),
    userAgent: () => userAgentOf(incoming),
    isPage: isPage || incoming.origin !== null,
    type: source.type,
    ip: source.ip,
  };
}

/** Who sent a request, for the operator. An address that a source must not pass on is not shown either. */
export function senderOf(incoming: IncomingRequest, source: Source | null): Sender {
  const address = addressOf(incoming);
  return {
    address: address === null ? null : applyPolicy(address, incoming.door.ipPolicyOf(source)),
    userAgent: userAgentOf(incoming),
    origin: incoming.origin?.slice(0, LONGEST_ORIGIN) ?? null,
  };
}

function addressOf({ request, peer, door }: IncomingRequest): string | null {
  return door.proxies.addressOf(request, peer);
}

function userAgentOf({ request }: IncomingRequest): string | null {
  return request.headers.get("user-agent")?.slice(0, LONGEST_USER_AGENT) || null;
}
