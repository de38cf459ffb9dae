import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import process from "node:process";
import { formatSize, KB } from "../model/units.ts";
import { reasonOf } from "./file-error.ts";

/** What was read, byte for byte, or why it could not be; the reason does not repeat the path. */
export type Input = { readonly ok: true; readonly bytes: Uint8Array } | { readonly ok: false; readonly why: string };

/** Reads a file or a pipe to its end, or with `path` null standard input. Refuses more than `most` bytes. */
export async function readInput(path: string | null, most: number): Promise<Input> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const stream = path === null ? process.stdin : createReadStream(path);
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      if (length > most) return { ok: false, why: `it is larger than ${formatSize(most)}` };
      chunks.push(chunk);
    }
  } catch (error) {
    return { ok: false, why: path === null ? String(error) : reasonOf(error, path) };
  }
  return { ok: true, bytes: Buffer.concat(chunks) };
}

/** Reads what a person types, up to the end of the line. Null if standard input ends before. */
export async function readLine(): Promise<string | null> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8") as AsyncIterable<string>) {
    text += chunk;
    if (text.includes("\n")) return text.slice(0, text.indexOf("\n"));
  }
  return null;
}

/** Whether a person would have to type what is read from standard input. */
export function isInputTerminal(): boolean {
  return process.stdin.isTTY === true;
}

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

type Opened = { readonly ok: true; readonly source: ByteSource } | { readonly ok: false; readonly why: string };

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
