import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Listen, Tls } from "../model/config.ts";
import type { Listener, Serve } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type Ms, SECOND } from "../model/units.ts";
import type { Answering, HttpServer, StartServer, StartTlsServer, TlsAnswering, TlsServer } from "./http-server.ts";
import { addressOf, claimSocket, explainListening, listenError, type ReleaseSocket, shareSocket } from "./listen.ts";
import { startOnBun, startTlsOnBun } from "./serve-bun.ts";
import { startOnDeno, startTlsOnDeno } from "./serve-deno.ts";

type ServeOptions = {
  /** Hears of what a handler threw; the client gets a 500 without details. */
  readonly report?: Pick<Report, "unexpected">;
  /** How long a stop waits for running requests before it cuts them off. */
  readonly grace?: Ms;
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

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/**
 * Throws an error that names the file and says what is wrong with it when a certificate cannot be served. Asked for before
 * a server sees it: Deno would take anything, and then fail every handshake.
 */
function checkCertificate({ cert, certFile, key, keyFile }: Tls): void {
  const blocks = cert.match(CERTIFICATE) ?? [];
  const [own] = blocks.map((block, index) => readCertificate(block, `${certFile} (certificate ${index + 1})`));
  if (!own) throw new Error(`${certFile} holds no certificate in PEM form`);
  if (own.checkPrivateKey(readKey(key.reveal(), keyFile))) return;
  const order = blocks.length > 1 ? "; the server's own certificate has to come first" : "";
  throw new Error(`the key in ${keyFile} does not belong to the certificate in ${certFile}${order}`);
}

function readCertificate(block: string, place: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch (cause) {
    throw new Error(`${place} is broken; copy the file anew`, { cause });
  }
}

function readKey(pem: string, file: string): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch {
    // Without the cause, which could quote the key.
    throw new Error(`${file} holds no private key in PEM form that can be read without a passphrase`);
  }
}
