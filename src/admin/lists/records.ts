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
    return { value: JSON.parse(text), place };
  } catch {
    return wrong(place, "it is not JSON");
  }
}
