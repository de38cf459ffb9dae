/**
 * A server that fails in one way: each batch meets the fault when it comes first, and is taken when it comes again. It
 * notes which calls it has taken, and how often, so that a test can say what each client lost or repeated.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { fixture } from "../runtime/tls.ts";

/** How many calls each client makes, named by their numbers: `0` to `19`. */
export const CALLS = 20;

/** The requests of a batch, and what can be done with each. */
type Exchange = {
  readonly socket: Socket;
  readonly url: string;
  readonly calls: readonly Call[];
  /** Notes the calls as taken, but for these. */
  take(except?: readonly string[]): void;
};

export type Fault = {
  readonly name: string;
  /** What happens to a batch that comes for the first time. */
  readonly meet?: (exchange: Exchange) => void;
  /** What happens to the first connection, in place of TLS that works. */
  readonly tls?: "cut" | "self-signed" | "expired" | "wrong-name";
  /** How long the answer asks the client to wait, at least. */
  readonly askedMs?: number;
  /** A client that waits so long is not done when the test is. */
  readonly endless?: boolean;
  /** The client has to end the first request itself. */
  readonly silent?: boolean;
  readonly version?: "1.0";
};

const limited = (retryAfter?: () => string) => ({
  meet: ({ socket }: Exchange) =>
    answer(socket, "429 Too Many Requests", { headers: retryAfter ? { "Retry-After": retryAfter() } : {} }),
});

const redirected = (status: string) => ({
  meet: ({ socket, url }: Exchange) => answer(socket, status, { headers: { Location: `${url}/v1/elsewhere` } }),
});

const TAKEN = '{"success":true}';

export const FAULTS: readonly Fault[] = [
  { name: "429 with `Retry-After: 5`", ...limited(() => "5"), askedMs: 5_000 },
  // Whole seconds: it may be nearly one less.
  { name: "429 with a date in 5 s", ...limited(() => new Date(Date.now() + 5_000).toUTCString()), askedMs: 4_000 },
  { name: "429 with `Retry-After: soon`", ...limited(() => "soon") },
  { name: "429 with `Retry-After: 99999999`", ...limited(() => "99999999"), askedMs: 300_000, endless: true },
  { name: "429 with `Retry-After: -5`", ...limited(() => "-5") },
  { name: "429 without Retry-After", ...limited() },
  { name: "503", meet: ({ socket }) => answer(socket, "503 Service Unavailable") },
  { name: "connection closed, calls not accepted", meet: ({ socket }) => socket.destroy() },
  { name: "connection closed, calls accepted", meet: (exchange) => takeAndSay(exchange, "") },
  {
    name: "answer cut off in the headers, calls accepted",
    meet: (exchange) => takeAndSay(exchange, "HTTP/1.1 200 OK\r\nContent-Le"),
  },
  { name: "answer cut off in the body, calls accepted", meet: cutBody },
  { name: "answer sent byte by byte, calls accepted", meet: drip },
  { name: "no answer, calls not accepted", meet: () => {}, silent: true },
  { name: "301 Moved Permanently", ...redirected("301 Moved Permanently") },
  { name: "302 Found", ...redirected("302 Found") },
  { name: "307 Temporary Redirect", ...redirected("307 Temporary Redirect") },
  { name: "308 Permanent Redirect", ...redirected("308 Permanent Redirect") },
  {
    name: "200 from a captive portal",
    meet: ({ socket }) => answer(socket, "200 OK", { body: "<h1>Please log in</h1>" }),
  },
  { name: "200 that rejects one call", meet: rejectOne },
  { name: "HTTP/1.0 answer without a length", version: "1.0" },
  { name: "TLS: first connection cut", tls: "cut" },
  { name: "TLS: first certificate self-signed", tls: "self-signed" },
  { name: "TLS: first certificate expired", tls: "expired" },
  { name: "TLS: first certificate for another host name", tls: "wrong-name" },
];

export type Chaos = {
  readonly url: string;
  /** The messageIds under which each call was taken, in order. */
  readonly taken: ReadonlyMap<string, readonly string[]>;
  /** Whether a batch has come again before the time that the server had named. */
  isHasty(): boolean;
  close(): void;
};

type Closers = (() => void)[];

/** `faster`: how many times faster the timers of the client go than those of others. */
export async function startChaos(fault: Fault, faster = 1): Promise<Chaos> {
  const closers: Closers = [];
  const taken = new Map<string, string[]>();
  /** When each batch came first, by its first call. */
  const met = new Map<string, number>();
  /** Timers may go off a little early. */
  const leastMs = ((fault.askedMs ?? 0) / faster) * 0.9;
  let hasty = false;
  let url = "";
  const take = (calls: readonly Call[], except: readonly string[] = []): void => {
    for (const { event, messageId } of calls) {
      if (!except.includes(event)) taken.set(event, [...(taken.get(event) ?? []), messageId]);
    }
  };
  const serve = (socket: Socket): void =>
    onRequests(socket, ({ path, calls }) => {
      const [first] = calls;
      if (path === "/v1/batch" && first && fault.meet && !met.has(first.event)) {
        met.set(first.event, performance.now());
        fault.meet({ socket, url, calls, take: (except) => take(calls, except) });
        return;
      }
      if (first && performance.now() - (met.get(first.event) ?? -Infinity) < leastMs) hasty = true;
      take(calls);
      // A GET has no calls: what a redirect has made of the POST gets a page.
      answer(socket, "200 OK", { body: first ? TAKEN : "<h1>Welcome</h1>", version: fault.version });
    });
  const server = fault.tls ? await serveTls(fault.tls, serve, closers) : createTcpServer(serve);
  const port = await listen(server, closers);
  url = fault.tls ? `https://127.0.0.1:${port}` : `http://127.0.0.1:${port}`;
  const close = (): void => {
    for (const closer of closers) closer();
  };
  return { url, taken, isHasty: () => hasty, close };
}

