import type { Listen } from "../model/config.ts";
import { addressOf } from "../runtime/listen.ts";

/**
 * How a command on the same machine reaches a listener, as `http://127.0.0.1:8080` or `unix:/path`. One on all addresses
 * is reached over loopback. Null for a port that only the daemon knows.
 */
export function baseOf(listen: Listen): string | null {
  if (listen.kind === "unix") return addressOf(listen, 0);
  if (listen.port === 0) return null;
  return addressOf({ ...listen, host: loopbackFor(listen.host) }, listen.port);
}

function loopbackFor(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  // All spellings of `::`.
  return host.includes(":") && /^[0:]+$/.test(host) ? "::1" : host;
}

/** What `readBase` takes, for messages. */
export const BASE_FORMS = "http://host:port, https://host or unix:/path, and nothing more";

/**
 * Reads where a daemon is, as a person writes it. A path is allowed, for a proxy that has Fairlead below one; a password
 * is not, for it would be seen in the list of processes. Null if it is none of the forms.
 */
export function readBase(text: string): string | null {
  if (text.startsWith("unix:/")) return text;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const { username, password, search, hash, origin, pathname } = url;
  return `${username}${password}${search}${hash}` === "" ? `${origin}${pathname.replace(/\/$/, "")}` : null;
}
