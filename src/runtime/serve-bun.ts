import type { Listen, Tls } from "../model/config.ts";
import type { Handle, Peer } from "../model/ports.ts";
import { peerAddress } from "./peer-address.ts";
import { badRequest, hasSecondHost } from "./second-host.ts";
import type { Answering, HttpServer } from "./serve.ts";

type Server = Bun.Server<undefined>;
type Options = Bun.Serve.Options<undefined>;
type Fetch = (request: Request, server: Server) => Response | Promise<Response>;

/** With `tls` it speaks HTTPS, on a port that it may share with others like it. */
export type BunAnswering = Answering & { readonly tls?: Tls };
export type BunServer = HttpServer & {
  /** From now on each answer ends its connection. */
  retire(): void;
};

/** Starts Bun's HTTP server. Throws when the address cannot be had. */
export function startOnBun(listen: Listen, { handle, failed, tls }: BunAnswering): BunServer {
  const place = listen.kind === "unix" ? { unix: listen.path } : { hostname: listen.host, port: listen.port };
  const server = Bun.serve({
    ...SETTINGS,
    ...place,
    ...(tls ? { reusePort: true, tls: { cert: tls.cert, key: tls.key.reveal() } } : {}),
    fetch: toFetch(handle, listen.kind),
    error: failed,
    // Bun's types deny a Unix socket its idleTimeout, which it has.
  } as Options);
  return {
    port: server.port ?? 0,
    finish: () => server.stop(),
    cut: () => void server.stop(true),
    retire() {
      const fetch = toFetch(async (request, peer) => endingConnection(await handle(request, peer)), listen.kind);
      server.reload({ fetch, error: (error) => endingConnection(failed(error)) });
    },
  };
}

/** Seconds without a byte after which a connection ends. A slow upload has a deadline of its own. */
export const IDLE_SECONDS = 120;

const SETTINGS = {
  development: false,
  // Said outright, because without development mode Bun lets a second daemon share the port, and half of the calls.
  reusePort: false,
  idleTimeout: IDLE_SECONDS,
  // Bun would answer a bare 413, which clients do not understand: whoever reads the body counts.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;

function toFetch(handle: Handle, kind: Listen["kind"]): Fetch {
  const overSocket = kind === "unix";
  return (request, server) => {
    if (hasSecondHost(request.headers)) return badRequest();
    return handle(withWholeUrl(request), peerOf(request, { server, overSocket }));
  };
}

/** Where the client names no host, or none that Bun understands, Bun gives the path alone as the URL. */
function withWholeUrl(request: Request): Request {
  const { url } = request;
  return url.startsWith("/") ? new Request(`http://localhost${url}`, request) : request;
}

/** The address is looked up only for those who ask: it costs as much as a small request. */
function peerOf(request: Request, { server, overSocket }: { server: Server; overSocket: boolean }): Peer {
  return {
    overSocket,
    get address() {
      return peerAddress(server.requestIP(request)?.address);
    },
  };
}

function endingConnection(response: Response): Response {
  response.headers.set("Connection", "close");
  return response;
}
