import { isIP, isIPv4, isIPv6 } from "node:net";
import ipaddr from "ipaddr.js";
import type { Listen } from "../model/config.ts";

export const LISTEN_FORMS = "host:port, [v6]:port or unix:/path";
/** Accepts at least what `parseListen` does. */
export const LISTEN_PATTERN = /^(unix:\/|(\[[^\]]+\]|[\w.-]+):\d{1,5}$)/;
/** Longer paths do not fit into the structure that the system calls take. */
const MAX_SOCKET_PATH = 107;

/** Parses where to listen: `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`. Answers what is wrong as text. */
export function parseListen(text: string): Listen | string {
  if (text.startsWith("unix:")) return parseSocket(text.slice("unix:".length));
  const match = /^(?:\[(?<v6>[^\]]*)\]|(?<name>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text);
  const { v6, name, port } = match?.groups ?? {};
  if (/^:\d+$/.test(text)) return "must name a host: write 127.0.0.1:8080, or 0.0.0.0:8080 for every address";
  if (port === undefined) return `must be ${LISTEN_FORMS}`;
  if (Number(port) > 65_535) return "must have a port from 0 to 65535";
  if (v6 !== undefined && !isIPv6(v6)) return "must have an IPv6 address between the brackets";
  if (name !== undefined && !isHost(name))
    return `must have a host name or an IP address before the port: ${LISTEN_FORMS}`;
  return { kind: "tcp", host: v6 ?? name ?? "", port: Number(port) };
}

/** Whether only this machine can connect to a listener. */
export function isLocal(listen: Listen): boolean {
  if (listen.kind === "unix") return true;
  const { host } = listen;
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return new URL(`http://[${host}]`).hostname === "[::1]";
  return host.toLowerCase() === "localhost";
}

/** Whether two listeners would need the same address. Port 0 is another port each time. */
export function isSameAddress(a: Listen, b: Listen): boolean {
  if (a.kind === "unix" || b.kind === "unix") return a.kind === "unix" && b.kind === "unix" && a.path === b.path;
  return a.host.toLowerCase() === b.host.toLowerCase() && a.port === b.port && a.port !== 0;
}

function parseSocket(path: string): Listen | string {
  if (!path.startsWith("/")) return "must have an absolute path after unix:, as in unix:/run/fairlead/ingest.sock";
  const size = new TextEncoder().encode(path).length;
  if (size > MAX_SOCKET_PATH) return `must have at most ${MAX_SOCKET_PATH} bytes after unix:, and has ${size}`;
  return { kind: "unix", path };
}

function isHost(name: string): boolean {
  if (/^[\d.]+$/.test(name)) return isIPv4(name);
  return /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i.test(name);
}

/** A range of addresses. IPv4 addresses written as IPv6 (`::ffff:10.0.0.0/104`) count as IPv4. */
type Network = {
  /** In its shortest form, as `10.0.0.0/8`, `fd00::/8` or `127.0.0.1/32`. */
  readonly cidr: string;
  /** How many bits its addresses have in common. */
  readonly bits: number;
};

export const NETWORK_FORMS =
  "an address or a network in CIDR form, as in 127.0.0.1, 10.0.0.0/8 or fd00::/8 (host names are not looked up)";
/** Accepts at least what `parseNetwork` does. */
export const NETWORK_PATTERN = /^[\dA-Fa-f:.]+(\/\d{1,3})?$/;

/** Parses an address or a network. Answers what is wrong as text. */
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

/** Refuses host bits instead of guessing which part was meant: too large a network would trust strangers. */
function networkOf(address: Address, bits: number): Network | string {
  const kind = address.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  const cidr = `${kind.networkAddressFromCIDR(`${address}/${bits}`)}/${bits}`;
  if (cidr === `${address}/${bits}`) return { cidr, bits };
  return `has bits beyond its first ${bits}: write ${cidr} for the whole network, or ${address} for the one address`;
}
