import { KB } from "../model/units.ts";

/** As much of an answer as a log line can use. */
const KEPT = 1 * KB;

/** A rest up to here is read and dropped, so that the connection can be used again; a longer one closes it. */
const DRAINED = 16 * KB;

/**
 * Reads the first KB of an answer's body as text. It is bad text if the body was compressed: nothing is unpacked.
 * Ends when the rest is drained or cancelled, or when the answer is aborted; what had arrived by then stays. Never
 * rejects. `length` is the Content-Length, if there is one.
 */
export async function readStart(body: AsyncIterable<Uint8Array>, length: string | null): Promise<string> {
  const most = Number(length) > DRAINED ? KEPT : DRAINED;
  const kept: Uint8Array[] = [];
  let read = 0;
  try {
    for await (const chunk of body) {
      if (read < KEPT) kept.push(chunk.subarray(0, KEPT - read));
      read += chunk.length;
      if (read >= most) break;
    }
  } catch {
    // Aborted or broken off: the status line has said all that counts.
  }
  // A character that was cut in two is left out.
  return new TextDecoder().decode(Buffer.concat(kept), { stream: true });
}