/** Passes the first connection to a server that fails, and all others to one that does not. */
async function serveTls(
  kind: NonNullable<Fault["tls"]>,
  serve: (socket: Socket) => void,
  closers: Closers,
): Promise<Server> {
  const key = fixture("server.key");
  const good = await listen(createTlsServer({ key, cert: fixture("good.crt") }, serve), closers);
  const cert = kind === "cut" ? "good.crt" : `${kind}.crt`;
  const bad = await listen(createTlsServer({ key, cert: fixture(cert) }, serve), closers);
  let connections = 0;
  return createTcpServer((socket) => {
    connections += 1;
    if (connections === 1 && kind === "cut") {
      // In the middle of the handshake.
      socket.once("data", () => socket.destroy());
      socket.on("error", () => {});
      return;
    }
    const to = connect(connections === 1 ? bad : good, "127.0.0.1");
    for (const [one, other] of [
      [socket, to],
      [to, socket],
    ] as const) {
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
      one.pipe(other);
    }
  });
}

async function listen(server: Server, closers: Closers): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
  });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

type Call = { readonly event: string; readonly messageId: string };
type Request = { readonly path: string; readonly calls: readonly Call[] };

/** Reads one request after the other, each with a Content-Length if it has a body. */
function onRequests(socket: Socket, hear: (request: Request) => void): void {
  let bytes: Buffer = Buffer.alloc(0);
  socket.on("error", () => {});
  socket.on("data", (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (let end = bytes.indexOf("\r\n\r\n"); end !== -1; end = bytes.indexOf("\r\n\r\n")) {
      const head = bytes.subarray(0, end).toString();
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      const whole = end + 4 + length;
      if (bytes.length < whole) return;
      const body = bytes.subarray(end + 4, whole).toString();
      bytes = bytes.subarray(whole);
      hear({ path: head.split(" ")[1] ?? "", calls: body === "" ? [] : JSON.parse(body).batch });
    }
  });
}

type Answered = {
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly version?: "1.0" | undefined;
};

function answer(socket: Socket, status: string, { headers = {}, body = "", version }: Answered = {}): void {
  const all = version ? headers : { ...headers, "Content-Length": String(Buffer.byteLength(body)) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/${version ?? "1.1"} ${status}\r\n${lines.join("")}\r\n${body}`);
  if (version) socket.end();
}

/** The calls are on the disk, but their client does not hear so. */
function takeAndSay({ socket, take }: Exchange, part: string): void {
  take();
  socket.end(part);
}

/** First the head arrives, and then the end: some clients have believed the head by then. */
function cutBody({ socket, take }: Exchange): void {
  take();
  socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${TAKEN.length}\r\n\r\n${TAKEN.slice(0, 9)}`);
  setTimeout(() => socket.end(), 500);
}

function drip({ socket, take }: Exchange): void {
  take();
  const bytes = [...`HTTP/1.1 200 OK\r\nContent-Length: ${TAKEN.length}\r\n\r\n${TAKEN}`];
  const timer = setInterval(() => {
    const next = bytes.shift();
    if (next === undefined || socket.destroyed) clearInterval(timer);
    else socket.write(next);
  }, 5);
}

/** Call 7 is against the rules of this server. */
function rejectOne({ socket, calls, take }: Exchange): void {
  take(["7"]);
  const index = calls.findIndex(({ event }) => event === "7");
  const rejected = { index, messageId: calls[index]?.messageId, code: "invalid_event", message: "not this one" };
  const body = { success: true, rejected: index === -1 ? [] : [rejected] };
  answer(socket, "200 OK", { body: JSON.stringify(body) });
}

/** What a client has reported of its calls. Only ours returns calls. */
export type Told = {
  readonly delivered: readonly string[];
  readonly lost: readonly string[];
  readonly returned: readonly string[];
};

/**
 * What became of the calls, as a cell of the table in docs/send/fairlead-failures.md. A call that was not taken, and of which the client
 * has reported nothing by then, counts as lost silently.
 */
export function summarise({ taken, isHasty }: Chaos, told: Told): string {
  const calls = Array.from({ length: CALLS }, (_, nth) => String(nth));
  const isTaken = (call: string): boolean => taken.has(call);
  const repeated = calls.filter((call) => (taken.get(call) ?? []).length > 1);
  const missing = calls.filter((call) => !isTaken(call));
  const { lost, returned } = told;
  const parts = [
    [missing.filter((call) => returned.includes(call)), "returned"],
    [missing.filter((call) => lost.includes(call)), "lost, reported"],
    [missing.filter((call) => !lost.includes(call) && !returned.includes(call)), "**lost silently**"],
    [calls.filter((call) => isTaken(call) && lost.includes(call)), "arrived, reported as lost"],
    [repeated.filter((call) => new Set(taken.get(call)).size === 1), "repeated"],
    [repeated.filter((call) => new Set(taken.get(call)).size > 1), "**repeated under another id**"],
  ] as const;
  const shown = parts.filter(([some]) => some.length > 0).map(([some, what]) => `${some.length} ${what}`);
  const summary = shown.length === 0 ? "all arrived" : shown.join("; ");
  return isHasty() ? `${summary}, too early` : summary;
}
