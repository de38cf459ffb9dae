import { isCalendarDay } from "./units.ts";

/**
 * Which events a destination takes, by what they say. Made from the config, where every bound is checked, and decided in
 * `route/filter.ts`.
 */
export type Filter = {
  /** By the name of a track call; null: any name. Other calls have no name that counts. */
  readonly events: NameFilter | null;
  readonly where: Condition | null;
  /** The share of users from 0 to 1; null: all. */
  readonly sample: number | null;
};

/** A name passes if it matches none of `not`, and one of `any` unless that is empty. */
export type NameFilter = { readonly any: readonly Pattern[]; readonly not: readonly Pattern[] };

/** Text with `*` for any run of characters: the pieces between the stars. */
export type Pattern = readonly string[];

export type Condition =
  | { readonly kind: "all" | "any"; readonly of: readonly Condition[] }
  | { readonly kind: "not"; readonly of: Condition }
  | FieldCondition;

/** All tests of one field. */
export type FieldCondition = {
  readonly kind: "field";
  /** As it is written: `properties.total`. */
  readonly field: string;
  readonly path: readonly string[];
  readonly tests: readonly Test[];
};

export type Scalar = string | number | boolean;

export type Test =
  | { readonly kind: "in" | "not"; readonly values: readonly Scalar[] }
  | { readonly kind: "order"; readonly order: Order; readonly than: number | string }
  | { readonly kind: "exists"; readonly wanted: boolean }
  | { readonly kind: "matches"; readonly patterns: readonly Pattern[] };

/** How a number is compared, or a time as ISO 8601. */
export const ORDERS = ["gt", "gte", "lt", "lte"] as const;
export type Order = (typeof ORDERS)[number];

/** Splits a pattern at its stars. `\*` is a star itself, and `\\` a backslash. */
export function parsePattern(written: string): Pattern {
  const pieces = [""];
  for (let at = 0; at < written.length; at += 1) {
    const char = written[at] ?? "";
    const isEscape = char === "\\" && /[*\\]/.test(written[at + 1] ?? "");
    if (char === "*") pieces.push("");
    else pieces.push(`${pieces.pop()}${isEscape ? written[++at] : char}`);
  }
  return pieces;
}

/** What `parsePattern` splits. */
export function writePattern(pattern: Pattern): string {
  return pattern.map((piece) => piece.replace(/[*\\]/g, "\\$&")).join("*");
}

/** Splits a field at its dots. `\.` is a dot in a key. */
export function parseField(written: string): readonly string[] {
  const keys = [""];
  for (const part of written.match(/\\[.\\]|[^.\\]+|\.|\\/g) ?? []) {
    if (part === ".") keys.push("");
    else keys.push(`${keys.pop()}${/^\\[.\\]$/.test(part) ? part.slice(1) : part}`);
  }
  return keys;
}

const TIME = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/;

/** A time as ISO 8601, in ms; NaN for other text. Without a zone it is UTC, wherever this runs. */
export function parseTime(text: string): number {
  const match = TIME.exec(text);
  if (!match || !isCalendarDay(text)) return Number.NaN;
  return Date.parse(text.includes("T") && match[1] === undefined ? `${text}Z` : text);
}
