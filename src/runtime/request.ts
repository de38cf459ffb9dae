import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { formatDuration, formatSize, MB, type Ms, SECOND } from "../model/units.ts";
import { type ByteSource, collect } from "./input.ts";
import { replyToError } from "./post-reply.ts";

/** One HTTP request of a command to a daemon. */
export type Ask = {
  /** The daemon: `http://host:port` or `https://host`, with or without a first part of the path, or `unix:/path`. */
  readonly base: string;
  readonly method: string;
  /** With its query, as `/api/status?limit=1`. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text, or a source that is streamed: the answer may then come before all of it is sent. */
  readonly body?: string | Upload;
  /** Gets the body of a 200 piece by piece. Then `text` is empty. */
  readonly receive?: (piece: Uint8Array) => void;
  /** For all of it, from the connection to the last byte of the answer; 10 s when left out. */
  readonly timeout?: Ms;
  /** The largest answer that is accepted, in bytes; 1 MB when left out. */
  readonly maxBytes?: number;
};

/** `sent` is called with the number of bytes sent so far, after each piece. */
type Upload = { readonly source: ByteSource; readonly sent: (bytes: number) => void };

export type Exchange =
  | { readonly kind: "answered"; readonly status: number; readonly headers: Headers; readonly text: string }
  /** Why there is no whole answer, to be written after a colon. `code` is the system's, if there is one. */
  | { readonly kind: "failed"; readonly code: string | null; readonly reason: string };

/**
 * Sends a request to a daemon over TCP or a Unix socket, and reads its whole answer. Never rejects. Redirects are not
 * followed, certificates are checked, and proxies are not used.
 */
export async function request(ask: Ask): Promise<Exchange> {
  const { base, receive, timeout = 10 * SECOND, maxBytes = MB } = ask;
  const deadline = AbortSignal.timeout(timeout);
  try {
    const answer = await open(ask, deadline);
    const status = answer.statusCode ?? 0;
    const headers = headersOf(answer);
    if (receive && status === 200) {
      for await (const piece of answer as AsyncIterable<Uint8Array>) receive(piece);
      return { kind: "answered", status, headers, text: "" };
    }
    const body = await collect(answer, maxBytes);
    if (body) return { kind: "answered", status, headers, text: body.toString() };
    return { kind: "failed", code: null, reason: `the answer is larger than ${formatSize(maxBytes)}` };
  } catch (error) {
    if (deadline.aborted) return { kind: "failed", code: null, reason: `no answer within ${formatDuration(timeout)}` };
    return failed(error, base);
  }
}

/** Resolves when the headers of the answer have arrived. */
async function open({ base, method, path, headers, body }: Ask, signal: AbortSignal): Promise<IncomingMessage> {
  const { url, socketPath } = placeOf(base, path);
  // Imported late: the daemon does not need them, and under Bun they cost 10 MB and 14 ms at the start.
  const http = await (url.protocol === "https:" ? import("node:https") : import("node:http"));
  const size = typeof body === "string" ? Buffer.byteLength(body) : body?.source.size;
  const length = typeof size === "number" ? { "Content-Length": String(size) } : {};
  return new Promise<IncomingMessage>((resolve, reject): unknown => {
    const sent = http.request(url, {
      method,
      signal,
      headers: { ...headers, ...length },
      ...(socketPath !== null && { socketPath }),
      agent: false,
      // Explicit: NODE_TLS_REJECT_UNAUTHORIZED in the environment would switch the check off.
      rejectUnauthorized: true,
    });
    // This listener stays: a later error would otherwise end the process.
    sent.on("error", reject);
    let answered = false;
    sent.on("response", (answer) => {
      answered = true;
      resolve(answer);
    });
    if (body === undefined || typeof body === "string") return sent.end(body);
    const reading = Readable.from(countSent(body, () => answered));
    reading.on("error", (error) => sent.destroy(error));
    reading.pipe(sent);
  });
}

/** Stops reading when the answer has arrived: the daemon needs no more. */
async function* countSent({ source, sent }: Upload, isOver: () => boolean): AsyncGenerator<Uint8Array, void> {
  let total = 0;
  for await (const piece of source.pieces) {
    if (isOver()) return;
    yield piece;
    total += piece.length;
    sent(total);
  }
}

function placeOf(base: string, path: string): { readonly url: URL; readonly socketPath: string | null } {
  if (base.startsWith("unix:"))
    return { url: new URL(path, "http://localhost"), socketPath: base.slice("unix:".length) };
  return { url: new URL(`${base.replace(/\/$/, "")}${path}`), socketPath: null };
}

function headersOf({ headers }: IncomingMessage): Headers {
  const all = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) all.append(name, one);
  }
  return all;
}

function failed(error: unknown, base: string): Exchange {
  const code = error instanceof Error && "code" in error ? String(error.code) : null;
  const ofSocket = base.startsWith("unix:") ? SOCKET_REASONS[code ?? ""] : undefined;
  if (ofSocket !== undefined) return { kind: "failed", code, reason: ofSocket };
  const reply = replyToError(error, NEVER);
  return { kind: "failed", code, reason: "message" in reply ? reply.message : "connection closed before an answer" };
}

const NEVER = new AbortController().signal;

const SOCKET_REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such socket",
  ENOTDIR: "there is no such socket",
  ECONNREFUSED: "connection refused",
  EACCES: "permission denied; only the socket's owner and group may connect: use sudo, or join that group",
};
