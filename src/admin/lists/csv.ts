import type { Fault } from "../../model/fault.ts";
import { isFault } from "../../model/fault.ts";
import { type Entry, LONGEST_ENTRY, type Splitter, wrong } from "./records.ts";

/** How the column of the users may be called, whatever its case. */
const USER = ["userid", "user_id", "user", "id"];

/** CSV (RFC 4180) with a header: each entry is an object with `userId`, and `value` if there is such a column. */
export function splitCsv(): Splitter {
  const lines = createLines();
  let columns: Columns | null = null;

  function read(records: readonly Line[]): readonly Entry[] | Fault {
    const entries: Entry[] = [];
    for (const { text, line } of records) {
      const place = `line ${line}`;
      if (text === "") continue;
      const cells = cellsOf(text);
      if (cells === null) return wrong(place, "its quotes do not match");
      if (columns === null) {
        const found = columnsOf(cells, place);
        if (isFault(found)) return found;
        columns = found;
        continue;
      }
      const { user, value, count } = columns;
      if (cells.length !== count) return wrong(place, `it has ${cells.length} columns, and the header has ${count}`);
      entries.push({ value: { userId: cells[user], ...(value !== null && { value: cells[value] }) }, place });
    }
    return entries;
  }

  return {
    push(text) {
      const complete = lines.push(text);
      return isFault(complete) ? complete : read(complete);
    },
    end() {
      const last = lines.end();
      if (isFault(last)) return last;
      const entries = read(last);
      if (isFault(entries)) return entries;
      return columns === null ? wrong("the body", "it has no header") : entries;
    },
  };
}

type Columns = { readonly user: number; readonly value: number | null; readonly count: number };

function columnsOf(header: readonly string[], place: string): Columns | Fault {
  const names = header.map((name) => name.trim().toLowerCase());
  const user = USER.map((name) => names.indexOf(name)).find((index) => index >= 0);
  if (user === undefined) {
    return wrong(place, "the header names no column userId, user_id, user or id");
  }
  const value = names.indexOf("value");
  return { user, value: value < 0 ? null : value, count: names.length };
}

/** `line`: where it begins. */
type Line = { readonly text: string; readonly line: number };

/** Lines that are complete. One that has an open quote goes on in the next. */
function createLines() {
  let rest = "";
  let open = "";
  let line = 0;
  let began = 1;

  function take(part: string): readonly Line[] {
    line += 1;
    if (open === "") began = line;
    const text = open === "" ? part : `${open}\n${part}`;
    if (hasOpenQuote(text)) {
      open = text;
      return [];
    }
    open = "";
    const clean = text.endsWith("\r") ? text.slice(0, -1) : text;
    return [{ text: began === 1 ? clean.replace(/^\uFEFF/, "") : clean, line: began }];
  }

  return {
    push(text: string): readonly Line[] | Fault {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      const complete = parts.flatMap(take);
      const longest = open.length + rest.length;
      return longest > LONGEST_ENTRY
        ? wrong(`line ${line + 1}`, `it is longer than ${LONGEST_ENTRY} characters`)
        : complete;
    },
    end(): readonly Line[] | Fault {
      const last = rest === "" && open === "" ? [] : take(rest);
      return open === "" ? last : wrong(`line ${began}`, "its quotes do not match");
    },
  };
}

function hasOpenQuote(text: string): boolean {
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
