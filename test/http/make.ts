/** A body that comes in pieces, when a test says so. */
export type FalseUpload = {
  readonly request: Request;
  send(piece: string | Uint8Array): void;
  finish(): void;
  /** The connection breaks. */
  abort(): void;
  /** Whether the server has said that it wants no more. */
  readonly cancelled: boolean;
};

export function startUpload(headers: Record<string, string> = {}): FalseUpload {
  let controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
    cancel: () => {
      cancelled = true;
    },
  });
  return {
    request: makeRequest(body, headers),
    send: (piece) => controller?.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece),
    finish: () => controller?.close(),
    abort: () => controller?.error(new Error("the connection was closed")),
    get cancelled() {
      return cancelled;
    },
  };
}

type Content = string | Uint8Array | ReadableStream<Uint8Array> | null;

/** A POST of this body; a text or bytes announce their length, a stream does not. */
export function makeRequest(body: Content, headers: Record<string, string> = {}): Request {
  const length = lengthOf(body);
  const all = length === null ? headers : { "content-length": String(length), ...headers };
  // Runtimes want `duplex` for a stream, and their types do not all know it.
  const init: object = { method: "POST", headers: all, body, duplex: "half" };
  return new Request("http://127.0.0.1:8080/", init);
}

function lengthOf(body: Content): number | null {
  if (typeof body === "string") return Buffer.byteLength(body);
  return body instanceof Uint8Array ? body.byteLength : null;
}
