import { stringify } from "yaml";
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
  const key = stringify(name, { lineWidth: 0 }).trimEnd();
  switch (entry.kind) {
    case "left out":
      return [{ text: `# ${key}:`, from: `default: ${entry.words}` }];
    case "value":
      return [{ text: `${key}: ${written(entry.value)}`, from: fromWords(entry.from, file) }];
    case "map":
      return [{ text: `${key}:` }, ...indent(mapLines(entry, file))];
    case "list":
      return listLines(key, entry, file);
  }
}

function mapLines({ entries }: EffectiveMap, file: string): Lines {
  return entries.flatMap(([name, entry]) => entryLines(name, entry, file));
}

/** A list of plain values stands in one line if it fits there. */
function listLines(key: string, list: EffectiveList, file: string): Lines {
  const values = list.items.flatMap((item) => (item.kind === "value" ? [item.value] : []));
  const text = `${key}: ${written(values)}`;
  const isFlat = values.length === list.items.length && (text.length <= WIDEST || values.length < 2);
  if (isFlat) return [{ text, from: fromWords(fromOfList(list), file) }];
  return [{ text: `${key}:` }, ...indent(list.items.flatMap((item) => dash(itemLines(item, file))))];
}

function itemLines(item: EffectiveList["items"][number], file: string): Lines {
  if (item.kind === "map") return mapLines(item, file);
  return [{ text: written(item.value), from: fromWords(item.from, file) }];
}

/** On one line, whatever it is. What looks like a reference is none any more. */
function written(value: EffectiveValue["value"] | readonly EffectiveValue["value"][]): string {
  return stringify(value, (_, part) => (typeof part === "string" ? part.replaceAll("${", "$$${") : part), {
    blockQuote: false,
    collectionStyle: "flow",
    flowCollectionPadding: false,
    lineWidth: 0,
  }).trimEnd();
}

function indent(lines: Lines): Lines {
  return lines.map((line) => ({ ...line, text: `  ${line.text}` }));
}

/** One item of a list: its first line has the dash. */
function dash(lines: Lines): Lines {
  return lines.map((line, index) => ({ ...line, text: `${index === 0 ? "- " : "  "}${line.text}` }));
}
