/**
 * The payload that a receiver is to get in place of the specification's body. Made from the config by `config/template.ts`,
 * where every bound is checked, and filled in by `webhook/template.ts`.
 */
export type Template = readonly Piece[];

/** The JSON of all pieces, one after the other, is the payload. */
export type Piece =
  /** JSON as it stands in the template. */
  | { readonly kind: "json"; readonly json: string }
  /** The value of a field, with its type. */
  | { readonly kind: "value"; readonly of: Reference }
  /** A text with references in it. */
  | { readonly kind: "text"; readonly of: readonly (string | Reference)[] };

/** `{{ properties.total | number: 2 }}` */
export type Reference = { readonly path: readonly string[]; readonly formats: readonly Format[] };

/** What is done with a value, one after the other. A missing value stays missing, except with `default`. */
export type Format =
  | { readonly name: "default"; readonly value: string | number | boolean }
  /** A time as ISO 8601 becomes readable in a zone: `UTC`, an offset as `+02:00`, or a name as `Europe/Berlin`. */
  | { readonly name: "time"; readonly zone: string }
  /** The same as the number of seconds since 1970. */
  | { readonly name: "unix" }
  | { readonly name: "number"; readonly decimals: number }
  | { readonly name: "truncate"; readonly most: number }
  | { readonly name: "text" | "json" | "escape" };

/** The fields that a template may refer to: those with other fields in them, and those without. */
export type TemplateFields = { readonly plain: readonly string[]; readonly objects: readonly string[] };

/** A payload has at most this many characters. */
export const MOST_RENDERED = 512 * 1_024;

/** Bounds of a template: with each value cut to `MOST_OF_VALUE`, which JSON may write in six times as many, a payload fits. */
export const MOST_WRITTEN = 16 * 1_024;
export const MOST_REFERENCES = 100;
export const MOST_OF_VALUE = 500;
