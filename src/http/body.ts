import { gunzipSync } from "node:zlib";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { type At, formatDuration, formatSize, MB, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** Reads request bodies, bounded in size, in time, and in their number together. */
export type Bodies = {
  /**
   * Answers the text of a body of at most `limit` bytes, decompressed if it is gzip-compressed. Faults:
   * `body_too_large`, `body_too_slow`, `body_incomplete`, `too_many_bodies`, `invalid_encoding`,
   * `unsupported_media_type`.
   */
  read(request: Request, limit: number): Promise<string | Fault>;
};

/** In bytes: what is made of a hostile body takes up to fifty times as much, until somebody collects it. */
const LARGE = MB;

/** `freeMemory` is called before a large body is handed out. */
export function createBodies(clock: Clock, freeMemory: () => void = () => {}): Bodies {
  const uploads = createUploads(clock);
  return {
    async read(request, limit) {
      const announced = Number(request.headers.get("content-length") ?? Number.NaN);
      if (announced > limit) return tooLarge(limit);
      const size = Number.isNaN(announced) ? limit : announced;
      // The server has made sure that no more comes than was announced. A look at `request.body` would make a stream of it,
      // which costs several times as much.
      const receive = (): Promise<Bytes | Fault> =>
        Number.isNaN(announced)
          ? receiveChunks(request, limit).catch(incomplete)
          : request.arrayBuffer().catch(incomplete);
      const bytes = await uploads.take(size, receive);
      const text = isFault(bytes) ? bytes : decode(bytes, request, limit);
      if (typeof text === "string" && text.length > LARGE) freeMemory();
      return text;
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
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding === "identity" || encoding === "") return toText(bytes);
  if (encoding !== "gzip" && encoding !== "x-gzip") {
    return fault("unsupported_media_type", `Content-Encoding must be gzip or absent (got "${encoding.slice(0, 40)}")`);
  }
  const inflated = inflate(bytes, limit);
  return isFault(inflated) ? inflated : toText(inflated);
}

/** Stops at the limit, however much a small body would inflate to. */
function inflate(bytes: Bytes, limit: number): Uint8Array<ArrayBuffer> | Fault {
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch (error) {
    const tooLong = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    return tooLong ? tooLarge(limit) : fault("invalid_encoding", "the body is not valid gzip");
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** Replacing what is not UTF-8 would change the client's data without a word. */
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
/** How often the deadlines are looked at: one timer serves all bodies. */
const SWEEP: Ms = 5 * SECOND;
/** All bodies that are not complete yet, by the length they announce. */
const MOST_UNFINISHED = 64 * MB;
/** A client that has had so long may have to make way for others. Nearly all bodies are complete at once. */
const FAIR_TIME: Ms = SECOND;

/** Bodies that are on their way, bounded in time, and in how much they may be together. */
type Uploads = {
  /**
   * Waits for a body of at most `size` bytes. `receive` never rejects, and ends when its connection does. Faults:
   * `body_too_slow`, `too_many_bodies`, and those of `receive`.
   */
  take<Received>(size: number, receive: () => Promise<Received | Fault>): Promise<Received | Fault>;
};

type Upload = {
  readonly startedAt: At;
  readonly size: number;
  readonly answer: (result: Fault) => void;
  isGivenUp: boolean;
};

/** What is given up counts until its answer has ended the connection: it may still come in until then. */
function createUploads(clock: Clock): Uploads {
  const uploads = new Set<Upload>();
  let unfinished = 0;
  let leaving = 0;
  let sweeping = false;

  return {
    take(size, receive) {
      makeRoom(size);
      if (unfinished + size > MOST_UNFINISHED) return Promise.resolve(tooMany());
      return inTime(size, receive());
    },
  };

  /** Whoever has taken longest goes first: connections that only wait must not keep out those that send. */
  function makeRoom(size: number): void {
    const latest = clock.now() - FAIR_TIME;
    for (const upload of uploads) {
      if (unfinished - leaving + size <= MOST_UNFINISHED || upload.startedAt > latest) return;
      giveUp(upload, madeWay());
    }
  }

  function giveUp(upload: Upload, why: Fault): void {
    if (!upload.isGivenUp) leaving += upload.size;
    upload.isGivenUp = true;
    upload.answer(why);
  }

  function inTime<Received>(size: number, receiving: Promise<Received | Fault>): Promise<Received | Fault> {
    unfinished += size;
    return new Promise((resolve) => {
      const upload = { startedAt: clock.now(), size, isGivenUp: false, answer: resolve };
      uploads.add(upload);
      watch();
      void receiving.then((received) => {
        unfinished -= size;
        if (upload.isGivenUp) leaving -= size;
        uploads.delete(upload);
        resolve(received);
      });
    });
  }

  function watch(): void {
    if (sweeping || uploads.size === 0) return;
    sweeping = true;
    clock.after(SWEEP, sweep);
  }

  function sweep(): void {
    const latest = clock.now() - DEADLINE;
    for (const upload of uploads) if (upload.startedAt <= latest) giveUp(upload, tooSlow());
    sweeping = false;
    watch();
  }
}

function tooSlow(): Fault {
  return fault("body_too_slow", `the body was not complete after ${formatDuration(DEADLINE)}`);
}

function madeWay(): Fault {
  return fault("body_too_slow", "the body was still coming when too many others were; try again");
}

function tooMany(): Fault {
  return fault("too_many_bodies", "too many bodies are being received at once; try again", SECOND);
}
