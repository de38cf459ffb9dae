import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, connect as connectTcp, type Server, type Socket } from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { connect, createServer, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Tls } from "../../src/model/config.ts";
import type { Listener, Reply } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import { onRequests } from "./receiver.ts";

/** A certificate of test/fixtures/tls, as the config would have it. */
export function makeTls(name: string): Tls {
  const key = new Secret(fixture("server.key"));
  return { certFile: `/etc/${name}.crt`, keyFile: "/etc/server.key", cert: fixture(`${name}.crt`), key };
}

export function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
}

/** Runs a script of test/fixtures/tls in a process of its own, by the same runtime. */
export function startScript(name: string, ...args: string[]): ChildProcessWithoutNullStreams {
  const script = fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
  const run = typeof Bun === "undefined" ? ["run", "-A", "--no-check"] : [];
  return spawn(process.execPath, [...run, script, ...args]);
}

type At = Pick<Listener, "address">;

/** Opens a connection that trusts whatever certificate it gets, unless `ca` says whom to trust. */
export async function openTls({ address }: At, { ca }: { readonly ca?: string } = {}): Promise<TLSSocket> {
  const port = Number(new URL(address).port);
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca, servername: "localhost" };
  const socket = connect({ port, host: "127.0.0.1", ...trust });
  await once(socket, "secureConnect");
  // From here on a test looks at what has arrived.
  socket.on("error", () => {});
  return socket;
}

export async function openPlain({ address }: At): Promise<Socket> {
  const socket = connectTcp(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

export const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/** Sends a request, and resolves with what is answered, up to `end`. Rejects when the connection ends before. */
export function ask(socket: TLSSocket, { request = GET, end }: { request?: string; end: string }): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    function read(chunk: Buffer): void {
      text += chunk.toString();
      if (text.endsWith(end)) settle(() => resolve(text));
    }
    function fail(): void {
      settle(() => reject(new Error(`the connection ended after ${JSON.stringify(text)}`)));
    }
    function settle(done: () => void): void {
      socket.off("data", read).off("close", fail);
      done();
    }
    if (socket.destroyed) return fail();
    socket.on("data", read).on("close", fail);
    socket.write(request);
  });
}

/**
 * Opens a connection, asks once, and closes it. Resolves with the issuer of the certificate that it got: `Fairlead test CA`
 * or, for the self-signed one, `localhost`.
 */
export async function askOnce(listener: At, end: string): Promise<unknown> {
  const socket = await openTls(listener);
  const issuer = socket.getPeerCertificate().issuer?.CN;
  await ask(socket, { end });
  socket.destroy();
  return issuer;
}

type Listening = AsyncDisposable & { readonly url: string };

export type TlsReceiver = Listening & {
  readonly received: readonly string[];
  /** To whom each request's connection belongs: the name in its certificate, and its number from 1. */
  readonly clients: readonly string[];
};

export type TlsReceiverOptions = {
  /** Only clients whose certificate is from the authority for clients get an answer. */
  readonly asks?: boolean;
  /** Called after each request. */
  readonly look?: () => void;
};

/** Answers 200 to whatever is sent to it behind the certificates of those names. */
export async function startTlsReceiver(
  certificates: string,
  { asks = false, look = () => {} }: TlsReceiverOptions = {},
): Promise<TlsReceiver> {
  const received: string[] = [];
  const clients: string[] = [];
  let connections = 0;
  const cert = certificates
    .split(" ")
    .map((name) => fixture(`${name}.crt`))
    .join("");
  const asking = { ca: fixture("client-ca.crt"), requestCert: true, rejectUnauthorized: true };
  const server = createServer({ cert, key: fixture("server.key"), ...(asks && asking) }, (socket) => {
    connections += 1;
    const client = `${asks ? socket.getPeerCertificate().subject.CN : "anybody"} ${connections}`;
    socket.on("error", () => {});
    onRequests(socket, (request) => {
      received.push(request);
      clients.push(client);
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      look();
    });
  });
  // The handshakes that these tests are about.
  server.on("tlsClientError", () => {});
  return { ...(await listen(server)), received, clients };
}

/** Disposing closes its connections too. */
export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<{ destroy(): unknown }>();
  server.on("connection", (socket) => sockets.add(socket));
  server.on("secureConnection", (socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `https://127.0.0.1:${port}/hook?token=query-secret`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a process of its own posts with. */
export type PostOnce = { readonly url: string; readonly ca?: string; readonly env?: Readonly<Record<string, string>> };

/** Posts from a process of its own, in which nothing of the environment is left but what is given. */
export async function postFromProcess({ url, ca, env = {} }: PostOnce): Promise<Reply> {
  const script = pathOf("../fixtures/post-once.ts");
  const run = typeof Bun === "undefined" ? ["run", "-A", "--no-check"] : [];
  const args = [...run, script, url, ...(ca === undefined ? [] : [certificatePath(ca)])];
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, args, { env: { PATH, HOME, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(await text(child.stdout));
}

export function certificatePath(name: string): string {
  return pathOf(`../fixtures/tls/${name}.crt`);
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
