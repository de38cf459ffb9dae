import type { Fault } from "../../model/fault.ts";
import { type Entry, LONGEST_ENTRY, parseEntry, type Splitter, tooLong, untilFault } from "./records.ts";

/** A JSON text in each line; empty lines are passed over. */
export function splitJsonLines(): Splitter {
  let rest = "";
  let lines = 0;
  return {
    push(text) {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      const entries = untilFault(parts, parse);
      return rest.length > LONGEST_ENTRY ? [...entries, tooLong(`line ${lines + 1}`)] : entries;
    },
    end: () => untilFault([rest], parse),
  };

  function parse(line: string): Entry | Fault | null {
    lines += 1;
    if (line.length > LONGEST_ENTRY) return tooLong(`line ${lines}`);
    const text = lines === 1 ? line.replace(/^\uFEFF/, "") : line;
    return text.trim() === "" ? null : parseEntry(text, `line ${lines}`);
  }
}
