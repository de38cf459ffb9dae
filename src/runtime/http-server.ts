/** What the HTTP servers of Bun and Deno have in common. */
import type { Listen, Tls } from "../model/config.ts";
import type { Handle } from "../model/ports.ts";

export type Answering = { readonly handle: Handle; readonly failed: (error: unknown) => Response };

export type HttpServer = {
  /** The port that the system gave; 0 on a Unix socket. */
  readonly port: number;
  /** Accepts no more connections, closes idle ones, and resolves when the others are done. */
  finish(): Promise<void>;
  /** Closes all connections that are left, which ends `finish` too. */
  cut(): void;
};

export type TcpListen = Extract<Listen, { kind: "tcp" }>;

/** `tls` has been checked. */
export type TlsAnswering = Answering & { readonly tls: Tls };

export type TlsServer = HttpServer & {
  /** Serves new connections with another certificate. Throws when it cannot, and keeps the old one. */
  renew(tls: Tls): void;
};

/** Seconds without a byte after which a connection is closed. A slow upload has a deadline of its own. */
export const IDLE_SECONDS = 120;

/**
 * Whether a request has more than one `Host` header, or a list in one. Deno's own server refuses such a request (RFC 9112,
 * 3.2); Bun's, and node's on Deno, join the headers with a comma.
 */
export function hasSecondHost(headers: Headers): boolean {
  return headers.get("host")?.includes(",") === true;
}

/** What Bun and Deno answer to a request that breaks the rules of HTTP: no body, and the connection ends. */
export function badRequest(): Response {
  return new Response(null, { status: 400, headers: { Connection: "close" } });
}

/** An IP address as people write it: an IPv4 address that comes in over an IPv6 socket loses its `::ffff:`. */
export function peerAddress(address: string | undefined): string | null {
  if (address === undefined) return null;
  return /^::ffff:\d+\./i.test(address) ? address.slice("::ffff:".length) : address;
}
