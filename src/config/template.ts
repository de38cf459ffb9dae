/** Payload templates: from what the file says to what `webhook/template.ts` fills in. */
import * as v from "valibot";
import { parseField } from "../model/filter.ts";
import {
  type Format,
  MOST_REFERENCES,
  MOST_WRITTEN,
  type Piece,
  type Reference,
  type Template,
  type TemplateFields,
} from "../model/template.ts";
import { issuePath, oneOf } from "./fields.ts";
import { FREE, key, type Manual, TEMPLATE_FORM } from "./key.ts";
import { suggest } from "./suggest.ts";

/** What a template for an event may refer to: the fields of the call, and a few more. */
export const EVENT_FIELDS: TemplateFields = {
  plain: [
    ...["type", "event", "user", "userId", "anonymousId", "previousId", "groupId", "name", "category", "channel"],
    ...["messageId", "source", "timestamp", "originalTimestamp", "sentAt", "receivedAt"],
  ],
  objects: ["properties", "traits", "context", "integrations"],
};

const NOTICE_FIELDS: TemplateFields = { plain: ["type", "user", "userId", "source", "timestamp"], objects: [] };

export type TemplateFault = { readonly message: string; readonly path: readonly (string | number)[] };
export type ParsedTemplate =
  | { readonly template: Template }
  /** The paths are within the template. */
  | { readonly faults: readonly TemplateFault[] };

type BodyManual = Pick<Manual, "description" | "more"> & { readonly example: object };

/** A key `body`: `default`, or templates. */
export function bodyKey<const Templates extends v.ObjectEntries>(
  templates: Templates,
  { description, more = "", example }: BodyManual,
) {
  const choice = v.union([oneOf(["default"]), v.strictObject(templates)], "must be default, or a map with a template");
  const body = v.pipe(choice, v.metadata({ form: "`default`, or a map with a `template`" }));
  return key(v.optional(body, "default"), { description, more, example: { template: { ...example } } });
}

/** That of a destination. */
export const eventBody = bodyKey(
  {
    template: key(v.optional(template(EVENT_FIELDS)), {
      description: "The JSON that it gets for each call, with references such as {{ properties.total }} in its texts.",
      example: { text: "{{ user }}: {{ event }}" },
      leftOut: "the body of the specification",
    }),
    deletion: key(v.optional(template(NOTICE_FIELDS)), {
      description: "The JSON that it gets for a notice that asks to delete a user.",
      more: `It can refer to \`userId\`, \`user\`, \`type\`, \`source\` and \`timestamp\`. Without it, the notice has
        the body of the specification. A chat refuses that: the deletion request then fails, and names the destination that was
        not notified.`,
      example: { text: "Please delete all data about {{ userId }}." },
      leftOut: "the body of the specification",
    }),
  },
  {
    description: "What it gets for each call: default, the body of the specification, or a template of your own.",
    more: `For receivers that need another format, such as Slack, Discord, ntfy and Alertmanager: docs/recipes/ has an example
      for each. A template (docs/configure/payloads.md) is JSON, written as YAML. \`{{ event }}\`, \`{{ user }}\` and
      \`{{ properties.total | default: 0 }}\` are replaced by the call's values. A missing value is null, or an empty text
      within a text. Formats are \`default\`, \`time\`, \`unix\`, \`number\`, \`truncate\`, \`text\`, \`json\` and \`escape\`.`,
    example: { text: "{{ user }}: {{ event }}" },
  },
);

/** A template for payloads. */
export function template(fields: TemplateFields) {
  return v.pipe(
    v.any(),
    v.metadata({ form: TEMPLATE_FORM, [FREE]: [] }),
    v.rawTransform<unknown, Template>(({ dataset, addIssue, NEVER }) => {
      const parsed = parseTemplate(dataset.value, fields);
      if ("template" in parsed) return parsed.template;
      for (const { message, path } of parsed.faults) addIssue({ message, path: issuePath(path, dataset.value) });
      return NEVER;
    }),
  );
}

/** Reads a template that is a map or a list. Its messages do not repeat what is in it, which may be secret. */
export function parseTemplate(value: unknown, fields: TemplateFields): ParsedTemplate {
  const reading: Reading = { fields, faults: [], pieces: [], references: 0, size: 0 };
  if (typeof value === "object" && value !== null) readValue(value, [], reading);
  else reading.faults.push({ message: "must be a map or a list, which becomes the JSON of the payload", path: [] });
  if (reading.size > MOST_WRITTEN) fail(reading, [], `is too long: at most ${MOST_WRITTEN / 1_024} KB as JSON`);
  if (reading.references > MOST_REFERENCES) fail(reading, [], `has more than ${MOST_REFERENCES} references`);
  return reading.faults.length > 0 ? { faults: reading.faults } : { template: reading.pieces };
}

