import ipaddr from "ipaddr.js";
import type { IpPolicy } from "../model/source.ts";

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

const KEPT_BYTES = { ipv4: 3, ipv6: 6 } as const;

/** What a source's policy leaves of an address. What is no address cannot be truncated, and is dropped with it. */
export function applyPolicy(address: string, policy: IpPolicy): string | null {
  if (policy === "keep") return address;
  const parsed = policy === "drop" ? null : parseAddress(address);
  return parsed && formatAddress(truncate(parsed));
}

/** Reads an address as the network writes it: an IPv4 address in four decimal parts, or any IPv6 one; else null. */
export function parseAddress(text: string): Address | null {
  const isAddress = text.includes(":") ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
  // What comes over an IPv6 socket from IPv4 is IPv4.
  return isAddress ? ipaddr.process(text) : null;
}

/** As people write it: `203.0.113.7`, `2001:db8::1`. Without a zone, which means something on one machine only. */
export function formatAddress(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String().replace(/%.*/, "") : address.toString();
}

/** As usual in web analytics: without the last octet of IPv4, and the last 80 bits of IPv6. */
function truncate(address: Address): Address {
  const kept = KEPT_BYTES[address.kind()];
  return ipaddr.fromByteArray(address.toByteArray().map((byte, index) => (index < kept ? byte : 0)));
}
