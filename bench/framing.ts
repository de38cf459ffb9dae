const EMPTY = Buffer.alloc(0);
const HEAD_END = Buffer.from("\r\n\r\n");

/** Sees the head of each message: the bytes it is in, and where in them it begins and ends. */
export type SeeHead = (bytes: Buffer, from: number, to: number) => void;

/**
 * Cuts what comes over one connection into HTTP/1.1 messages: a head, and as many bytes as its Content-Length says.
 * Works for requests and answers alike, several in a chunk or one in several. Bodies are passed over unread. The
 * function that it answers takes a chunk, and says how many messages were completed by it; it throws at a message
 * without Content-Length.
 */
export function createFraming(seeHead: SeeHead): (chunk: Buffer) => number {
  /** Of a head that is not complete yet. */
  let begun: Buffer = EMPTY;
  /** Bytes of the current body that are still to come. */
  let missing = 0;

  return function push(chunk) {
    const bytes = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
    begun = EMPTY;
    let complete = 0;
    let at = 0;
    while (at < bytes.length) {
      if (missing === 0) {
        const end = bytes.indexOf(HEAD_END, at);
        // A copy: the chunk's memory is lent.
        if (end < 0) begun = Buffer.from(bytes.subarray(at));
        if (end < 0) return complete;
        seeHead(bytes, at, end);
        missing = contentLength(bytes, at, end);
        at = end + HEAD_END.length;
      }
      const taken = Math.min(missing, bytes.length - at);
      missing -= taken;
      at += taken;
      if (missing === 0) complete += 1;
    }
    return complete;
  };
}

function contentLength(bytes: Buffer, from: number, to: number): number {
  const head = bytes.toString("latin1", from, to);
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
  if (length === undefined) throw new Error(`a message without Content-Length:\n${head}`);
  return Number(length);
}
