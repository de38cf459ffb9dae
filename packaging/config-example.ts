// Writes config.example.yaml to standard output, from the schema of the config. Usage: bun packaging/config-example.ts
import process from "node:process";
import * as v from "valibot";
import { stringify } from "yaml";
import { type Manual, manualOf, type Shape, shapeOf } from "../src/config/key.ts";
import { REFERENCE_FORMS } from "../src/config/references.ts";
import { configSchema } from "../src/config/schema.ts";

const COLUMNS = 120;

const HEAD = `\
# yaml-language-server: $schema=fairlead.schema.json
#
# The config file with every key, its default, and a reason to change it. Copy it to config.yaml, keep what you change
# and delete the rest: a key that is left out has its default. Keys without one are commented out, with an
# example. \`fairlead schema --example\` prints this file.
#
# \`fairlead check\` reports every mistake at once; \`fairlead check --explain\` prints the values in force and where each
# comes from. An editor finds most mistakes as you write: keep the first line, and save the output of \`fairlead schema\`
# beside this file as fairlead.schema.json.
#
# Any text may contain references, so that secrets can stay out of the file:
#
${REFERENCE_FORMS.map(([form, meaning]) => `#     ${form.padEnd(21)} ${meaning}`).join("\n")}
#
# Inside { } and [ ] a text with a reference must be in quotes. Durations are written 250ms, 5s, 10m, 4h, 30d or 1h30m,
# and sizes 512MB or 1.5GB, in powers of 1,024 (1GiB is the same as 1GB).
`;

type Lines = readonly string[];
type Entries = Readonly<Record<string, v.GenericSchema>>;

/**
 * The text of config.example.yaml: every key of the schema below its manual. Required keys and those with a default are
 * set, the others are commented out.
 */
export function exampleConfig(entries: Entries = configSchema.entries): string {
  const sections = Object.entries(entries).map(([name, schema]) => keyLines(name, schema));
  return [HEAD, ...sections.map((lines) => `${wrapComments(lines, COLUMNS).join("\n")}\n`)].join("\n");
}

/** A key with its manual above it and its values below. `isOut`: what it is in is commented out as a whole. */
function keyLines(name: string, schema: v.GenericSchema, isOut = false): Lines {
  const { description, more = "" } = manualOf(schema);
  const manual = comment([`${description} ${more}`.replace(/\s+/g, " ").trim()]);
  const isLeftOut = !isOut && schema.type === "optional" && v.getDefault(schema) === undefined;
  const lines = valueLines(name, schema, isOut || isLeftOut);
  return [...manual, ...(isLeftOut ? comment(lines) : lines)];
}

function valueLines(name: string, schema: v.GenericSchema, isOut: boolean): Lines {
  const manual = manualOf(schema);
  const below = linesBelow(shapeOf(schema), manual, isOut);
  if (below) return [`${name}:`, ...indent(below)];
  const value = v.getDefault(schema) ?? manual.example;
  if (value !== undefined) return [valueLine(name, value)];
  throw new Error(`the key ${name} of the config has no example: this is a bug in Fairlead, please report it`);
}

/** The lines below a key; null if its value stands on the same line. */
function linesBelow(shape: Shape, manual: Manual, isOut: boolean): Lines | null {
  if (shape.kind === "map") return mapLines(shape.entries, isOut);
  if (shape.kind === "names") return namesLines(shapeOf(shape.value), manual, isOut);
  const item = shape.kind === "list" ? shapeOf(shape.item) : null;
  return item?.kind === "map" ? dash(mapLines(item.entries)) : null;
}

function mapLines(entries: Entries, isOut = false): Lines {
  return Object.entries(entries).flatMap(([name, schema]) => keyLines(name, schema, isOut));
}

function namesLines(value: Shape, { name, entries = {}, commentedOut = {} }: Manual, isOut: boolean): Lines {
  if (value.kind === "map") return [`${name}:`, ...indent(mapLines(value.entries, isOut))];
  return [...entryLines(entries), ...comment(entryLines(commentedOut))];
}

function entryLines(entries: Readonly<Record<string, string>>): Lines {
  return Object.entries(entries).map(([name, value]) => valueLine(name, value));
}

function valueLine(name: string, value: unknown): string {
  const style =
    typeof value === "object"
      ? ({ collectionStyle: "flow", flowCollectionPadding: !Array.isArray(value) } as const)
      : {};
  return `${name}: ${stringify(value, { ...style, lineWidth: 0 }).trimEnd()}`;
}

function comment(lines: Lines): Lines {
  return lines.map((line) => `# ${line}`);
}

function indent(lines: Lines): Lines {
  return lines.map((line) => `  ${line}`);
}

/** One item of a list. The dash goes to its first key, below the manual of that key. */
function dash(lines: Lines): Lines {
  const first = lines.findIndex((line) => !line.startsWith("#"));
  return [...lines.slice(0, first), `- ${lines[first]}`, ...indent(lines.slice(first + 1))];
}

/** Wraps comments at a number of columns. Text in backquotes stays together. */
export function wrapComments(lines: readonly string[], columns: number): readonly string[] {
  return lines.flatMap((line) => {
    const [, prefix, text] = /^([ #]*# )(.*)$/.exec(line) ?? [];
    if (line.length <= columns || prefix === undefined || text === undefined) return line;
    return fill(text, columns - prefix.length).map((part) => prefix + part);
  });
}

/** Wraps text at a number of columns. Text in backquotes stays together. */
export function fill(text: string, columns: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines.splice(-1, 1, `${last} ${word}`);
    else lines.push(word);
  }
  return lines;
}

if (import.meta.main) process.stdout.write(exampleConfig());
