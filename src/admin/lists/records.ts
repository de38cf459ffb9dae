import { type Fault, fault, isFault } from "../../model/fault.ts";

/** One entry of a list, and where it stands: `line 17`, or `entry 17` of a JSON array. */
export type Entry = { readonly value: unknown; readonly place: string };

/**
 * Takes the text of a list as it comes, and gives the entries that are complete. A fault says where it is wrong, and is the
 * last of it. In what pieces the text comes makes no difference to the entries, nor to which fault is found.
 */
export type Splitter = {
  push(text: string): readonly (Entry | Fault)[];
  end(): readonly (Entry | Fault)[];
};

/** Characters that one entry may have. */
export const LONGEST_ENTRY = 64 * 1_024;

export function tooLong(place: string): Fault {
  return wrong(place, `it is longer than ${LONGEST_ENTRY} characters`);
}

export function wrong(place: string, why: string): Fault {
  return fault("invalid_request", `${place}: ${why}`);
}

/** What is read of each, up to the first fault: what follows a fault is not looked at. */
export function untilFault<Item, Found extends object>(
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

export function parseEntry(text: string, place: string): Entry | Fault {
  try {
    const value: unknown = JSON.parse(text);
    return { value: MAY_LOSE_DIGITS.test(text) ? JSON.parse(keepDigits(text)) : value, place };
  } catch {
    return wrong(place, "it is not JSON");
  }
}

/** Whether a number in this text may have more digits than are left of it once it is read. */
const MAY_LOSE_DIGITS = /\d[\d.]{15}|\d[eE]/;

/** Of text that is JSON: numbers that would be rounded become objects with their digits. */
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

/** Whether a number is written the same again, but for zeros. What is beyond the range of a double is told by itself. */
function isExact(number: string): boolean {
  const read = Number(number);
  return !Number.isFinite(read) || significant(number) === significant(String(read));
}

/** As `123e-2`: without zeros at either end. */
function significant(number: string): string {
  const [, whole = "", part = "", exponent = "0"] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  return short === "" ? "0" : `${short}e${Number(exponent) - part.length + digits.length - short.length}`;
}
