import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import type { Finding } from "./problems.ts";
import { child, listOf, type Tree, textOf, withGot } from "./tree.ts";

/** A range of addresses. One of IPv4 addresses that was written as IPv6 (`::ffff:10.0.0.0/104`) is as good as IPv4. */
export type Network = {
  /** In its shortest form, as `10.0.0.0/8` or `fd00::/8`; a single address has a length as well. */
  readonly cidr: string;
  /** How many of the first bits its addresses have in common. */
  readonly bits: number;
};

export const NETWORK_FORMS =
  "an address or a network in CIDR form, as in 127.0.0.1, 10.0.0.0/8 or fd00::/8 (host names are not looked up)";
/** Accepts at least what `parseNetwork` does. */
export const NETWORK_PATTERN = /^[\dA-Fa-f:.]+(\/\d{1,3})?$/;

/** Reads an address or a network. Answers what is wrong as text. */
export function parseNetwork(text: string): Network | string {
  const [, address = "", length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return `must be ${NETWORK_FORMS}`;
  if (address.includes("%")) return "must not have a zone: leave out % and what follows it";
  const written = ipaddr.parse(address);
  const most = written.kind() === "ipv4" ? 32 : 128;
  const bits = length === undefined ? most : Number(length);
  if (bits > most) return `must have a number of bits from 0 to ${most} after the slash`;
  const asIPv4 = ipaddr.process(address);
  // The first 96 bits of `::ffff:10.0.0.0/104` only say that it is IPv4.
  if (asIPv4.kind() !== written.kind() && bits >= 96) return networkOf(asIPv4, bits - 96);
  return networkOf(written, bits);
}

type Address = ReturnType<typeof ipaddr.parse>;

/** Which of the two was meant is not for us to guess: a network too large would trust strangers. */
function networkOf(address: Address, bits: number): Network | string {
  const kind = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  const cidr = `${kind.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`;
  if (cidr === `${address}/${bits}`) return { cidr, bits };
  return `has bits beyond its first ${bits}: write ${cidr} for the whole network, or ${address} for the one address`;
}

/** Warns of a network that everybody is in: whoever likes could then claim to be anybody. */
export function warnOfEverybody(root: Tree): readonly Finding[] {
  const networks = listOf(child(child(root, "ingest"), "trustedProxies"));
  return networks.filter(isEverybody).map((tree) => {
    const message = withGot("trusts everybody: any client can then claim to be any other; name your proxies", tree);
    return { severity: "warning", path: tree.path, message, at: tree.at };
  });
}

function isEverybody(tree: Tree): boolean {
  const network = parseNetwork(textOf(tree) ?? "");
  return typeof network !== "string" && network.bits === 0;
}
