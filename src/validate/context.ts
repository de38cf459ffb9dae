import ipaddr from "ipaddr.js";
import type { JsonObject } from "../model/event.ts";
import type { IpPolicy, SourceType } from "../model/source.ts";
import { type Call, isObject } from "./shape.ts";

/** Who sent a request, as far as its calls need it. */
export type Caller = {
  /** The client's IP address, or null if it is unknown. Called only if it is needed. */
  readonly address: () => string | null;
  readonly userAgent: () => string | null;
  /** Whether a page sent it, rather than a program. */
  readonly isPage: boolean;
  /** Of the source. */
  readonly type: SourceType;
  readonly ip: IpPolicy;
};

/**
 * Adds the client's address and user agent to the context of a call that comes from its user's own device, unless the
 * call has them (SPEC.md 1.6). Those of a server would say nothing about its user.
 */
export function completeContext(call: Call, caller: Caller): JsonObject | undefined {
  const { context } = call;
  if (!isOwnDevice(call, caller)) return withPolicy(context, caller.ip);
  const ip = context?.ip ?? caller.address();
  const userAgent = context?.userAgent ?? caller.userAgent();
  // Spreading keeps a key named `__proto__` as data.
  const filled = { ...context, ...(ip !== null && { ip }), ...(userAgent !== null && { userAgent }) };
  return withPolicy(filled, caller.ip);
}

/** The source's type decides unless it is "auto"; else the first sign in the request or the call does. */
function isOwnDevice({ context, channel }: Call, { type, isPage }: Caller): boolean {
  // By this a program says that it runs on the user's device.
  if (context?.direct === true) return true;
  if (type !== "auto") return type !== "server";
  if (isPage) return true;
  if (channel !== undefined) return DEVICE_CHANNELS.has(channel);
  return DEVICE_LIBRARIES.test(libraryOf(context));
}

const DEVICE_CHANNELS: ReadonlySet<string> = new Set(["browser", "client", "web", "mobile"]);

/** Names of libraries for pages and apps: analytics.js, analytics-ios, analytics_flutter and so on. */
const DEVICE_LIBRARIES = /\.js$|javascript|browser|android|\bios\b|swift|kotlin|react.native|flutter|xamarin|unity/i;

function libraryOf(context: JsonObject | undefined): string {
  const library = context?.library;
  return isObject(library) && typeof library.name === "string" ? library.name.slice(0, 100) : "";
}

/** Applies to any address, written by the client or added here. */
function withPolicy(context: JsonObject | undefined, policy: IpPolicy): JsonObject | undefined {
  if (policy === "keep" || context === undefined || !Object.hasOwn(context, "ip")) return context;
  const { ip, ...rest } = context;
  const left = typeof ip === "string" ? applyPolicy(ip, policy) : null;
  return left === null ? rest : { ...context, ip: left };
}

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

const KEPT_BYTES = { ipv4: 3, ipv6: 6 } as const;

/** What a source's policy leaves of an address. A text that is no address cannot be truncated, and is dropped. */
export function applyPolicy(address: string, policy: IpPolicy): string | null {
  if (policy === "keep") return address;
  const parsed = policy === "drop" ? null : parseAddress(address);
  return parsed && formatAddress(truncate(parsed));
}

/** An IPv4 address in four decimal parts, or any IPv6 address; else null. */
export function parseAddress(text: string): Address | null {
  const isAddress = text.includes(":") ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
  // An IPv4 address that comes over an IPv6 socket becomes IPv4.
  return isAddress ? ipaddr.process(text) : null;
}

/** As `203.0.113.7` or `2001:db8::1`, without a zone, which has a meaning on one machine only. */
export function formatAddress(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String().replace(/%.*/, "") : address.toString();
}

/** Removes the last octet of IPv4 and the last 80 bits of IPv6, as usual in web analytics. */
function truncate(address: Address): Address {
  const kept = KEPT_BYTES[address.kind()];
  return ipaddr.fromByteArray(address.toByteArray().map((byte, index) => (index < kept ? byte : 0)));
}
