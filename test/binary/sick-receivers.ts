/** Receivers that misbehave as real ones do: what each does with its connection once it has read a whole request. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:tls";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { flood, holdPort, type Receiver, startReceiver } from "../runtime/receiver.ts";

export type Sickness = (socket: Socket) => void;

/** What a test has to know of any of them. */
export type Hostile = Pick<Receiver, "url" | "requests" | "sockets"> & AsyncDisposable;

export const MB_100 = 100_000_000;
const OK = "HTTP/1.1 200 OK\r\n";

export function isWell(socket: Socket): void {
  socket.write(`${OK}Content-Length: 0\r\n\r\n`);
}

export function hangs(): void {}

export function hangsInItsHeaders(socket: Socket): void {
  socket.write(`${OK}X-Slow: y`);
}

export function hangsAfterItsHeaders(socket: Socket): void {
  socket.write(`${OK}Content-Length: 9\r\n\r\n`);
}

export function dripsItsHeaders(socket: Socket): void {
  drip(socket, `${OK}X-Slow: ${"y".repeat(1_000)}`);
}

export function dripsItsBody(socket: Socket): void {
  socket.write(`${OK}Content-Length: 1000\r\n\r\n`);
  drip(socket, "z".repeat(1_000));
}

/** It is there, and will answer in a moment: for ever. */
export function dripsInterimAnswers(socket: Socket): void {
  drip(socket, ["HTTP/1.1 100 Continue\r\n\r\n"]);
}

export function resets(socket: Socket): void {
  socket.resetAndDestroy();
}

/** Closes its own half of the connection, and would go on listening. */
export function halfCloses(socket: Socket): void {
  socket.end();
}

export function halfClosesInItsHeaders(socket: Socket): void {
  socket.end(`${OK}X-Cut: y`);
}

export function halfClosesInItsBody(socket: Socket): void {
  socket.end(`${OK}Content-Length: 9\r\n\r\nhalf`);
}

export function speaksAnotherProtocol(socket: Socket): void {
  socket.write("SSH-2.0-OpenSSH_9.2\r\n");
}

export function answersWithoutAStatus(socket: Socket): void {
  socket.write("HTTP/1.1 fine OK\r\nContent-Length: 0\r\n\r\n");
}

export function changesTheProtocol(socket: Socket): void {
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
}

export function sendsHeadersWithoutEnd(socket: Socket): void {
  socket.write(OK);
  flood(socket, `X-More: ${"y".repeat(1_000)}\r\n`, MB_100);
}

export function sendsOneHeaderWithoutEnd(socket: Socket): void {
  socket.write(`${OK}X-More: `);
  flood(socket, "y".repeat(1_000), MB_100);
}

export function answers100MB(socket: Socket): void {
  socket.write(`${OK}Content-Length: ${MB_100}\r\n\r\n`);
  flood(socket, "z".repeat(1_000), MB_100);
}

export function refusesWith100MB(socket: Socket): void {
  socket.write(`HTTP/1.1 503 Busy\r\nContent-Length: ${MB_100}\r\n\r\n`);
  flood(socket, "z".repeat(1_000), MB_100);
}

const bomb = gzipSync(Buffer.alloc(MB_100));

/** 97 KB, and 100 MB if it were unpacked. */
export function answersAGzipBomb(socket: Socket): void {
  socket.write(`${OK}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
  socket.write(bomb);
}

export function redirectsToItself(socket: Socket): void {
  socket.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: /hook\r\nContent-Length: 0\r\n\r\n");
}

/** One piece a second, over and over if it is a list; until the other side has had enough. */
function drip(socket: Socket, pieces: string | readonly string[]): void {
  let sent = 0;
  function next(): void {
    if (socket.writable) socket.write(pieces[sent % pieces.length] ?? "");
    sent += 1;
  }
  next();
  const timer = setInterval(next, 1_000);
  socket.on("close", () => clearInterval(timer));
}

/** The authority of the certificates in test/fixtures/tls, for NODE_EXTRA_CA_CERTS. */
export const AUTHORITY = fixturePath("ca.crt");

/** A receiver that is well, behind one of those certificates. */
export async function startBehindCertificate(name: string): Promise<Hostile> {
  const requests: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer({ cert: fixture(`${name}.crt`), key: fixture("server.key") }, (socket) => {
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      requests.push(chunk.toString());
      isWell(socket);
    });
  });
  // The handshakes that these receivers are about.
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `https://127.0.0.1:${port}/hook`, requests, sockets },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Takes connections, and never begins with TLS. */
export async function startWithoutHandshake(): Promise<Hostile> {
  const receiver = await startReceiver(hangs);
  return { ...receiver, url: receiver.url.replace("http:", "https:") };
}

/** A port on which nobody listens. */
export async function startNobody(): Promise<Hostile> {
  const held = await holdPort();
  return { ...held, url: `http://127.0.0.1:${held.port}/hook`, requests: [], sockets: [] };
}

function fixture(name: string): string {
  return readFileSync(fixturePath(name), "utf8");
}

function fixturePath(name: string): string {
  return fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url));
}
