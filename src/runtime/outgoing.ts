import { createReadStream, fstatSync, openSync } from "node:fs";
import process from "node:process";
import { reasonOf } from "./files.ts";

/** What is to be sent as it is read: its bytes, and how many there will be; null if nobody knows. */
export type Outgoing = {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly size: number | null;
  /** Hears how many bytes are on their way, after each piece. */
  readonly sent: (bytes: number) => void;
};

/** Opens a file or a pipe, or with `path` null standard input. Answers why it cannot; the reason does not repeat the path. */
export function openOutgoing(path: string | null, sent: Outgoing["sent"]): Outgoing | { readonly why: string } {
  if (path === null) return { bytes: process.stdin as AsyncIterable<Uint8Array>, size: null, sent };
  try {
    const fd = openSync(path, "r");
    const stats = fstatSync(fd);
    if (stats.isDirectory()) return { why: "it is a folder" };
    return { bytes: createReadStream(path, { fd }), size: stats.isFile() ? stats.size : null, sent };
  } catch (error) {
    return { why: reasonOf(error, path) };
  }
}

/** Its bytes, counted, until somebody has heard enough. */
export async function* counted({ bytes, sent }: Outgoing, isOver: () => boolean): AsyncGenerator<Uint8Array, void> {
  let total = 0;
  for await (const chunk of bytes) {
    if (isOver()) return;
    yield chunk;
    total += chunk.length;
    sent(total);
  }
}
