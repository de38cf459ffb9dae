/**
 * The webhook that everything is sent to: answers 200 to each request, and counts. It is written on raw sockets, so
 * that it costs far less than what it measures. A process of its own; see `ReceiverCommands` for what it can be told.
 */
import type { Socket, TCPSocketListener } from "bun";
import type { Certificate } from "./certificate.ts";
import { createFraming } from "./framing.ts";
import { now, obey } from "./processes.ts";

export type ReceiverCommands = {
  /** The port it listens on. */
  port(): number;
  /** Also listens at these addresses and at no earlier ones, behind the certificate if there is one. Answers with their ports. */
  listen(at: Listening): readonly number[];
  /** What has been opened to it since it started, at all addresses. */
  opened(): Opened;
  /** Forgets what has come, and awaits so many requests. */
  expect(what: { readonly requests: number }): void;
  /** The same, but none is answered until `release`, and that says how many they are. */
  hold(): void;
  /** Answers what was held, and from now on at once. Answers when that was. */
  release(what: { readonly requests: number }): number;
  /** Forgets what has come, closes all connections, and lets nobody connect until `comeBack`. */
  leave(): void;
  /** Listens again, at the same port, and awaits so many requests. Answers when that was. */
  comeBack(what: { readonly requests: number }): number;
  /** Resolves when as many requests have come as were expected. */
  arrived(): Promise<Arrival>;
  /** What has come until now. */
  count(): Count;
};

export type Listening = { readonly addresses: readonly string[]; readonly certificate: Certificate | null };
export type Opened = { readonly connections: number; readonly handshakes: number };
export type Count = { readonly requests: number; readonly bytes: number };
/**
 * `at`: when the last one came. `firstAt`: when the first came. `within`: how many came within so many ms from the first
 * on. `sample`: the first request, as text.
 */
export type Arrival = Count & {
  readonly at: number;
  readonly firstAt: number;
  readonly within: Readonly<Record<Span, number>>;
  readonly sample: string;
};
/** In ms. */
type Span = (typeof SPANS)[number];

type Connection = { readonly push: (chunk: Buffer) => number };
/** The first request, and the connection that it comes over. */
type Sample = { readonly socket: Socket<Connection>; text: string };

const SPANS = [10, 100, 1_000] as const;
const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

const received = { requests: 0, bytes: 0, expected: 0, firstAt: 0 };
const within: Record<Span, number> = { 10: 0, 100: 0, 1000: 0 };
const held: Socket<Connection>[] = [];
let holding = false;
let sample: Sample | null = null;
let arrived = Promise.withResolvers<Arrival>();

const opened = { connections: 0, handshakes: 0 };
let server = listen({ port: 0 });
let others: readonly TCPSocketListener<Connection>[] = [];

obey<ReceiverCommands>({
  port: () => server.port,
  listen({ addresses, certificate }) {
    for (const other of others) other.stop(true);
    others = addresses.map((hostname) => listen({ hostname, port: 0, ...(certificate && { tls: certificate }) }));
    return others.map(({ port }) => port);
  },
  opened: () => ({ ...opened }),
  expect: ({ requests }) => begin(requests),
  hold() {
    begin(Number.POSITIVE_INFINITY);
    holding = true;
  },
  release({ requests }) {
    const at = now();
    received.expected = requests;
    holding = false;
    for (const socket of held.splice(0)) answer(socket);
    return at;
  },
  leave() {
    begin(Number.POSITIVE_INFINITY);
    server.stop(true);
  },
  comeBack({ requests }) {
    begin(requests);
    server = listen({ port: server.port });
    return now();
  },
  arrived: () => arrived.promise,
  count: () => ({ requests: received.requests, bytes: received.bytes }),
});

type At = { readonly hostname?: string; readonly port: number; readonly tls?: Certificate };

function listen({ hostname = "127.0.0.1", port, tls }: At): TCPSocketListener<Connection> {
  return Bun.listen<Connection>({
    hostname,
    port,
    ...(tls && { tls }),
    socket: {
      open(socket) {
        opened.connections += 1;
        socket.data = { push: createFraming(() => {}) };
      },
      handshake() {
        opened.handshakes += 1;
      },
      data: take,
      error(_socket, error) {
        console.error("receiver:", error.message);
      },
    },
  });
}

function begin(expected: number): void {
  Object.assign(received, { requests: 0, bytes: 0, expected, firstAt: 0 });
  Object.assign(within, { 10: 0, 100: 0, 1000: 0 });
  held.length = 0;
  holding = false;
  sample = null;
  arrived = Promise.withResolvers();
}

function take(socket: Socket<Connection>, chunk: Buffer): void {
  if (received.requests === 0) keepSample(socket, chunk);
  const complete = socket.data.push(chunk);
  received.bytes += chunk.length;
  noteTime(complete);
  for (let nth = 0; nth < complete; nth += 1) {
    received.requests += 1;
    if (received.requests === received.expected)
      arrived.resolve({ ...received, within, at: now(), sample: sample?.text ?? "" });
    if (holding) held.push(socket);
    else answer(socket);
  }
}

function noteTime(complete: number): void {
  const at = now();
  if (received.firstAt === 0) received.firstAt = at;
  for (const span of SPANS) if (at < received.firstAt + span) within[span] += complete;
}

function keepSample(socket: Socket<Connection>, chunk: Buffer): void {
  sample ??= { socket, text: "" };
  if (sample.socket === socket) sample.text += chunk.toString();
}

function answer(socket: Socket<Connection>): void {
  const written = socket.write(ANSWER);
  // A contender that was ended leaves sockets on which nobody listens any more.
  if (written >= 0 && written < ANSWER.length) throw new Error("an answer was not written at once");
}
