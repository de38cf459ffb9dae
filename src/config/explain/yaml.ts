import { Document } from "yaml";
import type { Effective, EffectiveList, EffectiveMap, EffectiveValue } from "./effective.ts";
import { fromOfList, fromWords } from "./from.ts";

/** Where the comments begin at the latest; those of longer lines stand two spaces after them. */
const WIDEST = 60;

/** A line of YAML, and what is said of it at its end. */
type Line = { readonly text: string; readonly from?: string };
type Lines = readonly Line[];

/**
 * What counts, as a config file that holds every key: a comment behind each value says where it comes from. `file` is
 * what the config file is called there.
 */
export function explainYaml(effective: EffectiveMap, file: string): string {
  const sections = effective.entries.map(([name, entry]) => entryLines(name, entry, file));
  const widths = sections
    .flat()
    .map(({ text, from }) => (from === undefined || text.length > WIDEST ? 0 : text.length));
  const column = Math.max(...widths) + 2;
  return sections.map((lines) => lines.map((line) => `${aligned(line, column)}\n`).join("")).join("\n");
}

function aligned({ text, from }: Line, column: number): string {
  return from === undefined ? text : `${text.padEnd(column - 2)}  # ${from}`;
}

function entryLines(name: string, entry: Effective, file: string): Lines {
  const key = pair(name, null);
  switch (entry.kind) {
    case "left out":
      return [{ text: `# ${key}`, from: `default: ${entry.words}` }];
    case "value":
      return [{ text: pair(name, entry.value), from: fromWords(entry.from, file) }];
    case "map":
      return [{ text: key }, ...indent(mapLines(entry, file))];
    case "list":
      return listLines(name, entry, file);
  }
}

function mapLines({ entries }: EffectiveMap, file: string): Lines {
  return entries.flatMap(([name, entry]) => entryLines(name, entry, file));
}

/** A list of plain values stands in one line if it fits there. */
function listLines(name: string, list: EffectiveList, file: string): Lines {
  const values = list.items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
  const text = pair(name, values);
  const isFlat = values.length === list.items.length && (text.length <= WIDEST || values.length < 2);
  if (isFlat) return [{ text, from: fromWords(fromOfList(list), file) }];
  return [{ text: pair(name, null) }, ...indent(list.items.flatMap((item) => dash(itemLines(item, file))))];
}

function itemLines(item: EffectiveList["items"][number], file: string): Lines {
  if (item.kind === "map") return mapLines(item, file);
  return [{ text: written(item.value), from: fromWords(item.from, file) }];
}

/** Characters that break a line, or that a terminal would act on. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** A key with its value on one line, whatever they are. What looks like a reference is none any more. */
function pair(name: string, value: Written | null): string {
  const document = new Document(null);
  const node = document.createNode(value, reescaped, { flow: true });
  document.contents = document.createNode(new Map([[name, node]]));
  const text = document.toString({
    blockQuote: false,
    // In double quotes, all of them can be written as escapes.
    defaultStringType: UNSAFE.test([value].flat().join("")) ? "QUOTE_DOUBLE" : "PLAIN",
    defaultKeyType: "PLAIN",
    doubleQuotedMinMultiLineLength: Infinity,
    flowCollectionPadding: false,
    lineWidth: 0,
    nullStr: "",
  });
  return text.trimEnd().replace(new RegExp(UNSAFE, "gu"), escaped);
}

type Written = EffectiveValue["value"] | readonly EffectiveValue["value"][];

function reescaped(_: unknown, part: unknown): unknown {
  return typeof part === "string" ? part.replaceAll("${", "$$${") : part;
}

/** The same without the key. */
function written(value: Written): string {
  return pair("a", value).slice("a: ".length);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

function indent(lines: Lines): Lines {
  return lines.map((line) => ({ ...line, text: `  ${line.text}` }));
}

/** One item of a list: its first line has the dash. */
function dash(lines: Lines): Lines {
  return lines.map((line, index) => ({ ...line, text: `${index === 0 ? "- " : "  "}${line.text}` }));
}
