import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectTcp, type Socket } from "node:net";
import process from "node:process";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Tls } from "../../src/model/config.ts";
import type { Listener } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";

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
