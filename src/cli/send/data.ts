import { MB } from "../../model/units.ts";
import { readTyped } from "../typed-input.ts";
import type { CallParts } from "./call.ts";

/** Far more than the daemon takes for one call: it is for the daemon to refuse it. */
const MOST_BYTES = MB;

/** Reads the whole call that `--data` means: the text itself, `@file`, or `-` for standard input. What is wrong as text. */
export async function readData(said: string | undefined): Promise<CallParts["data"] | string> {
  if (said === undefined) return null;
  if (said !== "-" && !said.startsWith("@")) return { text: said, from: "--data" };
  const path = said === "-" ? null : said.slice(1);
  const from = path ?? "standard input";
  const input = await readTyped(path, { what: "the call", most: MOST_BYTES });
  if (!input.ok) return `cannot read --data ${said}: ${input.why}`;
  const text = decode(input.bytes);
  return text === null ? `cannot use --data ${said}: it is not UTF-8 text` : { text, from };
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
