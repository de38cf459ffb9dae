/**
 * The files that a config includes. They are read as one text with the config file first, so that a place is one offset, and
 * all that looks for places, orders them or hides secrets works as with a single file.
 */
import { basename, dirname, isAbsolute, join, normalize } from "node:path";
import { isMap, type ParsedNode, YAMLMap } from "yaml";
import type { Resolve } from "../model/ports.ts";
import { formatSize, MB } from "../model/units.ts";
import { isMergeKey, NO_ANCHORS } from "./anchors.ts";
import { check } from "./check.ts";
import { keyText, nodesOf } from "./hide.ts";
import { errorAt, type Finding, keyPath, keyPlace } from "./problems.ts";
import { type Reading, readTree } from "./read.ts";
import { type Credentials, createReferences, fullPath } from "./references.ts";
import { configSchema, includedSchema, MERGEABLE } from "./schema.ts";
import type { Steps } from "./steps.ts";
import { suggest } from "./suggest.ts";
import { type Document, linesOf, parseSteps } from "./syntax.ts";
import { BROKEN, child, listOf, mapOf, type Tree, type TreeMap, textOf } from "./tree.ts";

/** A config file with those that it includes. */
export type Whole = Pick<Document, "text"> & {
  /** The config file: relative paths start at its folder, also those in an included file. */
  readonly file: string;
  /** The config file first. The offsets in their documents are those of the whole text. */
  readonly files: readonly ConfigFile[];
  /** Why the config cannot be read: the syntax of all files, and files that are not there. */
  readonly findings: readonly Finding[];
  placeOf(at: number): Spot;
};

export type ConfigFile = {
  readonly path: string;
  /** Its path from the folder of the config file. */
  readonly name: string;
  /** Whether every user can read it, as far as its own mode says. */
  readonly worldReadable: boolean;
  readonly document: Document;
  /** Where it starts in the whole text. */
  readonly start: number;
};

/** A place in one of the files. Lines and columns count from 1. */
export type Spot = {
  readonly file: string;
  readonly name: string;
  readonly line: number;
  readonly column: number;
};

export type IncludeInput = {
  readonly file: string;
  readonly resolve: Pick<Resolve, "env" | "file" | "folder" | "credential">;
  readonly credentials?: Credentials;
};

const MOST_FILES = 500;
const MOST_TEXT = 4 * MB;

/** Reads the files that a config includes. */
export function* gather(document: Document, input: IncludeInput): Steps<Whole> {
  const { file } = input;
  const main = { path: file, name: basename(file), worldReadable: false, document, start: 0 };
  const alone = wholeOf(file, [main]);
  if (document.contents === null || document.findings.length > 0) return alone;
  const { entries, findings } = yield* readEntries(document.contents, alone, input);
  const wanted = findings.length > 0 ? { files: [], findings } : findFiles(entries, input);
  const files: ConfigFile[] = [main];
  const faults = [...wanted.findings];
  let start = document.text.length + 1;
  for (const { path, name, entry } of wanted.files) {
    const content = input.resolve.file(path);
    if (!content.ok) {
      faults.push(errorAt(entry, `names ${path}, which cannot be read: ${content.why}`));
      continue;
    }
    if (start + content.text.length > MOST_TEXT) {
      faults.push(errorAt(entry, `names more than ${formatSize(MOST_TEXT)}, which is the most that a config may have`));
      break;
    }
    const parsed = yield* shifted(yield* parseSteps(content.text, { mayBeEmpty: true }), start);
    files.push({ path, name, worldReadable: content.worldReadable, document: parsed, start });
    start += parsed.text.length + 1;
  }
  const whole = wholeOf(file, files);
  return { ...whole, findings: [...whole.findings, ...faults] };
}

/** A config file without those that it includes. */
export function wholeAlone(document: Document, file: string): Whole {
  return wholeOf(file, [{ path: file, name: basename(file), worldReadable: false, document, start: 0 }]);
}

function wholeOf(file: string, files: readonly ConfigFile[]): Whole {
  const documents = files.map(({ document }) => document);
  const text = documents.map((document) => document.text).join("\n");
  const lines = files.length === 1 && documents[0] ? documents[0].lines : linesOf(text);
  const firstLines = files.map(({ start }) => lines.linePos(start).line);
  return { file, files, text, findings: documents.flatMap(({ findings }) => findings), placeOf };

  function placeOf(at: number): Spot {
    const index = files.findLastIndex(({ start }) => start <= at);
    const { path, name } = files[index] ?? { path: file, name: basename(file) };
    const { line, col } = lines.linePos(at);
    return { file: path, name, line: line - (firstLines[index] ?? 1) + 1, column: col };
  }
}

type Entries = { readonly entries: readonly Tree[]; readonly findings: readonly Finding[] };

/** The list `include` of the file, as if it had no other key. */
function* readEntries(contents: ParsedNode, { text, files, placeOf }: Whole, input: IncludeInput): Steps<Entries> {
  const findings: Finding[] = [];
  const anchors = files[0]?.document.anchors;
  const reading = { text, placeOf, references: createReferences(input), findings, ...(anchors && { anchors }) };
  const tree = yield* readTree(only("include", contents), configSchema, reading);
  if (!child(tree, "include")) return { entries: [], findings: [] };
  const { findings: wrong } = yield* check(tree);
  const errors = [...findings, ...wrong].filter(({ severity }) => severity === "error");
  return { entries: listOf(child(tree, "include")), findings: errors };
}

