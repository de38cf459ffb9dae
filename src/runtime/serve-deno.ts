import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerOptions } from "node:https";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { Listen, Tls } from "../model/config.ts";
import { SECOND } from "../model/units.ts";
import {
  type Answering,
  badRequest,
  type HttpServer,
  hasSecondHost,
  IDLE_SECONDS,
  peerAddress,
  type TcpListen,
  type TlsAnswering,
  type TlsServer,
} from "./http-server.ts";

/** The part of Deno that is used here. */
declare const Deno: {
  serve(options: ServeOptions, handler: (request: Request, info: Info) => Response | Promise<Response>): DenoServer;
};

type ServeOptions = (
  | { readonly path: string }
  | { readonly hostname: string; readonly port: number; readonly reusePort: boolean }
) & {
  readonly onListen: () => void;
  readonly onError: (error: unknown) => Response;
};
type Info = { readonly remoteAddr: { readonly hostname?: string } };
type DenoServer = {
  readonly addr: { readonly port?: number };
  shutdown(): Promise<void>;
};

/** Starts Deno's HTTP server. Throws when it cannot listen. */
export function startOnDeno(listen: Listen, { handle, failed }: Answering): HttpServer {
  const over = Promise.withResolvers<void>();
  const place = listen.kind === "unix" ? { path: listen.path } : toPlace(listen);
  const options = { ...place, onListen() {}, onError: failed };
  const server = Deno.serve(options, (request, { remoteAddr }) =>
    handle(request, { address: peerAddress(remoteAddr.hostname), overSocket: listen.kind === "unix" }),
  );
  return {
    port: server.addr.port ?? 0,
    async finish() {
      await Promise.race([server.shutdown(), over.promise]);
    },
    // Deno cannot close connections in the middle of a shutdown. The end of the process does.
    cut: () => over.resolve(),
  };
}

function toPlace({ host, port, shared = false }: TcpListen) {
  return { hostname: host, port, reusePort: shared };
}

/**
 * Starts HTTPS on Deno. Its own server cannot change its certificate, and cannot share its port; node's server on Deno can
 * change it at any time. Rejects when it cannot listen.
 */
export async function startTlsOnDeno(listen: TcpListen, { tls, ...answering }: TlsAnswering): Promise<TlsServer> {
  // Imported late: it slows the start.
  const { createServer } = await import("node:https");
  const server = createServer({ ...optionsOf(tls), keepAliveTimeout: IDLE_SECONDS * SECOND }, (incoming, outgoing) => {
    // Never rejects.
    void answerIncoming({ incoming, outgoing }, answering);
  });
  server.listen(listen.port, listen.host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    renew: (tls) => server.setSecureContext(optionsOf(tls)),
    finish: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
    cut: () => server.closeAllConnections(),
  };
}

function optionsOf({ cert, key }: Tls): ServerOptions {
  return { cert, key: key.reveal(), minVersion: "TLSv1.2" };
}

type NodeExchange = { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse };

/** Answers a request of node's HTTP server, which has no `Request` and no `Response`. Never rejects. */
async function answerIncoming({ incoming, outgoing }: NodeExchange, { handle, failed }: Answering): Promise<void> {
  try {
    const request = toRequest(incoming);
    const peer = { address: peerAddress(incoming.socket.remoteAddress), overSocket: false };
    await send(outgoing, request ? await handle(request, peer) : badRequest());
  } catch (error) {
    await send(outgoing, failed(error));
  }
}

/** Null for what a `Request` cannot hold, such as the method TRACE, and for a second host. */
function toRequest(incoming: IncomingMessage): Request | null {
  const { method = "GET", url = "/", headers } = incoming;
  const all = headersOf(incoming);
  if (hasSecondHost(all)) return null;
  const host = headers.host !== undefined && URL.canParse(`https://${headers.host}`) ? headers.host : "localhost";
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  try {
    const init = { method, headers: all, body, duplex: "half" };
    return new Request(url.startsWith("/") ? `https://${host}${url}` : url, init as RequestInit);
  } catch {
    return null;
  }
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? "", rawHeaders[at + 1] ?? "");
  return headers;
}

/** Sends the answer in one piece, so that it gets a Content-Length. Answers are small. */
async function send(outgoing: ServerResponse, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  outgoing.statusCode = response.status;
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value);
  outgoing.end(body);
}