type Key = string | number;
type Path = readonly Key[];
type Reading = {
  readonly fields: TemplateFields;
  readonly faults: TemplateFault[];
  readonly pieces: Piece[];
  references: number;
  /** Characters of JSON so far. */
  size: number;
};

const DEEPEST = 20;

function readValue(value: unknown, path: Path, reading: Reading): void {
  // What is found already is enough.
  if (reading.size > MOST_WRITTEN) return;
  if (path.length > DEEPEST) fail(reading, path, `is nested too deeply: at most ${DEEPEST} levels`);
  else if (typeof value === "string") readText(value, path, reading);
  else if (typeof value === "object" && value !== null) readEntries(value, path, reading);
  else readScalar(value, path, reading);
}

function readEntries(value: object, path: Path, reading: Reading): void {
  const isList = Array.isArray(value);
  const entries: readonly (readonly [Key, unknown])[] = isList ? [...value.entries()] : Object.entries(value);
  add(reading, isList ? "[" : "{");
  entries.forEach(([key, one], nth) => {
    if (nth > 0) add(reading, ",");
    if (typeof key === "string") {
      if (key.includes("{{")) fail(reading, [...path, key], "is a key with {{ in it: references stand in values only");
      add(reading, `${JSON.stringify(key)}:`);
    }
    readValue(one, [...path, key], reading);
  });
  add(reading, isList ? "]" : "}");
}

function readScalar(value: unknown, path: Path, reading: Reading): void {
  const isInexact = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
  const isNumber = typeof value === "number" && Number.isFinite(value);
  if (isInexact) fail(reading, path, "is too long for a number: put it in quotes");
  else if (isNumber || typeof value === "boolean" || value === null) add(reading, JSON.stringify(value));
  else fail(reading, path, "must be a text, a number, true, false, a map or a list");
}

/** Adds JSON to the piece before, if that is JSON too. */
function add(reading: Reading, json: string): void {
  reading.size += json.length;
  const { pieces } = reading;
  const last = pieces.at(-1);
  if (last?.kind === "json") pieces[pieces.length - 1] = { kind: "json", json: last.json + json };
  else pieces.push({ kind: "json", json });
}

function readText(text: string, path: Path, reading: Reading): void {
  const parts = text.length > MOST_WRITTEN ? [text] : splitText(text, reading.fields);
  if (typeof parts === "string") {
    fail(reading, path, parts);
    return;
  }
  const [first] = parts;
  const references = parts.filter((part) => typeof part !== "string").length;
  if (references === 0) {
    add(reading, JSON.stringify(parts.join("")));
    return;
  }
  reading.references += references;
  reading.size += JSON.stringify(text).length;
  const isValue = parts.length === 1 && typeof first === "object";
  reading.pieces.push(isValue ? { kind: "value", of: first } : { kind: "text", of: parts });
}

/** The text between references, and the references; or what is wrong with one. */
function splitText(text: string, fields: TemplateFields): readonly (string | Reference)[] | string {
  const parts: (string | Reference)[] = [];
  let nth = 0;
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf("{{", at);
    if (start !== at) parts.push(text.slice(at, start < 0 ? undefined : start));
    if (start < 0) break;
    nth += 1;
    const read = readReference(text, start + 2, fields);
    if (typeof read === "string") return nth === 1 ? read : `${read} (reference ${nth} of the text)`;
    parts.push(read.part);
    at = read.end;
  }
  return parts;
}

type ReadPart = { readonly part: string | Reference; readonly end: number };

const TOKENS = {
  /** A text in quotes of either kind. It has no escapes, and may hold the other kind. */
  quoted: /\s*(?:"([^"]*)"|'([^']*)')\s*/y,
  field: /[^|}"']+/y,
  bar: /\|/y,
  format: /\s*([A-Za-z]+)\s*/y,
  colon: /:/y,
  bare: /\s*([^\s|}"']+)\s*/y,
  end: /\}\}/y,
} as const;

