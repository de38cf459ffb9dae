import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Reply } from "../../src/model/ports.ts";
import { onRequests } from "./receiver.ts";
import { fixture } from "./tls-client.ts";

export type Listening = AsyncDisposable & { readonly url: string };

export type TlsReceiver = Listening & {
  readonly received: readonly string[];
  /** To whom each request's connection belongs: the name in its certificate, and its number from 1. */
  readonly clients: readonly string[];
};

/**
 * Answers 200 to whatever is sent to it behind the certificates of those names. With `asks`, only to clients whose
 * certificate is from the authority for clients.
 */
export async function startTlsReceiver(certificates: string, { asks = false } = {}): Promise<TlsReceiver> {
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
