import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, afterEach, before } from "node:test";
import { type Receiver, startReceiver } from "./receiver.ts";
import { residentBytes } from "./resident.ts";
import { createWaiting, PATIENT } from "./waiting.ts";
import { type Daemon, KEY, makeConfig, makeWorld } from "./world.ts";

/** An answer of the collection API. Its members are what a test expects there. */
export type Answer = {
  readonly status: number;
  readonly code?: string;
  readonly accepted?: number;
  readonly rejected?: readonly Rejected[];
};
export type Rejected = { readonly index: number; readonly code: string; readonly message: string };

/** The daemon, a well receiver behind it, and ways to send it what no client should. */
export type Door = AsyncDisposable & {
  readonly daemon: Daemon;
  readonly receiver: Receiver;
  /** POSTs these bytes with the write key. */
  post(path: string, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends these bytes on a connection of their own, and collects what comes back until the daemon closes it. */
  exchange(bytes: string | Buffer): Promise<string>;
  /** Sends these bytes on a connection of their own, and leaves it open. */
  open(bytes: string): Promise<OpenConnection>;
  /** What the daemon counts under this name and these labels, as they stand in the text of the metrics. */
  metric(series: string): Promise<number>;
};

export type OpenConnection = {
  readonly socket: Socket;
  /** What has come back so far. */
  readonly received: () => string;
  /** Resolves when something like this has come back. */
  readonly until: (pattern: RegExp) => Promise<void>;
};

/**
 * One daemon for all tests of a file. After each of them it takes and delivers a good call, whatever came before; at the
 * end it has answered nothing with 500, has met nothing that it calls a bug, and needs little more memory than at first.
 */
export function doorForAll(): () => Door {
  let door: Door | undefined;
  let tests = 0;
  let memoryAtFirst = 0;
  function get(): Door {
    return door ?? assert.fail("the daemon is not there yet");
  }
  before(async () => {
    door = await startDoor();
    memoryAtFirst = residentBytes(door.daemon.process.pid);
  }, PATIENT);
  afterEach(async () => {
    tests += 1;
    await assertWell(get(), `well-${tests}`);
  }, PATIENT);
  after(async () => {
    await using last = get();
    assert.equal(await last.metric('fairlead_requests_total{code="500"}'), 0);
    assert.doesNotMatch(last.daemon.process.err.join("\n"), /daemon\.unexpected/);
    const grown = residentBytes(last.daemon.process.pid) - memoryAtFirst;
    assert.ok(grown < 150_000_000, `the daemon's memory has grown by ${grown} bytes`);
  }, PATIENT);
  return get;
}

export async function assertWell({ post, receiver }: Door, messageId: string): Promise<void> {
  const answer = await post("/v1/track", JSON.stringify({ userId: "u1", event: "E", messageId }));
  assert.deepEqual(answer, { success: true, accepted: 1, duplicate: 0, status: 200 });
  await receiver.all([messageId]);
}

const AUTHORIZATION = `Basic ${btoa(`${KEY}:`)}`;

/** The head of a request as it goes over the wire, with a Host and the write key. */
export function headOf(requestLine: string, ...headers: readonly string[]): string {
  return `${[requestLine, "Host: localhost", `Authorization: ${AUTHORIZATION}`, ...headers].join("\r\n")}\r\n\r\n`;
}

async function startDoor(): Promise<Door> {
  const all = new AsyncDisposableStack();
  const receiver = all.use(startReceiver());
  const w = all.use(await makeWorld());
  await w.write("config.yaml", makeConfig({ url: receiver.url }));
  const daemon = await w.serve();
  const { port } = new URL(daemon.ingest);
  const open = (bytes: string | Buffer): Promise<OpenConnection> => openConnection(Number(port), bytes);
  return {
    ...{ daemon, receiver, open },
    async post(path, body, headers = {}) {
      const all = { Authorization: AUTHORIZATION, ...headers };
      const response = await fetch(`${daemon.ingest}${path}`, { method: "POST", body, headers: all });
      return { ...((await response.json()) as object), status: response.status };
    },
    async exchange(bytes) {
      const { socket, received } = await open(bytes);
      if (!socket.closed) await once(socket, "close");
      return received();
    },
    async metric(series) {
      const text = await (await fetch(`${daemon.admin}/metrics`)).text();
      const line = text.split("\n").find((line) => line.startsWith(`${series} `));
      return Number(line?.slice(series.length) ?? 0);
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

async function openConnection(port: number, bytes: string | Buffer): Promise<OpenConnection> {
  const socket = connect(port, "127.0.0.1");
  const waiting = createWaiting();
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
    waiting.look();
  });
  // A daemon that hangs up is what some of these tests are about.
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(bytes);
  return {
    socket,
    received: () => text,
    until: (pattern) =>
      waiting.until(
        () => pattern.test(text),
        () => `${pattern} is not in ${text.slice(0, 200)}`,
      ),
  };
}
