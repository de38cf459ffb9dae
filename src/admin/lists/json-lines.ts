import type { Fault } from "../../model/fault.ts";
import { allOrFault, type Entry, LONGEST_ENTRY, parseEntry, type Splitter, wrong } from "./records.ts";

/** A JSON text in each line; empty lines are passed over. */
export function splitJsonLines(): Splitter {
  let rest = "";
  let lines = 0;
  return {
    push(text) {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      const entries = allOrFault(parts.flatMap(parse));
      return rest.length > LONGEST_ENTRY
        ? wrong(`line ${lines + 1}`, `it is longer than ${LONGEST_ENTRY} characters`)
        : entries;
    },
    end: () => allOrFault(parse(rest)),
  };

  function parse(line: string): readonly (Entry | Fault)[] {
    lines += 1;
    const text = lines === 1 ? line.replace(/^\uFEFF/, "") : line;
    return text.trim() === "" ? [] : [parseEntry(text, `line ${lines}`)];
  }
}
