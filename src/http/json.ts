import { type Fault, fault } from "../model/fault.ts";

/** What a body holds once it is parsed. Wrapped, because a JSON text may be a string or null. */
export type Parsed = { readonly value: unknown };

/** Parses a JSON text, or says why it is none. */
export function parseJson(text: string): Parsed | Fault {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    if (error instanceof RangeError) return fault("too_deep", "the JSON nests too deeply to be read; flatten it");
    // The engine's own words would carry parts of the body into the log.
    return fault("invalid_json", "the body is not JSON");
  }
}
