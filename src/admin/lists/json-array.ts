import { type Fault, isFault } from "../../model/fault.ts";
import { type Entry, LONGEST_ENTRY, parseEntry, type Splitter, tooLong, wrong } from "./records.ts";

/** Where a reader of an array is. */
type Scan = {
  /** `before` the array, `inside`, or `after` it. */
  state: "before" | "inside" | "after";
  /** What belongs to the entry that is not complete, and how much of it was looked at. */
  rest: string;
  at: number;
  /** Of brackets within the entry. */
  depth: number;
  quoted: boolean;
  /** How many entries there were. */
  entries: number;
  /** Whether a comma was the last thing, so that an entry has to follow. */
  wanting: boolean;
  readonly found: Entry[];
};

/** One JSON array. Its entries are found by their brackets and quotes, and parsed one by one. */
export function splitJsonArray(): Splitter {
  const scan: Scan = {
    ...{ state: "before", rest: "", at: 0, depth: 0, quoted: false, entries: 0, wanting: false },
    found: [],
  };
  return {
    push(text) {
      scan.rest += text;
      const fault = scanText(scan);
      const found = scan.found.splice(0);
      return fault === null ? found : [...found, fault];
    },
    end: () => (scan.state === "after" ? [] : [wrong("the body", "it is not a whole JSON array")]),
  };
}

function scanText(scan: Scan): Fault | null {
  for (; scan.at < scan.rest.length; scan.at += 1) {
    const character = scan.rest[scan.at] ?? "";
    if (scan.quoted) {
      // What follows is escaped, also if it is in the next piece.
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
  else if (scan.state === "after") return wrong("the body", "something comes after its array");
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

/** What has been read goes, this character included. */
function drop(scan: Scan): void {
  scan.rest = scan.rest.slice(scan.at + 1);
  scan.at = -1;
}

function placeOf(entry: number): string {
  return `entry ${entry}`;
}
