import type { IpPolicy } from "../model/source.ts";
import { KB } from "../model/units.ts";
import { applyPolicy } from "../validate/ip.ts";

/** In characters. */
const LONGEST = KB;
const LONGEST_KEY = 256;
/** Levels that are written out. Deep JSON would take half a second. */
const DEEPEST = 20;

/**
 * The beginning of what was refused, for the operator to recognise it by. Write keys are taken out, and of addresses what
 * must not be kept.
 */
export function sampleOf(what: unknown, { policy, hide }: Hiding): string {
  const masked = typeof what === "string" ? maskText(what, policy) : maskValue(what, policy);
  // A key that begins within what is shown is looked at whole.
  return hide(masked.slice(0, LONGEST + LONGEST_KEY)).slice(0, LONGEST);
}

type Hiding = { readonly policy: IpPolicy; readonly hide: (text: string) => string };

const QUOTE = String.raw`(?:\\*["']|%22|%27)?`;
const MARK = String.raw`\s*(?:[:=]|%3A)\s*`;
const VALUE = String.raw`[^"'&,;\s}\\%]+`;
const WRITE_KEY = new RegExp(`(write_?key${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");
const IP = new RegExp(`(\\bip${QUOTE}${MARK}${QUOTE})${VALUE}`, "gi");

/** What could not be read as JSON may be anything: a key is masked however it is quoted, escaped and separated. */
function maskText(text: string, policy: IpPolicy): string {
  const masked = text.slice(0, 2 * LONGEST).replace(WRITE_KEY, "$1***");
  return policy === "keep" ? masked : masked.replace(IP, "$1***");
}

function maskValue(value: unknown, policy: IpPolicy): string {
  const depths = new Map<unknown, number>();
  // Written out this far, and no further, whatever a stranger has nested.
  function masked(this: unknown, key: string, inner: unknown): unknown {
    if (/^write_?key$/i.test(key)) return "***";
    if (typeof inner === "string") return key === "ip" ? applyPolicy(inner, policy) : inner.slice(0, LONGEST);
    if (typeof inner !== "object" || inner === null) return inner;
    const depth = (depths.get(this) ?? 0) + 1;
    if (depth > DEEPEST) return "…";
    depths.set(inner, depth);
    return inner;
  }
  return JSON.stringify(value, masked) ?? "";
}
