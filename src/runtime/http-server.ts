import type { Listen, Tls } from "../model/config.ts";
import type { Handle } from "../model/ports.ts";

/** What each runtime makes of its own HTTP server. */
export type StartServer = (listen: Listen, answering: Answering) => HttpServer;
export type Answering = { readonly handle: Handle; readonly failed: (error: unknown) => Response };
export type HttpServer = {
  /** What the system gave; 0 on a Unix socket. */
  readonly port: number;
  /** Takes no more connections, closes the idle ones, and resolves when the others are done. */
  finish(): Promise<void>;
  /** Closes all that is left, which ends `finish` too. */
  cut(): void;
};

/** The same for HTTPS, with a certificate that has been checked. */
export type StartTlsServer = (listen: TcpListen, answering: TlsAnswering) => TlsServer | Promise<TlsServer>;
export type TcpListen = Extract<Listen, { kind: "tcp" }>;
export type TlsAnswering = Answering & { readonly tls: Tls };
export type TlsServer = HttpServer & {
  /** Serves new connections with another certificate. Throws when it cannot, and goes on as before. */
  renew(tls: Tls): void;
};

/**
 * Whether a request has more than one `Host` header, or a list in one: then nobody can say whom it is for. Deno's own
 * server refuses such a request (RFC 9112, 3.2); Bun's, and node's on Deno, join the headers with a comma.
 */
export function hasSecondHost(headers: Headers): boolean {
  return headers.get("host")?.includes(",") === true;
}

/** As Bun and Deno answer what breaks the rules of HTTP: bare, and the connection ends. */
export function badRequest(): Response {
  return new Response(null, { status: 400, headers: { Connection: "close" } });
}

/** An IP address as people write it: what comes in over an IPv6 socket from IPv4 loses its `::ffff:`. */
export function peerAddress(address: string | undefined): string | null {
  if (address === undefined) return null;
  return /^::ffff:\d+\./i.test(address) ? address.slice("::ffff:".length) : address;
}
