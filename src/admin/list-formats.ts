import { type Fault, fault, isFault } from "../model/fault.ts";

/** One entry of a list, and its place: `line 17`, or `entry 17` of a JSON array. */
export type Entry = { readonly value: unknown; readonly place: string };

/**
 * Splits the text of a list into entries as it arrives. The last item may be a fault that says where the list is wrong. The
 * result does not depend on how the text is cut into pieces.
 */
export type Splitter = {
  push(text: string): readonly (Entry | Fault)[];
  end(): readonly (Entry | Fault)[];
};

/** The most characters of one entry. */
export const LONGEST_ENTRY = 64 * 1_024;

function tooLong(place: string): Fault {
  return wrong(place, `it is longer than ${LONGEST_ENTRY} characters`);
}

export function wrong(place: string, why: string): Fault {
  return fault("invalid_request", `${place}: ${why}`);
}

/** Yields items up to and including the first fault. */
function untilFault<Item, Found extends object>(
  items: readonly Item[],
  read: (item: Item) => Found | Fault | null,
): readonly (Found | Fault)[] {
  const all: (Found | Fault)[] = [];
  for (const item of items) {
    const found = read(item);
    if (found !== null) all.push(found);
    if (found !== null && isFault(found)) break;
  }
  return all;
}

function parseEntry(text: string, place: string): Entry | Fault {
  try {
    const value: unknown = JSON.parse(text);
    return { value: MAY_LOSE_DIGITS.test(text) ? JSON.parse(keepDigits(text)) : value, place };
  } catch {
    return wrong(place, "it is not JSON");
  }
}

/** Whether a number in this text may have more digits than a double keeps. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE]/;

/** Replaces numbers that would be rounded by objects that hold their digits. */
function keepDigits(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') || isExact(token) ? token : JSON.stringify({ [DIGITS]: token }),
  );
}

const DIGITS = "\u0000digits";

/** The digits of a number that would have been rounded; null for everything else. */
export function digitsOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !(DIGITS in value)) return null;
  return String(value[DIGITS]);
}

/** Whether a number keeps all of its digits. Beyond the range of a double it becomes infinite, which is refused elsewhere. */
function isExact(number: string): boolean {
  const read = Number(number);
  return !Number.isFinite(read) || significant(number) === significant(String(read));
}

