import type { Listen } from "../model/config.ts";
import type { Peer } from "../model/ports.ts";
import { peerAddress } from "./peer-address.ts";
import type { Answering, HttpServer } from "./serve.ts";

type Server = Bun.Server<undefined>;
type Options = Bun.Serve.Options<undefined>;

/** Starts Bun's HTTP server. Throws when the address cannot be had. */
export function startOnBun(listen: Listen, { handle, failed }: Answering): HttpServer {
  const place = listen.kind === "unix" ? { unix: listen.path } : { hostname: listen.host, port: listen.port };
  const server = Bun.serve({
    ...SETTINGS,
    ...place,
    fetch: (request: Request, server: Server) => handle(withWholeUrl(request), peerOf(request, server)),
    error: failed,
    // Bun's types deny a Unix socket its idleTimeout, which it has.
  } as Options);
  return {
    port: server.port ?? 0,
    finish: () => server.stop(),
    cut: () => void server.stop(true),
  };
}

const SETTINGS = {
  development: false,
  // Said outright, because without development mode Bun lets a second daemon share the port, and half of the calls.
  reusePort: false,
  // Seconds. A slow upload has a deadline of its own.
  idleTimeout: 120,
  // Bun would answer a bare 413, which clients do not understand: whoever reads the body counts.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;

/** Where the client names no host, or none that Bun understands, Bun gives the path alone as the URL. */
function withWholeUrl(request: Request): Request {
  const { url } = request;
  return url.startsWith("/") ? new Request(`http://localhost${url}`, request) : request;
}

/** The address is looked up only for those who ask: it costs as much as a small request. */
function peerOf(request: Request, server: Server): Peer {
  return {
    get address() {
      return peerAddress(server.requestIP(request)?.address);
    },
  };
}
