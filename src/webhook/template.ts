import { parseTime } from "../model/filter.ts";
import { isLongInteger, valueAt } from "../model/json.ts";
import {
  type Format,
  MOST_OF_VALUE,
  MOST_RENDERED,
  type Piece,
  type Reference,
  type Template,
} from "../model/template.ts";
import { SECOND } from "../model/units.ts";

/** `shortened`: it would have been too long, so long values are cut and long objects and lists are null. */
export type Rendered = { readonly text: string; readonly shortened: boolean };

/**
 * Fills in a template: compact JSON, whatever is in the fields, of at most `MOST_RENDERED` characters. The fields are values
 * as `parseExactly` makes them. Never throws.
 */
export function render(template: Template, fields: object): Rendered {
  const text = renderWithin(template, fields, { most: MOST_RENDERED, ofValue: Infinity });
  if (text !== null) return { text, shortened: false };
  const cut = renderWithin(template, fields, { most: Infinity, ofValue: MOST_OF_VALUE });
  return { text: cut ?? "null", shortened: true };
}

/** What templates refer to, of an event: its body, with names that all types of call have, its source, and its user. */
export function fieldsOf(body: { readonly [key: string]: unknown }, source: string): object {
  const userId = body.userId ?? body["User ID"];
  return { ...body, userId, previousId: body["Previous ID"], user: userId ?? body.anonymousId, source };
}

type Bounds = { readonly most: number; readonly ofValue: number };

/** Null as soon as it gets longer than `most`. */
function renderWithin(template: Template, fields: object, { most, ofValue }: Bounds): string | null {
  let text = "";
  for (const piece of template) {
    text += renderPiece(piece, fields, ofValue);
    if (text.length > most) return null;
  }
  return text;
}

function renderPiece(piece: Piece, fields: object, ofValue: number): string {
  switch (piece.kind) {
    case "json":
      return piece.json;
    case "value":
      return jsonOf(referred(piece.of, fields), ofValue);
    case "text": {
      const parts = piece.of.map((one) =>
        typeof one === "string" ? one : cut(textOf(referred(one, fields)), ofValue),
      );
      return JSON.stringify(parts.join(""));
    }
  }
}

/** What is missing is null. */
function jsonOf(value: unknown, most: number): string {
  if (typeof value === "string") return JSON.stringify(cut(value, most));
  const json = JSON.stringify(value) ?? "null";
  return json.length > most ? "null" : json;
}

function referred({ path, formats }: Reference, fields: object): unknown {
  return formats.reduce<unknown>((value, format) => formatted(value, format), valueAt(fields, path));
}

function formatted(value: unknown, format: Format): unknown {
  if (format.name === "default") return value ?? format.value;
  if (value === undefined) return undefined;
  switch (format.name) {
    case "time":
      return toTime(value, format.zone);
    case "unix":
      return toUnix(value);
    case "number":
      return toDecimals(value, format.decimals);
    case "truncate":
      return cut(textOf(value), format.most);
    case "text":
      return textOf(value);
    case "json":
      return JSON.stringify(value) ?? "null";
    case "escape":
      return textOf(value).replace(/[&<>]/g, (character) => ESCAPES[character] ?? "");
  }
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/** What is missing is no text. Objects and lists are JSON. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined ? "" : (JSON.stringify(value) ?? "");
}

/** Cuts a text, with an ellipsis at its end; not in the middle of a surrogate pair. */
function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

/** `2026-01-31 13:00:00 +01:00`; what is no time stays as it is. */
function toTime(value: unknown, zone: string): unknown {
  const at = typeof value === "string" ? parseTime(value) : Number.NaN;
  if (Number.isNaN(at)) return value;
  const found = new Map(
    formatOf(zone)
      .formatToParts(at)
      .map(({ type, value }) => [type, value]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): string => found.get(name) ?? "";
  const offset = part("timeZoneName").replace("GMT", "");
  const shown = zone === "UTC" ? "UTC" : offset === "" ? "+00:00" : offset;
  const day = `${part("year").padStart(4, "0")}-${part("month")}-${part("day")}`;
  return `${day} ${part("hour")}:${part("minute")}:${part("second")} ${shown}`;
}

function toUnix(value: unknown): unknown {
  const at = typeof value === "string" ? parseTime(value) : Number.NaN;
  return Number.isNaN(at) ? value : Math.floor(at / SECOND);
}

// Making one takes a thousand times as long as using it. There are as many as zones in the config.
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const made = new Intl.DateTimeFormat("en-GB", {
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
    timeZone: zone,
    timeZoneName: "longOffset",
  });
  formats.set(zone, made);
  return made;
}

/** With so many decimals, and every digit of a long integer. What is no number stays as it is. */
function toDecimals(value: unknown, decimals: number): unknown {
  if (isLongInteger(value)) return decimals === 0 ? value.rawJSON : `${value.rawJSON}.${"0".repeat(decimals)}`;
  const isNumber = typeof value === "number" || (typeof value === "string" && NUMBER.test(value));
  return isNumber && Math.abs(Number(value)) < 1e21 ? Number(value).toFixed(decimals) : value;
}

const NUMBER = /^-?\d{1,15}(?:\.\d{1,20})?$/;
