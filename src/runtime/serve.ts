import type { Listen, Tls } from "../model/config.ts";
import type { Handle, Listener, Serve } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { checkCertificate } from "./certificate.ts";
import { addressOf, explainListening, listenError } from "./listen-address.ts";
import { startOnBun } from "./serve-bun.ts";
import { startOnDeno } from "./serve-deno.ts";
import { startTlsOnBun } from "./serve-tls-bun.ts";
import { startTlsOnDeno } from "./serve-tls-deno.ts";
import { claimSocket, type ReleaseSocket, shareSocket } from "./unix-socket.ts";

export type ServeOptions = {
  /** Hears of what a handler threw; the client gets a 500 without details. */
  readonly report?: Pick<Report, "unexpected">;
  /** How long a stop waits for running requests before it cuts them off. */
  readonly grace?: Ms;
};

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

/** Listens for HTTP, over TCP or a Unix socket, or for HTTPS. Rejects with a message that says what to do. */
export function createServe({ report, grace = 10 * SECOND }: ServeOptions = {}): Serve {
  function failed(error: unknown): Response {
    report?.unexpected("answer a request", error);
    return internalError();
  }
  return (listen, handle, tls = null) => {
    const answering = { handle, failed };
    return tls ? serveTls(listen, { ...answering, tls }, grace) : serve(listen, answering, grace);
  };
}

function internalError(): Response {
  const message = "the server could not handle this request; its log says why";
  return Response.json({ success: false, code: "internal", message, error: message }, { status: 500 });
}

function onBun(): boolean {
  return typeof Bun !== "undefined";
}

async function serve(listen: Listen, answering: Answering, grace: Ms): Promise<Listener> {
  const start: StartServer = onBun() ? startOnBun : startOnDeno;
  if (listen.kind === "unix") await claimSocket(listen.path);
  const server = await explainListening({ listen, scheme: "http" }, () => start(listen, answering));
  const release = listen.kind === "unix" ? shareSocket(listen.path) : null;
  return {
    address: addressOf(listen, server.port),
    renew: () => Promise.reject(new Error("this listener has no certificate")),
    stop: once(() => stop(server, { grace, release })),
  };
}

async function serveTls(listen: Listen, answering: TlsAnswering, grace: Ms): Promise<Listener> {
  if (listen.kind === "unix") throw listenError(listen, "HTTPS needs an address of the form host:port");
  const start: StartTlsServer = onBun() ? startTlsOnBun : startTlsOnDeno;
  const server = await explainListening({ listen, scheme: "https" }, () => {
    checkCertificate(answering.tls);
    return start(listen, answering);
  });
  const address = addressOf(listen, server.port, { scheme: "https" });
  let stopping = false;
  return {
    address,
    async renew(tls) {
      if (stopping) throw new Error(`cannot renew the certificate of ${address}: it is being closed`);
      renew(server, { tls, address });
    },
    stop: once(() => {
      stopping = true;
      return stop(server, { grace, release: null });
    }),
  };
}

function renew(server: TlsServer, { tls, address }: { readonly tls: Tls; readonly address: string }): void {
  try {
    checkCertificate(tls);
    server.renew(tls);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`cannot renew the certificate of ${address}: ${reason}`, { cause });
  }
}

type Stopping = { readonly grace: Ms; readonly release: ReleaseSocket | null };

async function stop(server: HttpServer, { grace, release }: Stopping): Promise<void> {
  const timer = setTimeout(() => server.cut(), grace);
  await server.finish();
  clearTimeout(timer);
  release?.();
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= run();
    return running;
  };
}
