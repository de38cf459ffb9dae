import type { Listen } from "../model/config.ts";
import { addressOf } from "../runtime/listen.ts";

/**
 * The address of a listener for a command on the same machine, as `http://127.0.0.1:8080` or `unix:/path`. A listener on all
 * addresses is reached over loopback. Null for port 0: only the daemon knows its port.
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

/** The forms that `readBase` accepts, for messages. */
export const BASE_FORMS = "http://host:port, https://host or unix:/path, and nothing more";

/**
 * Reads the address of a daemon. A path is allowed, for a proxy that serves Fairlead below one. A password is not: it would
 * be visible in the list of processes. Null if the text has none of the forms.
 */
export function readBase(text: string): string | null {
  if (text.startsWith("unix:/")) return text;
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) return null;
  const { username, password, search, hash, origin, pathname } = url;
  return `${username}${password}${search}${hash}` === "" ? `${origin}${pathname.replace(/\/$/, "")}` : null;
}
