import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";

/** How lists are written, by the word for it. */
export const LIST_TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  json: "application/json",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
};

/** What a list is sent as. By the end of the file's name, `.gz` apart, unless the format is said. */
export function headersFor(file: string, said: string | undefined): Readonly<Record<string, string>> | Complaint {
  const isGzip = file.endsWith(".gz");
  const word = said ?? /\.([a-z]+)(?:\.gz)?$/i.exec(file)?.[1]?.toLowerCase() ?? "";
  const type = Object.hasOwn(LIST_TYPES, word) ? LIST_TYPES[word] : undefined;
  if (type === undefined) {
    const words = Object.keys(LIST_TYPES).join(", ");
    return {
      code: EXIT.usage,
      message: `how ${file === "-" ? "standard input" : file} is written, say with --format: ${words}`,
    };
  }
  return { "Content-Type": type, ...(isGzip && { "Content-Encoding": "gzip" }) };
}
