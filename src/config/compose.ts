/**
 * From text to YAML nodes in steps, each with a bounded part of the file. The result is the same as that of the library's
 * `parseDocument`, which does it all at once.
 */
import { Composer, type CST, isMap, Lexer, type ParsedNode, Parser, type YAMLMap, YAMLParseError } from "yaml";
import type { Steps } from "./steps.ts";

type Composed = {
  readonly contents: ParsedNode | null;
  readonly errors: readonly YAMLParseError[];
  /** Whether the file has a %YAML line. */
  readonly hasVersion: boolean;
};

/** The characters of the file in one step. */
const STEP = 500;
/** Repeated keys are reported later, with both places. */
const OPTIONS = { prettyErrors: false, uniqueKeys: false };

/** Maps and lists in each other. The library would go on until its stack is full. */
export const DEEPEST = 100;

/** `step`: for tests. */
export function* compose(text: string, step = STEP): Steps<Composed> {
  const tokens = yield* tokensOf(text, step);
  if (typeof tokens === "number") {
    const error = new YAMLParseError([tokens, tokens + 1], "RESOURCE_EXHAUSTION", "");
    return { contents: null, errors: [error], hasVersion: false };
  }
  const contents = yield* composeInParts(tokens, step);
  return contents ? { contents, errors: [], hasVersion: false } : composeWhole(tokens, text.length);
}

/** Or the place where the text is nested too deeply. */
function* tokensOf(text: string, step: number): Steps<readonly CST.Token[] | number> {
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  let done = 0;
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token);
    // The document is on the parser's stack as well.
    if (parser.stack.length > DEEPEST + 1) return parser.offset - 1;
    done += lexeme.length;
    if (done < step) continue;
    done = 0;
    yield;
  }
  tokens.push(...parser.end());
  return tokens;
}

/** A file with an error, with several documents or without a map is composed at once: the errors depend on what is around. */
function composeWhole(tokens: readonly CST.Token[], end: number): Composed {
  const [first, second] = new Composer(OPTIONS).compose(tokens, true, end);
  if (first === undefined) return { contents: null, errors: [], hasVersion: false };
  const { contents, errors, directives } = first;
  const more = second && new YAMLParseError([second.range[0], second.range[1]], "MULTIPLE_DOCS", "");
  return { contents, errors: more ? [...errors, more] : errors, hasVersion: directives.yaml.explicit === true };
}

/** Composes a file part by part. Null if that could make a difference. */
function* composeInParts(tokens: readonly CST.Token[], step: number): Steps<YAMLMap.Parsed | null> {
  const document = plainDocument(tokens);
  if (document === null) return null;
  let whole: YAMLMap.Parsed | null = null;
  for (const { entries, isRest } of partsOf(document.value, step)) {
    // What is around the map counts once: a long comment must not be read with each part.
    const { type, offset } = document;
    const around = whole === null ? document : { type, offset, start: [] };
    const [part] = new Composer(OPTIONS).compose([{ ...around, value: entries }]);
    if (part === undefined || part.errors.length > 0 || !isMap(part.contents)) return null;
    const contents = part.contents as YAMLMap.Parsed;
    if (whole === null) whole = contents;
    else if (!(isRest ? append(whole.items.at(-1)?.value, contents.items[0]?.value) : append(whole, contents)))
      return null;
    whole.range = [whole.range[0], contents.range[1], contents.range[2]];
    yield;
  }
  return whole;
}

function append(map: unknown, more: unknown): boolean {
  if (!isMap(map) || !isMap(more) || !map.range || !more.range) return false;
  for (const item of more.items) map.items.push(item);
  map.range = [map.range[0], more.range[1], more.range[2]];
  return true;
}

type PlainDocument = CST.Document & { readonly value: CST.BlockMap };

const AROUND: ReadonlySet<string> = new Set(["comment", "newline", "space"]);

/** The document of a file that holds one map in block style, as config files do; null for any other. */
function plainDocument(tokens: readonly CST.Token[]): PlainDocument | null {
  const [document, ...others] = tokens.filter(({ type }) => !AROUND.has(type));
  if (document?.type !== "document" || others.length > 0 || document.value?.type !== "block-map") return null;
  return isRegular(document.value) ? { ...document, value: document.value } : null;
}

/** Whether the place of each entry is known from itself. Only a comment at the end has no key. */
function isRegular({ items }: CST.BlockMap): boolean {
  return items.every((item, index) => item.key || (!item.sep && index > 0 && index === items.length - 1));
}

type Item = CST.BlockMap["items"][number];
type Items = readonly Item[];
/** `isRest`: whether it continues the last entry of the part before. */
type Part = { readonly entries: CST.BlockMap; readonly isRest: boolean };

/** Divides a map into its entries, and each map in it into parts of some entries: `sources` may have hundreds. */
function* partsOf(map: CST.BlockMap, step: number): Generator<Part> {
  for (const item of map.items) {
    const { value } = item;
    if (value?.type !== "block-map" || !isRegular(value)) {
      yield { entries: part(map, [item]), isRest: false };
      continue;
    }
    for (const [index, group] of groupsOf(value.items, step).entries()) {
      const entry = index === 0 ? item : withoutComments(item);
      yield { entries: part(map, [{ ...entry, value: part(value, group) } as Item]), isRest: index > 0 };
    }
  }
}

/** The same key with only the colon and a line break behind it: the rest was read with the first part. */
function withoutComments(item: Item): Item {
  const { key = null, sep = [] } = item;
  const colon = sep.find(({ type }) => type === "map-value-ind");
  const newline = sep.findLast(({ type }) => type === "newline");
  return { start: [], key, sep: [colon, newline].filter((token) => token !== undefined) };
}

/** Some entries of a map, as if it had no others. */
function part(map: CST.BlockMap, items: Items): CST.BlockMap {
  const [first] = items;
  const offset = first?.start[0]?.offset ?? first?.key?.offset ?? map.offset;
  return { ...map, offset: Math.max(map.offset, offset), items: [...items] };
}

function groupsOf(items: Items, step: number): readonly Items[] {
  const groups: Item[][] = [];
  let start = 0;
  for (const item of items) {
    const last = groups.at(-1);
    const at = item.key?.offset ?? start;
    if (last && at - start < step) {
      last.push(item);
      continue;
    }
    groups.push([item]);
    start = at;
  }
  return groups;
}
