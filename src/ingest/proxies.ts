import ipaddr from "ipaddr.js";
import type { Peer } from "../model/ports.ts";
import { type Address, formatAddress, parseAddress } from "../validate/ip.ts";

/** The proxies whose word on who the client is may be believed. */
export type Proxies = {
  /** Whether the other end of the connection is one. Nobody but a local proxy connects to a Unix socket. */
  trusts(peer: Peer): boolean;
  /** The client's own address, or null if nobody knows it. */
  addressOf(request: Request, peer: Peer): string | null;
};

/** Hears of an address that speaks for others, as a proxy does, and is not trusted. */
export type Doubted = (address: string) => void;

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
