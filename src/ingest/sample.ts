import { KB } from "../model/units.ts";

/** In characters. */
const LONGEST = KB;
/** Levels that are written out. Deep JSON would take half a second. */
const DEEPEST = 20;

/** The beginning of what was refused, for the operator to recognise it by. Write keys are taken out. */
export function sampleOf(what: unknown): string {
  return (typeof what === "string" ? maskText(what) : maskValue(what)).slice(0, LONGEST);
}

/** What could not be read as JSON may be anything: a key is masked however it is quoted and separated. */
function maskText(text: string): string {
  return text.slice(0, 2 * LONGEST).replace(/(write_?key["']?\s*[:=]\s*["']?)[^"'&,;\s}]+/gi, "$1***");
}

function maskValue(value: unknown): string {
  const depths = new Map<unknown, number>();
  // Written out this far, and no further, whatever a stranger has nested.
  function masked(this: unknown, key: string, inner: unknown): unknown {
    if (/^write_?key$/i.test(key)) return "***";
    if (typeof inner === "string") return inner.slice(0, LONGEST);
    if (typeof inner !== "object" || inner === null) return inner;
    const depth = (depths.get(this) ?? 0) + 1;
    if (depth > DEEPEST) return "…";
    depths.set(inner, depth);
    return inner;
  }
  return JSON.stringify(value, masked) ?? "";
}
