import { type Fault, fault, isFault } from "../../model/fault.ts";

/** One entry of a list, and where it stands: `line 17`, or `entry 17` of a JSON array. */
export type Entry = { readonly value: unknown; readonly place: string };

/** Takes the text of a list as it comes, and gives the entries that are complete. A fault says where it is wrong. */
export type Splitter = {
  push(text: string): readonly Entry[] | Fault;
  end(): readonly Entry[] | Fault;
};

/** Characters that one entry may have. */
export const LONGEST_ENTRY = 64 * 1_024;

export function wrong(place: string, why: string): Fault {
  return fault("invalid_request", `${place}: ${why}`);
}

export function parseEntry(text: string, place: string): Entry | Fault {
  try {
    return { value: JSON.parse(text), place };
  } catch {
    return wrong(place, "it is not JSON");
  }
}

/** All of them, or the first fault. */
export function allOrFault(entries: readonly (Entry | Fault)[]): readonly Entry[] | Fault {
  return entries.find(isFault) ?? (entries as readonly Entry[]);
}
