import type { Listen } from "../model/config.ts";
import type { Handle, Listener, Report, Serve } from "../model/ports.ts";
import { type Ms, SECOND } from "../model/units.ts";
import { addressOf, explainListening } from "./listen-address.ts";
import { startOnBun } from "./serve-bun.ts";
import { startOnDeno } from "./serve-deno.ts";
import { claimSocket, type ReleaseSocket, shareSocket } from "./unix-socket.ts";

export type ServeOptions = {
  /** Hears of what a handler threw; the client gets a 500 without details. */
  readonly report?: Pick<Report, "unexpected">;
  /** How long a stop waits for running requests before it cuts them off. */
  readonly grace?: Ms;
};

/** What each runtime makes of its own HTTP server. */
export type StartServer = (listen: Listen, answer: Answering) => HttpServer;
export type Answering = { readonly handle: Handle; readonly failed: (error: unknown) => Response };
export type HttpServer = {
  /** What the system gave; 0 on a Unix socket. */
  readonly port: number;
  /** Takes no more connections, closes the idle ones, and resolves when the others are done. */
  finish(): Promise<void>;
  /** Closes all that is left, which ends `finish` too. */
  cut(): void;
};

/** Listens for HTTP, over TCP or a Unix socket. Rejects with a message that says what to do. */
export function createServe({ report, grace = 10 * SECOND }: ServeOptions = {}): Serve {
  const start: StartServer = typeof Bun === "undefined" ? startOnDeno : startOnBun;
  function failed(error: unknown): Response {
    report?.unexpected("answer a request", error);
    return internalError();
  }
  return async (listen, handle) => {
    if (listen.kind === "unix") await claimSocket(listen.path);
    const server = explainListening(listen, () => start(listen, { handle, failed }));
    const release = listen.kind === "unix" ? shareSocket(listen.path) : null;
    return toListener(server, { address: addressOf(listen, server.port), grace, release });
  };
}

function internalError(): Response {
  const message = "the server could not handle this request; its log says why";
  return Response.json({ success: false, code: "internal", message, error: message }, { status: 500 });
}

type Stopping = { readonly address: string; readonly grace: Ms; readonly release: ReleaseSocket | null };

function toListener(server: HttpServer, { address, grace, release }: Stopping): Listener {
  let stopped: Promise<void> | null = null;
  async function stop(): Promise<void> {
    const timer = setTimeout(() => server.cut(), grace);
    await server.finish();
    clearTimeout(timer);
    release?.();
  }
  return {
    address,
    renew: () => Promise.reject(new Error("this listener has no certificate")),
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}
