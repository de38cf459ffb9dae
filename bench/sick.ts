/**
 * Three receivers that take nothing: one hangs, one refuses connections, one answers 503. A process of its own, so that
 * they cost the healthy one nothing; see `SickCommands` for what it can be told.
 */
import type { Socket, TCPSocketListener } from "bun";
import { createFraming } from "./framing.ts";
import { obey } from "./processes.ts";

export type SickCommands = {
  ports(): SickPorts;
  /** The requests that have come since the last time it was asked. Of those that were refused nobody knows. */
  count(): { readonly hanging: number; readonly unavailable: number };
};

export type SickPorts = { readonly hanging: number; readonly refusing: number; readonly unavailable: number };

type Connection = { readonly push: (chunk: Buffer) => number };

const UNAVAILABLE = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";

const asked = { hanging: 0, unavailable: 0 };

const hanging = listen((_socket, requests) => {
  asked.hanging += requests;
});
const unavailable = listen((socket, requests) => {
  asked.unavailable += requests;
  socket.write(UNAVAILABLE.repeat(requests));
});
// Once it listens no more, the kernel refuses whoever connects.
const refusing = listen(() => {});
refusing.stop();

obey<SickCommands>({
  ports: () => ({ hanging: hanging.port, refusing: refusing.port, unavailable: unavailable.port }),
  count() {
    const { ...since } = asked;
    Object.assign(asked, { hanging: 0, unavailable: 0 });
    return since;
  },
});

function listen(take: (socket: Socket<Connection>, requests: number) => void): TCPSocketListener<Connection> {
  return Bun.listen<Connection>({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      open(socket) {
        socket.data = { push: createFraming(() => {}) };
      },
      data: (socket, chunk) => take(socket, socket.data.push(chunk)),
      // Whoever gives up waiting breaks the connection.
      error() {},
    },
  });
}
