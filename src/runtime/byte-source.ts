import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import process from "node:process";
import { KB } from "../model/units.ts";
import { reasonOf } from "./files.ts";

/** Bytes that are read once, from the first to the last, as many as a piece at a time. */
export type ByteSource = {
  /** In bytes, at this moment; null for a pipe, of which nobody knows, and which cannot be read again. */
  readonly size: number | null;
  /** What comes from this byte on. A pipe has only one start. Rejects when it cannot be read. */
  pieces(from: number): AsyncIterable<Uint8Array>;
  /** The bytes of a file between two places. */
  part(from: number, to: number): Promise<Uint8Array>;
  close(): Promise<void>;
};

export type Opened = { readonly ok: true; readonly source: ByteSource } | { readonly ok: false; readonly why: string };

const PIECE = 256 * KB;

/** Opens a file or a named pipe, or with `path` null standard input. The reason does not repeat the path. */
export async function openBytes(path: string | null): Promise<Opened> {
  if (path === null) return { ok: true, source: pipe(process.stdin as AsyncIterable<Uint8Array>) };
  try {
    const file = await open(path, constants.O_RDONLY);
    const stats = await file.stat();
    if (stats.isFile()) return { ok: true, source: regular(file, stats.size) };
    if (!stats.isDirectory()) return { ok: true, source: pipe(file.createReadStream()) };
    await file.close();
    return { ok: false, why: "it is a folder" };
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

/** It is not closed: that would wait for whoever writes to it. */
function pipe(stream: AsyncIterable<Uint8Array>): ByteSource {
  return { size: null, pieces: () => stream, part: async () => new Uint8Array(), close: async () => {} };
}

function regular(file: FileHandle, size: number): ByteSource {
  return {
    size,
    async *pieces(from) {
      for (let at = from; ; ) {
        const piece = await readPart(file, at, at + PIECE);
        if (piece.length === 0) return;
        at += piece.length;
        yield piece;
      }
    },
    part: (from, to) => readPart(file, from, to),
    close: () => file.close(),
  };
}

/** Shorter where the file ends before. */
async function readPart(file: FileHandle, from: number, to: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(to - from);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}
