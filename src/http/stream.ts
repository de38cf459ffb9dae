import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { type Fault, fault } from "../model/fault.ts";
import type { Clock } from "../model/ports.ts";
import { formatDuration, formatSize, HOUR, KB, MINUTE, type Ms, SECOND } from "../model/units.ts";
import { isGzip } from "./request.ts";

/** The longest stall of a body, and its longest duration. */
const LONGEST_SILENCE: Ms = MINUTE;
const LONGEST: Ms = HOUR;
/** Bodies read at once. Each takes little memory, but slows all other requests. */
const MOST_AT_ONCE = 4;
/** Bytes decompressed at a time. */
const CHUNK = 64 * KB;

/** Reads request bodies that are too large to be held in memory. */
export type Streams = {
  /**
   * Yields the text of a body of at most `limit` bytes as it comes in, decompressed if it is gzip-compressed. The body is
   * read no faster than the text is consumed. A fault is the last piece: `body_too_large`, `body_too_slow`,
   * `body_incomplete`, `too_many_bodies`, `invalid_encoding` or `unsupported_media_type`.
   */
  read(request: Request, limit: number): AsyncGenerator<string | Fault, void>;
};

export function createStreams(clock: Clock): Streams {
  let open = 0;
  return {
    async *read(request, limit) {
      const gzip = isGzip(request);
      if (gzip !== true && gzip !== false) return yield gzip;
      if (open >= MOST_AT_ONCE)
        return yield fault("too_many_bodies", "too many lists are being received; try again", SECOND);
      open += 1;
      try {
        const bytes = inTime(request, clock);
        yield* decode(gzip ? inflate(bytes) : bytes, limit);
      } finally {
        open -= 1;
      }
    },
  };
}

type Bytes = AsyncIterable<Uint8Array>;

/** Thrown where bytes are awaited, so that every reader ends. */
class BodyFault extends Error {
  readonly fault: Fault;
  constructor(found: Fault) {
    super(found.message);
    this.fault = found;
  }
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
    // The client does not have to send the rest. Nothing awaits the cancellation.
    reader.cancel().catch(() => {});
  }
}

async function within<T>(ms: Ms, reading: Promise<T>, clock: Clock): Promise<T> {
  const late = Promise.withResolvers<never>();
  const why = `no part of the body came for ${formatDuration(LONGEST_SILENCE)}, or it took more than ${formatDuration(LONGEST)}`;
  const cancel = clock.after(Math.max(0, ms), () => late.reject(new BodyFault(fault("body_too_slow", why))));
  // The race below may be over when this rejects.
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
