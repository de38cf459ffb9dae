import type { Fault } from "../../model/fault.ts";
import { isFault } from "../../model/fault.ts";
import { type Entry, LONGEST_ENTRY, type Splitter, tooLong, untilFault, wrong } from "./records.ts";

/** How the column of the users may be called, whatever its case. */
const USER = ["userid", "user_id", "user", "id"];

/**
 * CSV (RFC 4180) with a header: each entry is an object with `userId`, and `value` if there is such a column. White space around
 * names of columns and userIds is no part of them.
 */
export function splitCsv(): Splitter {
  const lines = createLines();
  let columns: Columns | null = null;

  function read(line: Line | Fault): Entry | Fault | null {
    if (isFault(line)) return line;
    if (line.text === "") return null;
    const place = `line ${line.line}`;
    const cells = cellsOf(line.text);
    if (cells === null) return wrong(place, "its quotes do not match");
    if (columns !== null) return entryOf(cells, columns, place);
    const found = columnsOf(cells, place);
    if (isFault(found)) return found;
    columns = found;
    return null;
  }

  return {
    push: (text) => untilFault(lines.push(text), read),
    end() {
      const entries = untilFault(lines.end(), read);
      return columns === null ? [...entries, wrong("the body", "it has no header")] : entries;
    },
  };
}

function entryOf(cells: readonly string[], { user, value, count }: Columns, place: string): Entry | Fault {
  if (cells.length !== count) return wrong(place, `it has ${cells.length} columns, and the header has ${count}`);
  return { value: { userId: cells[user]?.trim(), ...(value !== null && { value: cells[value] }) }, place };
}

type Columns = { readonly user: number; readonly value: number | null; readonly count: number };

function columnsOf(header: readonly string[], place: string): Columns | Fault {
  const names = header.map((name) => name.trim().toLowerCase());
  const user = USER.map((name) => names.indexOf(name)).find((index) => index >= 0);
  if (user === undefined) {
    return wrong(place, "the header names no column userId, user_id, user or id");
  }
  const value = names.indexOf("value");
  for (const index of [user, value]) {
    if (index < 0 || names.indexOf(names[index] ?? "", index + 1) < 0) continue;
    return wrong(place, `the header has two columns ${names[index]}: which one counts?`);
  }
  return { user, value: value < 0 ? null : value, count: names.length };
}

/** `line`: where it begins. */
type Line = { readonly text: string; readonly line: number };

/** Lines that are complete. One that has an open quote goes on in the next. */
function createLines() {
  let rest = "";
  /** What an open quote has kept from being complete; null if there is none. */
  let open: string | null = null;
  let line = 0;
  let began = 1;

  function take(part: string): Line | Fault | null {
    line += 1;
    if (open === null) began = line;
    const text: string = open === null ? part : `${open}\n${part}`;
    if (text.length > LONGEST_ENTRY) return tooLong(`line ${began}`);
    // What came before is not looked at again: a cell of thousands of lines would take quadratic time.
    open = hasOddQuotes(part) === (open === null) ? text : null;
    if (open !== null) return null;
    const clean = text.endsWith("\r") ? text.slice(0, -1) : text;
    return { text: began === 1 ? clean.replace(/^\uFEFF/, "") : clean, line: began };
  }

  return {
    push(text: string): readonly (Line | Fault)[] {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      const complete = untilFault(parts, take);
      const longest = open === null ? rest.length : open.length + 1 + rest.length;
      return longest > LONGEST_ENTRY ? [...complete, tooLong(`line ${open === null ? line + 1 : began}`)] : complete;
    },
    end(): readonly (Line | Fault)[] {
      const last = rest === "" && open === null ? [] : untilFault([rest], take);
      return open === null ? last : [...last, wrong(`line ${began}`, "its quotes do not match")];
    },
  };
}

function hasOddQuotes(text: string): boolean {
  if (!text.includes('"')) return false;
  return (text.match(/"/g)?.length ?? 0) % 2 === 1;
}

/** Null if a quote stands where none may be. */
function cellsOf(text: string): readonly string[] | null {
  if (!text.includes('"')) return text.split(",");
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^",]*))(,|$)/gy;
  for (;;) {
    const match = cell.exec(text);
    if (match === null) return null;
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === "") return cells;
  }
}
