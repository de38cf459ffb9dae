import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A receiver on loopback that speaks raw bytes, so that it can misbehave as real ones do. */
export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly sockets: readonly Socket[];
  /** The requests it has read to their end, as they came over the wire. */
  readonly requests: readonly string[];
  /** The next request that it reads. */
  next(): Promise<string>;
};

export type AnswerRequest = (socket: Socket, request: number) => void;

/** Calls `answer` for each whole request, with its number counted from 1. */
export async function startReceiver(answer: AnswerRequest): Promise<Receiver> {
  const sockets: Socket[] = [];
  const requests: string[] = [];
  const waiting: ((request: string) => void)[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    // Clients hang up on purpose in these tests.
    socket.on("error", () => {});
    onRequests(socket, (request) => {
      answer(socket, requests.push(request));
      waiting.shift()?.(request);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook?token=query-secret`,
    sockets,
    requests,
    next: () => new Promise((resolve) => waiting.push(resolve)),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Calls `found` with each whole request that comes. */
export function onRequests(socket: Socket, found: (request: string) => void): void {
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    for (let end = endOf(text); end !== null; end = endOf(text)) {
      found(text.slice(0, end));
      text = text.slice(end);
    }
  });
}

/** Where the first request ends, or null if it is not whole. */
function endOf(text: string): number | null {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return null;
  const length = /^content-length: (\d+)/im.exec(text.slice(0, head))?.[1] ?? "0";
  const end = head + 4 + Number(length);
  return text.length >= end ? end : null;
}

/** Resolves when a connection is over, however it ended. */
export function closed(socket: Socket): Promise<void> {
  if (socket.closed) return Promise.resolve();
  return new Promise((resolve) => socket.once("close", () => resolve()));
}

/** Writes the same bytes again and again, as fast as the other side takes them, up to `most` bytes. */
export function flood(socket: Socket, bytes: string, most: number): void {
  let left = most;
  function write(): void {
    while (left > 0 && socket.writable) {
      left -= bytes.length;
      if (!socket.write(bytes)) return void socket.once("drain", write);
    }
  }
  write();
}

/**
 * A port on loopback that nobody listens on, and that nobody can get for as long as this is held: it is the near end of a
 * connection. One that was only free a moment ago may be the next that the system gives to somebody else.
 */
export async function holdPort(): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection");
  const near = connect((server.address() as AddressInfo).port, "127.0.0.1");
  const [[far]] = await Promise.all([accepted, once(near, "connect")]);
  const port = near.localPort;
  if (port === undefined) throw new Error("a connected socket has no port");
  return {
    port,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
