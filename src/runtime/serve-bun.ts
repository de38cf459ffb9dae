import type { Listen, Tls } from "../model/config.ts";
import type { Handle, Peer } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
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
import { createSteering, type Entered, listeningSockets, type Steering } from "./steering.ts";

type Server = Bun.Server<undefined>;
type Options = Bun.Serve.Options<undefined>;
type Fetch = (request: Request, server: Server) => Response | Promise<Response>;

/** With `tls` it speaks HTTPS, on a port that several servers may share. */
type BunAnswering = Answering & { readonly tls?: Tls };
type BunServer = HttpServer & {
  /** From now on, each answer closes its connection. */
  retire(): void;
};

/** Starts Bun's HTTP server. Throws when it cannot listen. */
export function startOnBun(listen: Listen, { handle, failed, tls }: BunAnswering): BunServer {
  const place = listen.kind === "unix" ? { unix: listen.path } : toPlace(listen);
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

/** `reusePort` is explicit, because without development mode Bun lets a second daemon share the port, and half of the calls. */
function toPlace({ host, port, shared = false }: TcpListen) {
  return { hostname: host, port, reusePort: shared };
}

const SETTINGS = {
  development: false,
  idleTimeout: IDLE_SECONDS,
  // Bun would answer a bare 413, which clients do not understand. The reader of the body limits its size.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
} as const;

function toFetch(handle: Handle, kind: Listen["kind"]): Fetch {
  const overSocket = kind === "unix";
  return (request, server) => {
    if (hasSecondHost(request.headers)) return badRequest();
    const peer: Peer = {
      overSocket,
      // Looked up only when asked for: it costs as much as a small request.
      get address() {
        return peerAddress(server.requestIP(request)?.address);
      },
    };
    return handle(withWholeUrl(request), peer);
  };
}

/** If the client sends no host, or none that Bun understands, Bun gives only the path as the URL. */
function withWholeUrl(request: Request): Request {
  const { url } = request;
  return url.startsWith("/") ? new Request(`http://localhost${url}`, request) : request;
}

function endingConnection(response: Response): Response {
  response.headers.set("Connection", "close");
  return response;
}

export type RenewOptions = {
  readonly steering?: Steering;
  /** How long a server stays after it was replaced. */
  readonly leaveAfter?: Ms;
  /** Most replaced servers at once. The config is checked for changes every two seconds. */
  readonly mostLeaving?: number;
};

/** Longer than an idle connection lives. */
const LEAVE_AFTER = IDLE_SECONDS * SECOND + 30 * SECOND;

/**
 * Starts HTTPS on Bun. Its server cannot change its certificate, so another certificate is served by another server on the
 * same port. A server is
 *
 * - current, from when it is opened until a newer one is: it takes all new connections (see steering.ts).
 * - leaving: it takes none, and each answer ends its connection. Idle connections time out, so that none is left to be
 *   cut off when it finishes.
 * - finishing, after `leaveAfter`, or earlier when too many are leaving or everything stops: its idle connections are
 *   closed, and it ends when its running requests are answered.
 *
 * Where connections cannot be steered, a server finishes as soon as it is replaced. Connections that it has not yet accepted
 * are then reset, unless net.ipv4.tcp_migrate_req is 1.
 *
 * Throws when it cannot listen.
 */
export function startTlsOnBun(listen: TcpListen, answering: TlsAnswering, options: RenewOptions = {}): TlsServer {
  const { steering = createSteering(listeningSockets()), leaveAfter = LEAVE_AFTER, mostLeaving = 100 } = options;
  const place = { ...listen, port: findPort(listen, answering) };
  const leaving = new Set<Member>();
  function open(tls: Tls): Member {
    const entered = steering.enter(() => startOnBun(place, { ...answering, tls }));
    const member = toMember(entered, { leaveAfter, gone: () => leaving.delete(member) });
    return member;
  }
  let current = open(answering.tls);
  return {
    port: place.port,
    renew(tls) {
      const replaced = current;
      current = open(tls);
      leaving.add(replaced);
      replaced.leave(current.led);
      const [oldest] = leaving;
      if (leaving.size > mostLeaving) void oldest?.finish();
    },
    async finish() {
      await Promise.all([current, ...leaving].map((member) => member.finish()));
    },
    cut() {
      for (const member of [current, ...leaving]) member.cut();
    },
  };
}

/** Finds a port that no other program listens on: a shared port could be shared unnoticed. */
function findPort(listen: TcpListen, { handle, failed }: Answering): number {
  const alone = startOnBun(listen, { handle, failed });
  alone.cut();
  return alone.port;
}

type Member = {
  readonly led: boolean;
  /** `led`: whether new connections go to another server by now. */
  leave(led: boolean): void;
  /** Never rejects. */
  finish(): Promise<void>;
  cut(): void;
};
type Leaving = { readonly leaveAfter: Ms; readonly gone: () => void };

function toMember({ opened: server, led, left }: Entered<BunServer>, { leaveAfter, gone }: Leaving): Member {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let finished: Promise<void> | null = null;
  async function finish(): Promise<void> {
    clearTimeout(timer);
    const finishing = server.finish();
    left();
    await finishing;
    gone();
  }
  const member = {
    led,
    leave(led: boolean) {
      server.retire();
      if (led) timer = setTimeout(() => void member.finish(), leaveAfter);
      else void member.finish();
    },
    finish() {
      finished ??= finish();
      return finished;
    },
    cut: server.cut,
  };
  return member;
}