/** Reads from behind `{{` to behind `}}`. */
function readReference(text: string, from: number, fields: TemplateFields): ReadPart | string {
  let at = from;
  const take = (token: keyof typeof TOKENS): string | null => {
    TOKENS[token].lastIndex = at;
    const match = TOKENS[token].exec(text);
    if (match) at = TOKENS[token].lastIndex;
    return match && (match[1] ?? match[2] ?? match[0]);
  };
  const literal = take("quoted");
  if (literal !== null) return take("end") === null ? LITERAL : { part: literal, end: at };
  const field = take("field")?.trim() ?? "";
  const path = parseField(field);
  const fault = field === "" ? "needs a field, as in {{ properties.total }}" : fieldFault(path, fields);
  if (fault !== null) return fault;
  const formats: Format[] = [];
  while (take("bar") !== null) {
    const name = take("format");
    if (name === null) return `needs a format after |: ${FORMAT_NAMES.join(", ")}`;
    const format = readFormat(name, take("colon") === null ? null : readArgument(take));
    if (typeof format === "string") return format;
    // `json` after `json` doubles the backslashes: thirty of them would fill the memory.
    if (formats.some((one) => one.name === format.name)) return `has the format ${format.name} twice in one reference`;
    formats.push(format);
  }
  return take("end") === null ? "needs }} at the end of its reference" : { part: { path, formats }, end: at };
}

const LITERAL = 'needs }} right after the text in quotes, as in {{ "{{" }}';

/** What stands behind the colon. Only a text in quotes is text. */
type Argument = { readonly value: string; readonly quoted: boolean } | null;

function readArgument(take: (token: "quoted" | "bare") => string | null): Argument {
  const quoted = take("quoted");
  return quoted === null ? { value: take("bare") ?? "", quoted: false } : { value: quoted, quoted: true };
}

function fieldFault([first = "", ...rest]: readonly string[], { plain, objects }: TemplateFields): string | null {
  const known = [...plain, ...objects];
  if (!known.includes(first)) {
    const meant = suggest(first, known);
    return `has a field that is not known: ${meant === null ? `known are ${known.join(", ")}` : `did you mean ${meant}?`}`;
  }
  if (rest.includes("")) return "has a dot too many";
  return rest.length > 0 && plain.includes(first) ? `has a field that cannot be: ${first} has nothing in it` : null;
}

const FORMAT_NAMES = ["default", "time", "unix", "number", "truncate", "text", "json", "escape"];

function readFormat(name: string, argument: Argument): Format | string {
  switch (name) {
    case "default":
      return readDefault(argument);
    case "time":
      return readTime(argument);
    case "number":
    case "truncate":
      return readCount(name, argument);
    case "unix":
    case "text":
    case "json":
    case "escape":
      return argument === null ? { name } : `has something after ${name}:, which takes nothing`;
    default: {
      const meant = suggest(name, FORMAT_NAMES);
      const known = meant === null ? `there are ${FORMAT_NAMES.join(", ")}` : `did you mean ${meant}?`;
      return `has a format that is not known: ${known}`;
    }
  }
}

const SCALAR = /^(?:true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?)$/;

function readDefault(argument: Argument): Format | string {
  if (argument?.quoted) return { name: "default", value: argument.value };
  if (argument && SCALAR.test(argument.value)) return { name: "default", value: JSON.parse(argument.value) };
  return 'needs a default in quotes, a number, true or false, as in default: "none"';
}

function readTime(argument: Argument): Format | string {
  const zone = argument?.value ?? "UTC";
  return isZone(zone)
    ? { name: "time", zone }
    : 'has a time zone that is not known: write "UTC", "+02:00" or "Europe/Berlin"';
}

function isZone(zone: string): boolean {
  try {
    return zone.length <= 64 && new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

const COUNTS = {
  number: { min: 0, max: 20, must: "needs how many decimals, from 0 to 20, as in number: 2" },
  truncate: { min: 1, max: 100_000, must: "needs how many characters, from 1 to 100000, as in truncate: 200" },
} as const;

function readCount(name: keyof typeof COUNTS, argument: Argument): Format | string {
  const { min, max, must } = COUNTS[name];
  const count = argument && !argument.quoted && /^\d{1,6}$/.test(argument.value) ? Number(argument.value) : -1;
  if (count < min || count > max) return must;
  return name === "number" ? { name, decimals: count } : { name, most: count };
}

function fail(reading: Reading, path: Path, message: string): void {
  reading.faults.push({ message, path });
}
