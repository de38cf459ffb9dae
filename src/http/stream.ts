import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { formatDuration, formatSize, HOUR, KB, MINUTE, type Ms, SECOND } from "../model/units.ts";

/** How long nothing may come, and how long all of it may take. */
const LONGEST_SILENCE: Ms = MINUTE;
const LONGEST: Ms = HOUR;
/** Bodies that are read at once. Each takes little memory, but time from all others. */
const MOST_AT_ONCE = 4;
/** In bytes: what is decompressed at a time. */
const CHUNK = 64 * KB;

/** Reads request bodies that are too large to be held in memory. */
export type Streams = {
  /**
   * The text of a body of at most `limit` bytes, decompressed if it is gzip-compressed, as it comes in. It is read no faster
   * than it is asked for. A fault is the last piece: `body_too_large`, `body_too_slow`, `body_incomplete`, `too_many_bodies`,
   * `invalid_encoding` or `unsupported_media_type`.
   */
  read(request: Request, limit: number): AsyncGenerator<string | Fault, void>;
};

export function createStreams(clock: Clock): Streams {
  let open = 0;
  return {
    async *read(request, limit) {
      const bytes = bytesOf(request, clock);
      if (isFault(bytes)) return yield bytes;
      if (open >= MOST_AT_ONCE)
        return yield fault("too_many_bodies", "too many lists are being received; try again", SECOND);
      open += 1;
      try {
        yield* decode(bytes, limit);
      } finally {
        open -= 1;
      }
    },
  };
}

type Bytes = AsyncIterable<Uint8Array>;

/** Thrown where bytes are awaited, so that whatever reads them ends. */
class BodyFault extends Error {
  readonly fault: Fault;
  constructor(found: Fault) {
    super(found.message);
    this.fault = found;
  }
}

function bytesOf(request: Request, clock: Clock): Bytes | Fault {
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  const bytes = inTime(request, clock);
  if (encoding === "identity" || encoding === "") return bytes;
  if (encoding === "gzip" || encoding === "x-gzip") return inflate(bytes);
  return fault("unsupported_media_type", `Content-Encoding must be gzip or absent (got "${encoding.slice(0, 40)}")`);
}

async function* inTime({ body }: Request, clock: Clock): AsyncGenerator<Uint8Array, void> {
  if (body === null) return;
  const reader = body.getReader();
  const until = clock.now() + LONGEST;
  try {
    for (;;) {
      const chunk = await within(Math.min(LONGEST_SILENCE, until - clock.now()), reader.read(), clock);
      if (chunk.done) return;
      yield chunk.value;
    }
  } catch (error) {
    if (error instanceof BodyFault) throw error;
    throw new BodyFault(fault("body_incomplete", "the connection was closed before the body was complete"));
  } finally {
    // Whoever still sends need not go on. Nobody waits for it.
    reader.cancel().catch(() => {});
  }
}

async function within<T>(ms: Ms, reading: Promise<T>, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>();
  const why = `nothing of the body has come for ${formatDuration(LONGEST_SILENCE)}, or it took ${formatDuration(LONGEST)}`;
  const cancel = clock.after(Math.max(0, ms), () => late.reject(new BodyFault(fault("body_too_slow", why))));
  // Its end is heard of by whoever reads, not here.
  reading.catch(() => {});
  try {
    return await Promise.race([reading, late.promise]);
  } finally {
    cancel();
  }
}

async function* inflate(bytes: Bytes): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: CHUNK });
  const source = Readable.from(bytes);
  source.on("error", (error) => gunzip.destroy(error));
  try {
    for await (const chunk of source.pipe(gunzip) as AsyncIterable<Uint8Array>) yield chunk;
  } catch (error) {
    if (error instanceof BodyFault) throw error;
    throw new BodyFault(fault("invalid_encoding", "the body is not valid gzip"));
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

async function* decode(bytes: Bytes, limit: number): AsyncGenerator<string | Fault, void> {
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let size = 0;
  try {
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > limit)
        return yield fault("body_too_large", `the body is larger than ${formatSize(limit)}, decompressed`);
      yield utf8.decode(chunk, { stream: true });
    }
    yield utf8.decode();
  } catch (error) {
    yield error instanceof BodyFault ? error.fault : fault("invalid_encoding", "the body is not valid UTF-8");
  }
}
