import { suggest } from "../../config/suggest.ts";
import type { Path } from "./places.ts";
import { isObject, type Planned, show } from "./plan.ts";

/** The schema that a `$ref` leads to, which must be in the same plan. A fault as text. */
export function findReference(ref: unknown, root: unknown): Planned | string {
  const pointer = typeof ref === "string" && ref.startsWith("#/") ? parsePointer(ref.slice("#/".length)) : null;
  if (pointer === null) return `must refer to this plan, such as "#/$defs/Money" (got ${show(ref)})`;
  let schema = root;
  const path: (string | number)[] = [];
  for (const step of pointer) {
    const known = Array.isArray(schema)
      ? schema.map((_, index) => String(index))
      : isObject(schema)
        ? Object.keys(schema)
        : [];
    if (!known.includes(step)) {
      const near = suggest(step, known);
      return `refers to nothing (got ${show(ref)})${near === null ? "" : `: did you mean ${show(near)}?`}`;
    }
    path.push(Array.isArray(schema) ? Number(step) : step);
    schema = (schema as Readonly<Record<string, unknown>>)[step];
  }
  return { schema, path };
}

/** The steps of a JSON pointer in a URL (RFC 6901); null if it is none. */
function parsePointer(text: string): (Path & readonly string[]) | null {
  try {
    return text.split("/").map((step) => decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    return null;
  }
}

/** A name that a type can have: `order-line` becomes OrderLine. */
export function pascal(name: string): string {
  const words = name.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const joined = words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`).join("");
  return /^[A-Z]/.test(joined) ? joined : `Type${joined}`;
}
