import ipaddr from "ipaddr.js";
import type { Config } from "../model/config.ts";
import type { Peer } from "../model/ports.ts";
import type { Sender } from "../model/refusal.ts";
import { IP_POLICIES, type IpPolicy, type Source } from "../model/source.ts";
import { type Address, applyPolicy, type Caller, formatAddress, parseAddress } from "../validate/context.ts";
import { createFindSource, createHideKeys, type FindSource, type HideKeys } from "./write-key.ts";

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

/**
 * The rules by which a browser lets a page talk to this server. No cookie is ever set or read, so that there is nothing
 * that a page could borrow; credentials are allowed, because `navigator.sendBeacon` always asks for that.
 */
type Cors = {
  /** Whether pages of this origin may send calls (`ingest.corsOrigins`). */
  allows(origin: string): boolean;
};

export function createCors(origins: readonly string[]): Cors {
  const exact = new Set(origins);
  const patterns = origins.filter((origin) => origin.includes("*.")).map((origin) => origin.split("*"));
  const all = exact.has("*");
  return {
    allows(origin) {
      if (all) return true;
      const own = origin.toLowerCase();
      return exact.has(own) || patterns.some(([start = "", end = ""]) => isSubdomain(own, start, end));
    },
  };
}

function isSubdomain(origin: string, start: string, end: string): boolean {
  return origin.length > start.length + end.length && origin.startsWith(start) && origin.endsWith(end);
}

/** The answer to a browser that asks before it sends. Headers are listed: `*` would not cover Authorization. */
export function answerPreflight(origin: string): Response {
  return addCors(new Response(null, { status: 204, headers: PREFLIGHT }), origin);
}

const PREFLIGHT = {
  "Access-Control-Allow-Methods": "GET, POST",
  "Access-Control-Allow-Headers": [
    ...["authorization", "content-type", "x-retry-count"],
    // Of pages that compress, of those without a client library, and of RudderStack's.
    ...["content-encoding", "x-write-key", "anonymousid"],
  ].join(", "),
  "Access-Control-Max-Age": "86400",
};

/** Lets the page read the answer, an error too, and when it should come again. */
export function addCors(response: Response, origin: string): Response {
  const { headers } = response;
  headers.set("Access-Control-Allow-Origin", origin);
  headers.set("Access-Control-Allow-Credentials", "true");
  headers.set("Access-Control-Expose-Headers", "Retry-After, X-RateLimit-Reset");
  headers.append("Vary", "Origin");
  return response;
}

/** The proxies whose word on who the client is may be believed. */
type Proxies = {
  /** Whether the other end of the connection is one. Nobody but a local proxy connects to a Unix socket. */
  trusts(peer: Peer): boolean;
  /** The client's own address, or null if nobody knows it. */
  addressOf(request: Request, peer: Peer): string | null;
};

/** Hears of an address that speaks for others, as a proxy does, and is not trusted. */
type Doubted = (address: string) => void;

/**
 * `networks` are CIDR, as in `ingest.trustedProxies`; checked when the config was read. `doubted` hears at most once of a
 * proxy that was probably forgotten there.
 */
export function createProxies(networks: readonly string[], doubted: Doubted): Proxies {
  const ranges = networks.map((network) => ipaddr.parseCIDR(network.includes("/") ? network : single(network)));
  let isTold = false;

  return { trusts, addressOf };

  function trusts({ address, overSocket }: Peer): boolean {
    if (overSocket) return true;
    return ranges.length > 0 && address !== null && isWithin(parseAddress(address));
  }

  /**
   * Each proxy adds whom it got the request from on the right. So the right-most one that is no trusted proxy is the
   * client; all further left could be made up by it. Where a proxy says that it does not know, nobody does.
   */
  function addressOf(request: Request, peer: Peer): string | null {
    if (!trusts(peer)) {
      if (!isTold) doubt(request, peer);
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

  /** Of a stranger nobody wants to hear: it may write what it likes. */
  function doubt(request: Request, { address }: Peer): void {
    if (address === null || !request.headers.has("x-forwarded-for") || !isLocal(address)) return;
    isTold = true;
    doubted(address);
  }

  function isWithin(address: Address | null): boolean {
    return address !== null && ranges.some(([network, bits]) => isIn(address, network, bits));
  }
}

const LOCAL: ReadonlySet<string> = new Set(["loopback", "private", "uniqueLocal", "linkLocal", "carrierGradeNat"]);

function isLocal(address: string): boolean {
  return LOCAL.has(parseAddress(address)?.range() ?? "");
}

function single(address: string): string {
  return `${address}/${address.includes(":") ? 128 : 32}`;
}

function isIn(address: Address, network: Address, bits: number): boolean {
  return address.kind() === network.kind() && address.match(network as never, bits);
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

/** No browser says more; what is longer is cut. */
const LONGEST_USER_AGENT = 1_000;
const LONGEST_ORIGIN = 300;

/** A request at the door. */
export type Arriving = {
  readonly request: Request;
  readonly peer: Peer;
  /** The page that a browser sent it from, or null. */
  readonly origin: string | null;
  /** As the config was when it came. */
  readonly door: Door;
};

/** Who sent a request, for its calls. `isPage`: whether it can only have come from a page or a mail. */
export function callerOf(arriving: Arriving, source: Source, isPage: boolean): Caller {
  return {
    address: () => addressOf(arriving),
    userAgent: () => userAgentOf(arriving),
    isPage: isPage || arriving.origin !== null,
    type: source.type,
    ip: source.ip,
  };
}

/** Who sent a request, for the operator. An address that a source must not pass on is not shown either. */
export function senderOf(arriving: Arriving, source: Source | null): Sender {
  const address = addressOf(arriving);
  return {
    address: address === null ? null : applyPolicy(address, arriving.door.ipPolicyOf(source)),
    userAgent: userAgentOf(arriving),
    origin: arriving.origin?.slice(0, LONGEST_ORIGIN) ?? null,
  };
}

function addressOf({ request, peer, door }: Arriving): string | null {
  return door.proxies.addressOf(request, peer);
}

function userAgentOf({ request }: Arriving): string | null {
  return request.headers.get("user-agent")?.slice(0, LONGEST_USER_AGENT) || null;
}
