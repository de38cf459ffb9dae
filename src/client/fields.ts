import { InvalidCallError } from "./errors.ts";
import { showCauses } from "./show.ts";

type Fields = { readonly [name: string]: unknown };

/** An id as text, or undefined if there is none; an empty one counts as none, as it does for the Go client. */
export function readId(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (typeof value !== "number") return readText(call, field);
  if (Number.isSafeInteger(value)) return String(value);
  throw wrong(field, "a string, or a whole number of up to 15 digits", value);
}

export function readText(call: Fields, field: string): string | undefined {
  const value = call[field];
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value === "string") return value;
  throw wrong(field, "a string", value);
}

/** An object with keys, which is written as one. Throws an InvalidCallError. */
export function readObject(call: Fields, field: string): Fields | undefined {
  const value = asWritten(call[field], field);
  if (value === undefined || value === null) return undefined;
  if (typeof value === "object" && !Array.isArray(value) && nameOf(value) === null) return value as Fields;
  throw wrong(field, "an object", value);
}

/** What an object has as its JSON may be none. It is asked once, as JSON.stringify does. */
function asWritten(value: unknown, field: string): unknown {
  if (!saysItself(value) || value instanceof Date) return value;
  try {
    const written = value.toJSON(field);
    return saysItself(written) ? { ...written, toJSON: undefined } : written;
  } catch (cause) {
    const why = `${field} cannot be written as JSON: ${showCauses(cause)}`;
    throw new InvalidCallError("not_serialisable", why, { cause });
  }
}

function saysItself(value: unknown): value is { toJSON(key: string): unknown } {
  return typeof value === "object" && value !== null && typeof (value as Fields).toJSON === "function";
}

/** Of what JSON has as an empty object, or as a text. */
function nameOf(value: object): string | null {
  if (value instanceof Date) return "a Date";
  if (value instanceof Map) return "a Map";
  if (value instanceof Set) return "a Set";
  return value instanceof Promise ? "a Promise" : null;
}

function wrong(field: string, wanted: string, value: unknown): InvalidCallError {
  return new InvalidCallError("invalid_call", `${field} must be ${wanted} (got ${kindOf(value)})`);
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object" && value !== null) return nameOf(value) ?? "an object";
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return `a ${typeof value}`;
}
