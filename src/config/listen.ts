import { isIPv4, isIPv6 } from "node:net";
import type { Listen } from "../model/config.ts";

export const LISTEN_FORMS = "host:port, [v6]:port or unix:/path";
/** Accepts at least what `parseListen` does. */
export const LISTEN_PATTERN = /^(unix:\/|(\[[^\]]+\]|[\w.-]+):\d{1,5}$)/;
/** Longer ones do not fit the structure the system calls take. */
const MAX_SOCKET_PATH = 107;

/** Reads where to listen: `127.0.0.1:8080`, `[::1]:8080` or `unix:/path`. Answers what is wrong as text. */
export function parseListen(text: string): Listen | string {
  if (text.startsWith("unix:")) return parseSocket(text.slice("unix:".length));
  const match = /^(?:\[(?<v6>[^\]]*)\]|(?<name>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text);
  const { v6, name, port } = match?.groups ?? {};
  if (/^:\d+$/.test(text)) return "must name a host: write 127.0.0.1:8080, or 0.0.0.0:8080 for every address";
  if (port === undefined) return `must be ${LISTEN_FORMS}`;
  if (Number(port) > 65_535) return "must have a port from 0 to 65535";
  if (v6 !== undefined) return isIPv6(v6) ? tcp(v6, port) : "must have an IPv6 address between the brackets";
  if (name === undefined || !isHost(name))
    return `must have a host name or an IP address before the port: ${LISTEN_FORMS}`;
  return tcp(name, port);
}

/** True if only this machine can connect there. */
export function isLocal(listen: Listen): boolean {
  if (listen.kind === "unix") return true;
  const { host } = listen;
  if (isIPv4(host)) return host.startsWith("127.");
  if (isIPv6(host)) return new URL(`http://[${host}]`).hostname === "[::1]";
  return host.toLowerCase() === "localhost";
}

/** True if both cannot be listened to at once. Port 0 is another port each time. */
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

function tcp(host: string, port: string): Listen {
  return { kind: "tcp", host, port: Number(port) };
}

function isHost(name: string): boolean {
  if (/^[\d.]+$/.test(name)) return isIPv4(name);
  return /^[a-z\d]([a-z\d-]*[a-z\d])?(\.[a-z\d]([a-z\d-]*[a-z\d])?)*$/i.test(name);
}
