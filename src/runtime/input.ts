import { open } from "node:fs/promises";
import process from "node:process";
import { formatSize, KB } from "../model/units.ts";
import { reasonOf } from "./file-error.ts";

/** The bytes, or why they cannot be read; the reason does not repeat the path. */
export type Input = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly why: string };

/** Reads a file or a pipe to its end, or with `path` null standard input. Refuses more than `most` bytes. */
export async function readInput(path: string | null, most: number): Promise<Input> {
  const opened = await openBytes(path);
  if (!opened.ok) return opened;
  try {
    const bytes = await collect(opened.source.pieces, most);
    return bytes === null ? { ok: false, why: `it is larger than ${formatSize(most)}` } : { ok: true, bytes };
  } catch (error) {
    return { ok: false, why: path === null ? String(error) : reasonOf(error, path) };
  } finally {
    await opened.source.close();
  }
}

/** All bytes; null if there are more than `most`. */
export async function collect(pieces: AsyncIterable<Uint8Array>, most: number): Promise<Buffer | null> {
  const all: Uint8Array[] = [];
  let length = 0;
  for await (const piece of pieces) {
    length += piece.length;
    // Leaving the loop closes the stream.
    if (length > most) return null;
    all.push(piece);
  }
  return Buffer.concat(all);
}

/** Reads a line that a person types. Null if standard input ends before the end of the line. */
export async function readLine(): Promise<string | null> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  return null;
}

/** Whether standard input is a terminal, where a person types. */
export function isInputTerminal(): boolean {
  return process.stdin.isTTY === true;
}

/** A file or a pipe that is read piece by piece, once. */
export type ByteSource = {
  /** In bytes, when it was opened; null for a pipe. */
  readonly size: number | null;
  /** Rejects when it cannot be read. */
  readonly pieces: AsyncIterable<Uint8Array>;
  close(): Promise<void>;
};

type Opened = { readonly ok: true; readonly source: ByteSource } | { readonly ok: false; readonly why: string };

const PIECE_BYTES = 256 * KB;

/** Opens a file or a named pipe, or with `path` null standard input. The reason does not repeat the path. */
export async function openBytes(path: string | null): Promise<Opened> {
  if (path === null) return { ok: true, source: pipe(process.stdin as AsyncIterable<Uint8Array>) };
  try {
    const file = await open(path);
    const stats = await file.stat();
    if (stats.isDirectory()) {
      await file.close();
      return { ok: false, why: "it is a folder" };
    }
    const pieces = file.createReadStream({ highWaterMark: PIECE_BYTES });
    if (!stats.isFile()) return { ok: true, source: pipe(pieces) };
    return { ok: true, source: { size: stats.size, pieces, close: () => file.close() } };
  } catch (error) {
    return { ok: false, why: reasonOf(error, path) };
  }
}

/** Never closed: that would wait for the program that writes to it. */
function pipe(pieces: AsyncIterable<Uint8Array>): ByteSource {
  return { size: null, pieces, close: async () => {} };
}
