import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createWaiting } from "../waiting.ts";

/**
 * Stands between a client and the daemon, and passes on the bytes of each connection as they are. Some clients give up
 * after half a second: here an outage is measured in what the client has met of it, not in time.
 *
 * - Guarded, at first: each answer of the daemon waits until the test lets it pass.
 * - Open: answers pass by themselves.
 * - Shut: no answer passes any more, and the daemon can be stopped, which breaks all connections. The first new one is
 *   broken as well, as if nobody were there, and those after it wait: a busy machine must not use up a client's patience.
 */
export type Gate = AsyncDisposable & {
  /** What the client takes for the daemon. */
  readonly url: string;
  /** The oldest answer that waits. */
  answer(): Promise<Answer>;
  open(daemon: string): void;
  shut(): void;
  /** Resolves when somebody has come to the shut gate and was sent away. */
  refused(): Promise<void>;
};

export type Answer = { readonly status: number; pass(): void };

type State =
  | { readonly kind: "guarded" | "open"; readonly daemon: string }
  | { readonly kind: "shut"; refused: number; readonly opened: PromiseWithResolvers<string> };

export async function startGate(daemon: string): Promise<Gate> {
  const waiting = createWaiting();
  const sockets = new Set<Socket>();
  let state: State = { kind: "guarded", daemon };
  const held = new Set<Answer>();
  // Nobody catches, and nothing throws: what becomes of a connection is in its events.
  const server = createServer((client) => void take(track(client))).listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async answer() {
      const describe = (): string => "the daemon has given no answer";
      await waiting.until(() => held.size > 0, describe);
      const [oldest] = held;
      return oldest ?? assert.fail("it was just there");
    },
    open(daemon) {
      if (state.kind === "shut") state.opened.resolve(daemon);
      state = { kind: "open", daemon };
      for (const answer of held) answer.pass();
    },
    shut() {
      state = { kind: "shut", refused: 0, opened: Promise.withResolvers() };
      for (const answer of held) answer.pass();
    },
    refused() {
      const describe = (): string => "nobody has come to the shut gate";
      return waiting.until(() => state.kind === "shut" && state.refused > 0, describe);
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  function track(socket: Socket): Socket {
    sockets.add(socket);
    // A connection that breaks is what some of these tests are about.
    return socket.on("error", () => {}).on("close", () => sockets.delete(socket));
  }

  async function take(client: Socket): Promise<void> {
    if (state.kind !== "shut") return join(client, state.daemon);
    state.refused += 1;
    waiting.look();
    if (state.refused === 1) client.destroy();
    else join(client, await state.opened.promise);
  }

  function join(client: Socket, daemon: string): void {
    const upstream = track(connect(Number(new URL(daemon).port), "127.0.0.1"));
    upstream.on("error", () => client.destroy()).on("end", () => client.end());
    client.on("close", () => upstream.destroy());
    client.pipe(upstream);
    upstream.on("data", (bytes: Buffer) => {
      const [, status] = /^HTTP\/1\.1 (\d+)/.exec(bytes.toString("latin1", 0, 12)) ?? [];
      if (state.kind !== "guarded" || status === undefined) return pass(client, bytes);
      // One after another: of the rest nothing is read until this has passed.
      upstream.pause();
      const answer: Answer = {
        status: Number(status),
        pass() {
          held.delete(answer);
          pass(client, bytes);
          upstream.resume();
        },
      };
      held.add(answer);
      waiting.look();
    });
  }

  function pass(client: Socket, bytes: Buffer): void {
    if (state.kind !== "shut") client.write(bytes);
  }
}