/** The digits without zeros at either end, as `123e-2`. */
function significant(number: string): string {
  const [, whole = "", part = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : `${short}e${Number(exponent) - part.length + digits.length - short.length}`;
}

/** A JSON text in each line; empty lines are skipped. */
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

/** The state of the array splitter. */
type Scan = {
  /** Where the scan is, relative to the array. */
  state: "before" | "inside" | "after";
  /** The text of the incomplete entry. */
  rest: string;
  at: number;
  /** The number of open brackets within the entry. */
  depth: number;
  quoted: boolean;
  /** The number of entries found so far. */
  entries: number;
  /** Whether the last token was a comma, so that an entry must follow. */
  wanting: boolean;
  readonly found: Entry[];
};

/** One JSON array. Entries are found by their brackets and quotes, and parsed one by one. */
export function splitJsonArray(): Splitter {
  const scan: Scan = {
    state: "before",
    rest: "",
    at: 0,
    depth: 0,
    quoted: false,
    entries: 0,
    wanting: false,
    found: [],
  };
  return {
    push(text) {
      scan.rest += text;
      const fault = scanText(scan);
      const found = scan.found.splice(0);
      return fault === null ? found : [...found, fault];
    },
    end: () => (scan.state === "after" ? [] : [wrong("the body", "its JSON array is incomplete")]),
  };
}

function scanText(scan: Scan): Fault | null {
  for (; scan.at < scan.rest.length; scan.at += 1) {
    const character = scan.rest[scan.at] ?? "";
    if (scan.quoted) {
      // The next character is escaped, even if it is in the next piece.
      if (character === "\\") scan.at += 1;
      else if (character === '"') scan.quoted = false;
      continue;
    }
    const fault = scan.state === "inside" ? inside(scan, character) : outside(scan, character);
    if (fault) return fault;
  }
  return scan.rest.length > LONGEST_ENTRY ? tooLong(placeOf(scan.entries + 1)) : null;
}

function outside(scan: Scan, character: string): Fault | null {
  if (/[\s\uFEFF]/.test(character)) drop(scan);
  else if (scan.state === "after") return wrong("the body", "there is more text after its array");
  else if (character !== "[") return wrong("the body", "it is not a JSON array");
  else {
    scan.state = "inside";
    drop(scan);
  }
  return null;
}

function inside(scan: Scan, character: string): Fault | null {
  if (character === '"') scan.quoted = true;
  else if (character === "[" || character === "{") scan.depth += 1;
  else if (scan.depth === 0 && (character === "," || character === "]")) return close(scan, character);
  else if (character === "]" || character === "}") scan.depth -= 1;
  return null;
}

function close(scan: Scan, character: string): Fault | null {
  const place = placeOf(scan.entries + 1);
  if (scan.at > LONGEST_ENTRY) return tooLong(place);
  const text = scan.rest.slice(0, scan.at).trim();
  drop(scan);
  if (text === "" && (character === "," || scan.wanting)) return wrong(place, "it is not JSON");
  if (character === "]") scan.state = "after";
  scan.wanting = character === ",";
  if (text === "") return null;
  scan.entries += 1;
  const entry = parseEntry(text, place);
  if (isFault(entry)) return entry;
  scan.found.push(entry);
  return null;
}

/** Drops the text up to and including this character. */
function drop(scan: Scan): void {
  scan.rest = scan.rest.slice(scan.at + 1);
  scan.at = -1;
}

function placeOf(entry: number): string {
  return `entry ${entry}`;
}

/** Accepted names of the userId column, in any case. */
const USER = ["userid", "user_id", "user", "id"];

/**
 * CSV (RFC 4180) with a header. Each entry is an object with `userId`, and `value` if there is such a column. White space
 * around column names and userIds is ignored.
 */
export function splitCsv(): Splitter {
  const lines = createLines();
  let columns: Columns | null = null;

  function read(line: Line | Fault): Entry | Fault | null {
    if (isFault(line)) return line;
    if (line.text === "") return null;
    const place = `line ${line.line}`;
    const cells = cellsOf(line.text);
    if (cells === null) return wrong(place, "its quotes are unbalanced");
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
    return wrong(place, "the header has no column userId, user_id, user or id");
  }
  const value = names.indexOf("value");
  for (const index of [user, value]) {
    if (index < 0 || names.indexOf(names[index] ?? "", index + 1) < 0) continue;
    return wrong(place, `the header has two columns ${names[index]}: which one counts?`);
  }
  return { user, value: value < 0 ? null : value, count: names.length };
}

/** `line`: the number of its first line. */
type Line = { readonly text: string; readonly line: number };

/** Splits text into complete lines. A line with an open quote continues in the next one. */
function createLines() {
  let rest = "";
  /** The lines since an open quote; null if no quote is open. */
  let open: string | null = null;
  let line = 0;
  let began = 1;

  function addPart(part: string): Line | Fault | null {
    line += 1;
    if (open === null) began = line;
    const text: string = open === null ? part : `${open}\n${part}`;
    if (text.length > LONGEST_ENTRY) return tooLong(`line ${began}`);
    // Only the new part is scanned: scanning a cell of thousands of lines each time would take quadratic time.
    open = hasOddQuotes(part) === (open === null) ? text : null;
    if (open !== null) return null;
    const clean = text.endsWith("\r") ? text.slice(0, -1) : text;
    return { text: began === 1 ? clean.replace(/^\uFEFF/, "") : clean, line: began };
  }

  return {
    push(text: string): readonly (Line | Fault)[] {
      const parts = (rest + text).split("\n");
      rest = parts.pop() ?? "";
      const complete = untilFault(parts, addPart);
      const longest = open === null ? rest.length : open.length + 1 + rest.length;
      return longest > LONGEST_ENTRY ? [...complete, tooLong(`line ${open === null ? line + 1 : began}`)] : complete;
    },
    end(): readonly (Line | Fault)[] {
      const last = rest === "" && open === null ? [] : untilFault([rest], addPart);
      return open === null ? last : [...last, wrong(`line ${began}`, "its quotes are unbalanced")];
    },
  };
}

function hasOddQuotes(text: string): boolean {
  if (!text.includes('"')) return false;
  return (text.match(/"/g)?.length ?? 0) % 2 === 1;
}

/** Null if a quote is misplaced. */
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
