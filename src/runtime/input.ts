import { createReadStream } from "node:fs";
import process from "node:process";
import { formatSize } from "../model/units.ts";
import { reasonOf } from "./files.ts";

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
