import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import type { Listen, Tls } from "../model/config.ts";
import type { Listener, Serve } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { type Ms, SECOND } from "../model/units.ts";
import type { Answering, HttpServer, TlsAnswering } from "./http-server.ts";
import { addressOf, claimSocket, explainListening, listenError, shareSocket } from "./listen.ts";
import { startOnBun, startTlsOnBun } from "./serve-bun.ts";
import { startOnDeno, startTlsOnDeno } from "./serve-deno.ts";

type ServeOptions = {
  /** Gets what a handler threw; the client gets a 500 without details. */
  readonly report?: Pick<Report, "unexpected">;
  /** How long a stop waits for running requests before it cuts them off. */
  readonly grace?: Ms;
};

/** Listens for HTTP, over TCP or a Unix socket, or for HTTPS. Rejects with a message that says what to do. */
export function createServe({ report, grace = 10 * SECOND }: ServeOptions = {}): Serve {
  function failed(error: unknown): Response {
    report?.unexpected("answer a request", error);
    const message = "the server could not handle this request; its log says why";
    return Response.json({ success: false, code: "internal", message, error: message }, { status: 500 });
  }
  return (listen, handle, tls = null) => {
    const answering = { handle, failed };
    return tls ? serveTls(listen, { ...answering, tls }, grace) : serve(listen, answering, grace);
  };
}

const ON_BUN = typeof Bun !== "undefined";

async function serve(listen: Listen, answering: Answering, grace: Ms): Promise<Listener> {
  const start = ON_BUN ? startOnBun : startOnDeno;
  if (listen.kind === "unix") await claimSocket(listen.path);
  const server = await explainListening({ listen, scheme: "http" }, () => start(listen, answering));
  const release = listen.kind === "unix" ? shareSocket(listen.path) : () => {};
  return {
    address: addressOf(listen, server.port),
    renew: () => Promise.reject(new Error("this listener has no certificate")),
    stop: once(() => stop(server, grace).then(release)),
  };
}

async function serveTls(listen: Listen, answering: TlsAnswering, grace: Ms): Promise<Listener> {
  const scheme = "https";
  if (listen.kind === "unix") throw listenError({ listen, scheme }, "HTTPS needs an address of the form host:port");
  const start = ON_BUN ? startTlsOnBun : startTlsOnDeno;
  const server = await explainListening({ listen, scheme }, () => {
    checkCertificate(answering.tls);
    return start(listen, answering);
  });
  const address = addressOf(listen, server.port, scheme);
  let isStopping = false;
  return {
    address,
    async renew(tls) {
      if (isStopping) throw new Error(`cannot renew the certificate of ${address}: it is being closed`);
      try {
        checkCertificate(tls);
        server.renew(tls);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new Error(`cannot renew the certificate of ${address}: ${reason}`, { cause });
      }
    },
    stop: once(() => {
      isStopping = true;
      return stop(server, grace);
    }),
  };
}

async function stop(server: HttpServer, grace: Ms): Promise<void> {
  const timer = setTimeout(() => server.cut(), grace);
  await server.finish();
  clearTimeout(timer);
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
 * Throws an error that names the file and what is wrong with it when a certificate cannot be served. It is checked before a
 * server gets it: Deno would accept anything, and then fail every handshake.
 */
function checkCertificate({ cert, certFile, key, keyFile }: Tls): void {
  const blocks = cert.match(CERTIFICATE) ?? [];
  const [own] = blocks.map((block, index) => readCertificate(block, `${certFile} (certificate ${index + 1})`));
  if (!own) throw new Error(`${certFile} holds no certificate in PEM form`);
  if (own.checkPrivateKey(readKey(key.reveal(), keyFile))) return;
  const order = blocks.length > 1 ? "; the server's own certificate must come first" : "";
  throw new Error(`the key in ${keyFile} does not belong to the certificate in ${certFile}${order}`);
}

function readCertificate(block: string, place: string): X509Certificate {
  try {
    return new X509Certificate(block);
  } catch (cause) {
    throw new Error(`${place} is damaged; copy the file again`, { cause });
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
