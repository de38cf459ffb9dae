import ipaddr from "ipaddr.js";
import type { IpPolicy, SourceType } from "../model/config.ts";
import type { JsonObject } from "../model/event.ts";
import { type Call, isObject } from "./shape.ts";

/** What is known about the sender of a request. */
export type Caller = {
  /** The client's IP address, or null if it is unknown. Called only if it is needed. */
  readonly address: () => string | null;
  readonly userAgent: () => string | null;
  /** Whether a page sent it, rather than a program. */
  readonly isPage: boolean;
  /** The source's type. */
  readonly type: SourceType;
  readonly ip: IpPolicy;
};

/**
 * Adds the client's address and user agent to the context of a call from its user's own device, unless it has them (SPEC.md
 * 1.6). Those of a server would say nothing about the user.
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

/** The source's type decides, unless it is "auto": then the first sign in the request or the call. */
function isOwnDevice({ context, channel }: Call, { type, isPage }: Caller): boolean {
  // A program sets this if it runs on the user's device.
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

/** Applies to addresses from the client and to those added here. */
function withPolicy(context: JsonObject | undefined, policy: IpPolicy): JsonObject | undefined {
  if (policy === "keep" || context === undefined || !Object.hasOwn(context, "ip")) return context;
  const { ip, ...rest } = context;
  const left = typeof ip === "string" ? applyPolicy(ip, policy) : null;
  return left === null ? rest : { ...context, ip: left };
}

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

const KEPT_BYTES = { ipv4: 3, ipv6: 6 } as const;

/** Applies a source's policy to an address. Text that is not an address cannot be truncated, and is dropped. */
export function applyPolicy(address: string, policy: IpPolicy): string | null {
  if (policy === "keep") return address;
  const parsed = policy === "drop" ? null : parseAddress(address);
  return parsed && formatAddress(truncate(parsed));
}

/** Parses an IPv4 address in four decimal parts, or an IPv6 address; null for anything else. */
export function parseAddress(text: string): Address | null {
  const isAddress = text.includes(":") ? ipaddr.IPv6.isValid(text) : ipaddr.IPv4.isValidFourPartDecimal(text);
  // An IPv4 address that comes over an IPv6 socket becomes IPv4.
  return isAddress ? ipaddr.process(text) : null;
}

/** As `203.0.113.7` or `2001:db8::1`, without a zone, which only has a meaning on one machine. */
export function formatAddress(address: Address): string {
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String().replace(/%.*/, "") : address.toString();
}

/** Removes the last octet of IPv4 and the last 80 bits of IPv6, as usual in web analytics. */
function truncate(address: Address): Address {
  const kept = KEPT_BYTES[address.kind()];
  return ipaddr.fromByteArray(address.toByteArray().map((byte, index) => (index < kept ? byte : 0)));
}
