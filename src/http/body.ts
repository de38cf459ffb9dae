import { gunzipSync } from "node:zlib";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { type At, formatDuration, formatSize, MB, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { isGzip } from "./request.ts";

/** Reads request bodies, with limits on the size and duration of each and on the total size. */
export type Bodies = {
  /**
   * Answers the text of a body of at most `limit` bytes, decompressed if it is gzip-compressed. Faults:
   * `body_too_large`, `body_too_slow`, `body_incomplete`, `too_many_bodies`, `invalid_encoding`,
   * `unsupported_media_type`.
   */
  read(request: Request, limit: number): Promise<string | Fault>;
};

/** In bytes. Parsing a hostile body takes up to fifty times its size until the next garbage collection. */
const LARGE = MB;

/** `freeMemory` is called before a large body is handed out. */
export function createBodies(clock: Clock, freeMemory: () => void = () => {}): Bodies {
  const uploads = createUploads(clock);
  return {
    read(request, limit) {
      const announced = Number(request.headers.get("content-length") ?? Number.NaN);
      if (announced > limit) return Promise.resolve(tooLarge(limit));
      const isAnnounced = !Number.isNaN(announced);
      return uploads.receive(isAnnounced ? announced : limit, {
        // The server cuts off bytes beyond the announced length. Reading `request.body` would create a stream, which costs
        // several times as much.
        start: () => (isAnnounced ? request.arrayBuffer() : receiveChunks(request, limit)),
        finish(bytes) {
          const text = isFault(bytes) ? bytes : decode(bytes, request, limit);
          if (typeof text === "string" && text.length > LARGE) freeMemory();
          return text;
        },
      });
    },
  };
}

type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

function incomplete(): Fault {
  return fault("body_incomplete", "the connection was closed before the body was complete");
}

async function receiveChunks(request: Request, limit: number): Promise<Bytes | Fault> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > limit) return tooLarge(limit);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Bytes, request: Request, limit: number): string | Fault {
  const gzip = isGzip(request);
  if (gzip === false) return toText(bytes);
  if (gzip !== true) return gzip;
  const inflated = inflate(bytes, limit);
  return isFault(inflated) ? inflated : toText(inflated);
}

/** Stops at the limit, however far a small body would inflate. */
function inflate(bytes: Bytes, limit: number): Uint8Array<ArrayBuffer> | Fault {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch (error) {
    const tooLong = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    return tooLong ? tooLarge(limit) : fault("invalid_encoding", "the body is not valid gzip");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Refuses invalid UTF-8: replacing it would silently change the client's data. */
function toText(bytes: Bytes): string | Fault {
  try {
    return utf8.decode(bytes);
  } catch {
    return fault("invalid_encoding", "the body is not valid UTF-8");
  }
}

function tooLarge(limit: number): Fault {
  return fault("body_too_large", `the body is larger than ${limit} bytes (${formatSize(limit)}), decompressed`);
}

/** How long a client may take to send its body. */
const DEADLINE: Ms = MINUTE;
/** How often deadlines are checked: one timer serves all bodies. */
const SWEEP: Ms = 5 * SECOND;
/** The announced lengths of all bodies that are not complete yet. */
const MOST_UNFINISHED = 64 * MB;
/** After this time an upload may be cancelled to make room for others. Nearly all bodies are complete at once. */
const FAIR_TIME: Ms = SECOND;

type Upload = {
  readonly startedAt: At;
  readonly size: number;
  readonly answer: (result: Fault) => void;
  isGivenUp: boolean;
};

type Receiving = {
  /** Ends with its connection. */
  readonly start: () => Promise<Bytes | Fault>;
  readonly finish: (bytes: Bytes | Fault) => string | Fault;
};

/**
 * Limits the bodies being received, in time and in total size. A cancelled upload counts until its answer has closed the
 * connection: more of it may arrive before that.
 */
function createUploads(clock: Clock) {
  const uploads = new Set<Upload>();
  let unfinished = 0;
  let leaving = 0;
  let sweeping = false;

  return { receive };

  /** Receives a body of at most `size` bytes. `finish` must not throw. */
  function receive(size: number, { start, finish }: Receiving): Promise<string | Fault> {
    makeRoom(size);
    if (unfinished + size > MOST_UNFINISHED) {
      const tooMany = "too many bodies are being received at once; try again";
      return Promise.resolve(fault("too_many_bodies", tooMany, SECOND));
    }
    unfinished += size;
    // With `then` rather than `await`: this is done for every request, and another promise or two would be noticed.
    return new Promise((answer) => {
      const upload = { startedAt: clock.now(), size, isGivenUp: false, answer };
      function received(bytes: Bytes | Fault): void {
        unfinished -= size;
        uploads.delete(upload);
        if (upload.isGivenUp) leaving -= size;
        else answer(finish(bytes));
      }
      uploads.add(upload);
      watch();
      start().then(received, () => received(incomplete()));
    });
  }

  /** Cancels the oldest upload first: connections that send nothing must not block those that send. */
  function makeRoom(size: number): void {
    for (const upload of uploads) {
      if (unfinished - leaving + size <= MOST_UNFINISHED) return;
      if (upload.startedAt > clock.now() - FAIR_TIME) return;
      giveUp(upload, "the body was too slow while too many others were being received; try again");
    }
  }

  function giveUp(upload: Upload, why: string): void {
    if (!upload.isGivenUp) leaving += upload.size;
    upload.isGivenUp = true;
    upload.answer(fault("body_too_slow", why));
  }

  function watch(): void {
    if (sweeping || uploads.size === 0) return;
    sweeping = true;
    clock.after(SWEEP, sweep);
  }

  function sweep(): void {
    const latest = clock.now() - DEADLINE;
    const why = `the body was not complete after ${formatDuration(DEADLINE)}`;
    for (const upload of uploads) if (upload.startedAt <= latest) giveUp(upload, why);
    sweeping = false;
    watch();
  }
}
