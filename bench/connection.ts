import { createFraming } from "./framing.ts";

/** A kept connection that has at most one request under way. */
export type Connection = {
  /** The bytes must stay as they are until the answer is here. */
  send(bytes: Buffer): void;
  close(): void;
};

export type ConnectionOptions = {
  readonly port: number;
  /** The answer is complete: a 200. */
  readonly answered: () => void;
  /** Another answer, or the connection broke. */
  readonly failed: (error: Error) => void;
};

/** Connects to a server on this machine, by raw socket: an HTTP client would cost as much as the server. */
export async function connect({ port, answered, failed }: ConnectionOptions): Promise<Connection> {
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
