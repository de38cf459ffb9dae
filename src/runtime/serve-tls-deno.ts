import { once } from "node:events";
import type { Server, ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import type { Tls } from "../model/config.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { answerIncoming } from "./answer-incoming.ts";
import type { TcpListen, TlsAnswering, TlsServer } from "./serve.ts";

/** How long a connection may stay open with nothing on it. */
const IDLE: Ms = 120 * SECOND;

/**
 * Starts HTTPS on Deno. Its own server keeps the certificate that it was opened with, and may not share its port; the one
 * that it has for node takes another certificate at any time. Rejects when the address cannot be had.
 */
export async function startTlsOnDeno(listen: TcpListen, { tls, ...answering }: TlsAnswering): Promise<TlsServer> {
  // Imported late: it has its price at the start.
  const { createServer } = await import("node:https");
  const server = createServer({ ...optionsOf(tls), keepAliveTimeout: IDLE }, (incoming, outgoing) => {
    // Never rejects.
    void answerIncoming({ incoming, outgoing }, answering);
  });
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    renew: (tls) => server.setSecureContext(optionsOf(tls)),
    finish: () => finish(server),
    cut: () => server.closeAllConnections(),
  };
}

function optionsOf({ cert, key }: Tls): ServerOptions {
  return { cert, key: key.reveal(), minVersion: "TLSv1.2" };
}

function finish(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}