/** The file with one key, with the keys that are probably meant as it, and with those that it merges. */
export function only(name: keyof typeof configSchema.entries, contents: ParsedNode): ParsedNode {
  if (!isMap(contents)) return contents;
  const items = contents.items.filter(({ key }) => {
    const text = keyText(key);
    return isMergeKey(key) || (text !== null && suggest(text, Object.keys(configSchema.entries)) === name);
  });
  return Object.assign(new YAMLMap(), contents, { items });
}

/** A file to read, and the entry of `include` that names it. */
type Wanted = { readonly path: string; readonly name: string; readonly entry: Tree };

function findFiles(entries: readonly Tree[], input: IncludeInput) {
  const findings: Finding[] = [];
  const found = new Map<string, Wanted>();
  for (const entry of entries) {
    const text = textOf(entry);
    if (text === null) continue;
    const pattern = fullPath(text, input.file);
    const paths = isPattern(text) ? listed(pattern, entry) : [pattern];
    for (const path of paths) {
      // A pattern may match the config file itself.
      if (normalize(path) === normalize(input.file) || found.has(path)) continue;
      const name = isAbsolute(text) ? path : join(dirname(text), basename(path));
      found.set(path, { path, name, entry });
    }
    if (found.size <= MOST_FILES) continue;
    findings.push(errorAt(entry, `names more than ${MOST_FILES} files, which is the most that a config may include`));
    return { files: [], findings };
  }
  return { files: [...found.values()], findings };

  function listed(pattern: string, entry: Tree): readonly string[] {
    const folder = dirname(pattern);
    const names = input.resolve.folder(folder);
    if (!names.ok) {
      findings.push(errorAt(entry, `names the folder ${folder}, which cannot be listed: ${names.why}`));
      return [];
    }
    return names.names.filter((name) => matches(basename(pattern), name)).map((name) => join(folder, name));
  }
}

function isPattern(text: string): boolean {
  return /[*?]/.test(basename(text));
}

/** Whether a name is of a pattern. Only the last star is tried again, so the time does not grow with their number. */
function matches(pattern: string, name: string): boolean {
  let [at, nth, star, from] = [0, 0, -1, 0];
  while (at < name.length) {
    if (pattern[nth] === "*") {
      star = nth++;
      from = at;
    } else if (pattern[nth] === "?" || pattern[nth] === name[at]) {
      nth++;
      at++;
    } else if (star >= 0) {
      nth = star + 1;
      at = ++from;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(nth));
}

const STEP = 100;

/** Moves all places of a document to those in the whole text. */
function* shifted(document: Document, by: number): Steps<Document> {
  let seen = 0;
  for (const { node } of nodesOf(document.contents)) {
    const [start, value, end] = node.range;
    node.range = [start + by, value + by, end + by];
    seen += 1;
    if (seen % STEP === 0) yield;
  }
  return { ...document, findings: document.findings.map((found) => ({ ...found, at: found.at + by })) };
}

/** Reads the values of all files as those of one. Adds to the findings of `reading`. */
export function* readWhole(
  { file, files, text, placeOf }: Whole,
  world: Pick<Reading, "references" | "findings" | "origins">,
): Steps<Tree> {
  const [main, ...included] = files;
  const reading = { ...world, text, placeOf, copies: { count: 0 } };
  const { contents = null, anchors = NO_ANCHORS } = main?.document ?? {};
  const tree = yield* readTree(contents, configSchema, { ...reading, anchors });
  if (included.length === 0 || !(tree.value instanceof Map)) return tree;
  const merged = new Map(tree.value);
  const sections = new Map<string, Map<string, Tree>>();
  for (const { document, start } of included) {
    if (!document.contents) continue;
    const own = withoutForeign(document.contents, file, reading.findings);
    const more = yield* readTree(own, includedSchema, { ...reading, start, anchors: document.anchors });
    for (const [name, section] of mapOf(more)) addSection(name, section);
    yield;
  }
  return { ...tree, value: merged };

  function addSection(name: string, section: Tree): void {
    const before = merged.get(name) ?? { ...section, value: new Map() };
    // What is in a section that cannot be read is not known, so nothing can be found to be there twice.
    if (!(before.value instanceof Map)) return;
    if (section.value === BROKEN) {
      merged.set(name, section);
      return;
    }
    const entries = sections.get(name) ?? new Map(before.value as TreeMap);
    sections.set(name, entries);
    merged.set(name, { ...before, value: entries });
    for (const [key, entry] of mapOf(section)) {
      const first = entries.get(key);
      if (first === undefined) entries.set(key, entry);
      else reading.findings.push(errorAt(keyPlace(entry), `is set twice: first in ${lineIn(placeOf(first.keyAt))}`));
    }
  }
}

function lineIn({ file, line }: Spot): string {
  return `${file}:${line}`;
}

const PARTS = `${MERGEABLE.slice(0, -1).join(", ")} and ${MERGEABLE.at(-1)}`;

/** An included file without the keys that only a config file has, which are reported. */
function withoutForeign(contents: ParsedNode, file: string, findings: Finding[]): ParsedNode {
  if (!isMap(contents)) return contents;
  const foreign = contents.items.filter(({ key }) => {
    const name = keyText(key) ?? "";
    return Object.hasOwn(configSchema.entries, name) && !(MERGEABLE as readonly string[]).includes(name);
  });
  for (const { key } of foreign) {
    const name = keyText(key) ?? "";
    const place = { path: keyPath("", name), at: key.range?.[0] ?? 0 };
    findings.push(errorAt(place, `cannot be in an included file, only ${PARTS}: move it to ${file}`));
  }
  const left = new Set(foreign);
  const items = contents.items.filter((item) => !left.has(item));
  return Object.assign(new YAMLMap(), contents, { items });
}
