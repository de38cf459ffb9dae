/** The programs that send calls. A process of its own; see `LoadCommands` for what it can be told. */
import { createFraming } from "./framing.ts";
import { now, obey } from "./processes.ts";
import { createRequest, type LoadRequest, type RequestKind } from "./requests.ts";

export type LoadCommands = {
  /**
   * Each connection sends its next request as soon as the last one is answered, until so many requests were sent, or
   * for so long (in ms). Resolves when all that was sent is answered.
   */
  flood(load: FloodLoad): Promise<Flooded>;
  /** How many requests of the flood have been answered until now. */
  progress(): number;
  /** Sends so many requests a second, whether or not the earlier ones are answered. */
  pace(load: Load & { readonly perSecond: number; readonly seconds: number }): Promise<Paced>;
};

type Load = RequestKind & { readonly port: number; readonly connections: number };

/** `timed`: whether to say how long each acknowledgement took. */
type FloodLoad = Load & { readonly requests: number; readonly longest?: number; readonly timed?: boolean };
/** How many were answered, when the first one was sent, and when the last answer came. */
export type Flooded = { readonly requests: number; readonly startedAt: number; readonly endedAt: number } & Paced;
/** How long each acknowledgement took, in ms. */
type Paced = { readonly latencies: readonly number[] };

let answered = 0;

obey<LoadCommands>({ flood, pace, progress: () => answered });

async function flood({ requests, longest = Number.POSITIVE_INFINITY, timed, ...load }: FloodLoad): Promise<Flooded> {
  const done = Promise.withResolvers<void>();
  const latencies: number[] = [];
  let sent = 0;
  answered = 0;
  const senders = await openSenders(load, {
    answered(sender) {
      answered += 1;
      if (timed) latencies.push(now() - sender.sentAt);
      sendNext(sender);
      if (answered === sent) done.resolve();
    },
    failed: done.reject,
  });
  const startedAt = now();
  senders.forEach(sendNext);
  await done.promise.finally(() => close(senders));
  return { requests: answered, startedAt, endedAt: now(), latencies };

  function sendNext(sender: Sender): void {
    if (sent === requests || now() - startedAt > longest) return;
    sent += 1;
    send(sender);
  }
}

async function pace({ perSecond, seconds, ...load }: Load & { perSecond: number; seconds: number }): Promise<Paced> {
  const done = Promise.withResolvers<void>();
  const total = perSecond * seconds;
  const latencies: number[] = [];
  const idle: Sender[] = [];
  /** When calls were due that no connection was free for: their latency has the time that they waited. */
  const late: number[] = [];
  const senders = await openSenders(load, {
    answered(sender) {
      latencies.push(now() - sender.sentAt);
      const dueAt = late.shift();
      if (dueAt === undefined) idle.push(sender);
      else send(sender, dueAt);
      if (latencies.length === total) done.resolve();
    },
    failed: done.reject,
  });
  idle.push(...senders);
  const startedAt = now();
  let sent = 0;
  const timer = setInterval(() => {
    const due = Math.min(total, Math.ceil(((now() - startedAt) / 1_000) * perSecond));
    for (; sent < due; sent += 1) sendNext();
  }, 1);
  await done.promise.finally(() => {
    clearInterval(timer);
    close(senders);
  });
  return { latencies };

  function sendNext(): void {
    const sender = idle.shift();
    if (sender) send(sender);
    else late.push(now());
    if (late.length > perSecond * MOST_LATE) done.reject(new Error("the server cannot keep this pace"));
  }
}

/** In seconds of calls. A disk that others use as well may stop for a few. */
const MOST_LATE = 10;

type Sender = { readonly connection: Connection; readonly request: LoadRequest; sentAt: number };

type SenderEvents = { answered(sender: Sender): void; failed(error: Error): void };

function openSenders({ port, connections, ...kind }: Load, events: SenderEvents): Promise<Sender[]> {
  const opening = Array.from({ length: connections }, async () => {
    const connection = await connect({ port, answered: () => events.answered(sender), failed: events.failed });
    const sender: Sender = { connection, request: createRequest(kind), sentAt: 0 };
    return sender;
  });
  return Promise.all(opening);
}

function send(sender: Sender, dueAt = now()): void {
  sender.request.renew();
  sender.sentAt = dueAt;
  sender.connection.send(sender.request.bytes);
}

function close(senders: readonly Sender[]): void {
  for (const { connection } of senders) connection.close();
}

/** A kept connection that has at most one request under way. */
type Connection = {
  /** The bytes must stay as they are until the answer is here. */
  send(bytes: Buffer): void;
  close(): void;
};

type ConnectionOptions = {
  readonly port: number;
  /** The answer is complete: a 200. */
  readonly answered: () => void;
  /** Another answer, or the connection broke. */
  readonly failed: (error: Error) => void;
};

/** Connects to a server on this machine, by raw socket: an HTTP client would cost as much as the server. */
async function connect({ port, answered, failed }: ConnectionOptions): Promise<Connection> {
  const push = createFraming(requireOk);
  let unsent: Buffer | null = null;
  let closed = false;
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      data(_socket, chunk) {
        try {
          if (push(chunk) > 0) answered();
        } catch (error) {
          failed(error as Error);
        }
      },
      drain: () => flush(),
      close() {
        if (!closed) failed(new Error("the server has closed the connection"));
      },
      error: (_socket, error) => failed(error),
    },
  });
  return {
    send(bytes) {
      unsent = bytes;
      flush();
    },
    close() {
      closed = true;
      socket.end();
    },
  };

  function flush(): void {
    if (unsent === null) return;
    const written = socket.write(unsent);
    unsent = written < unsent.length ? unsent.subarray(Math.max(0, written)) : null;
  }
}

const STATUS_AT = "HTTP/1.1 ".length;
const OK = Buffer.from("200");

function requireOk(bytes: Buffer, from: number): void {
  const status = from + STATUS_AT;
  if (bytes.compare(OK, 0, OK.length, status, status + OK.length) === 0) return;
  throw new Error(`the server answered ${bytes.toString("utf8", status)}`);
}
