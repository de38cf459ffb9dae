// What is checked of a block: sentences that are too long, words that stand twice, a before a vowel, and the house's words.
//
// Left out, because most of what they find is right as it stands: passive voice and readability scores (a log line and a
// table are short on verbs), simplification lists (they want "start" for "initial" and "use" for "implement"), equality
// (it takes offence at "host" and "master"), weasel words, and quotes. So is a sentence that begins with "What": half of
// those are labels.
import retextEnglish from "retext-english";
import retextIndefiniteArticle from "retext-indefinite-article";
import retextRepeatedWords from "retext-repeated-words";
import { unified } from "unified";
import { VFile } from "vfile";
import { type Block, CODE } from "./blocks.ts";
import { HOUSE_WORDS } from "./words.ts";

export interface Problem {
  readonly path: string;
  readonly line: number;
  readonly problem: string;
}

const MOST_WORDS = 35;

/** Right as they are: a word read letter by letter, as in "an http URL", and an option with its value, `--user USER`. */
const RIGHT = /before `(?:f|h|l|m|n|r|s|x)(?:[^aeiouy]|\d)|repeated `[A-Z]+`/;

const english = unified().use(retextEnglish);
const articles = retextIndefiniteArticle() as unknown as (tree: Tree, file: VFile) => void;
const repeats = retextRepeatedWords() as unknown as (tree: Tree, file: VFile) => void;

interface Tree {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly Tree[];
  readonly position?: { readonly start: { readonly offset?: number } };
}

interface Found {
  readonly at: number;
  readonly problem: string;
}

export function check(block: Block): readonly Problem[] {
  const tree = english.parse(block.text) as unknown as Tree;
  const found = [...longSentences(tree), ...slips(tree, block.text), ...houseWords(block.text)];
  return found.map(({ at, problem }) => {
    const line = block.line + block.text.slice(0, at).split("\n").length - 1;
    return { path: block.path, line, problem };
  });
}

function longSentences(tree: Tree): readonly Found[] {
  if (tree.type !== "SentenceNode") return (tree.children ?? []).flatMap(longSentences);
  const words = (tree.children ?? []).filter((node) => node.type === "WordNode" || node.value === CODE).length;
  // A row of links is no sentence.
  const isList = (tree.children ?? []).some(({ children, value }) => (value ?? children?.[0]?.value) === "·");
  if (words <= MOST_WORDS || isList) return [];
  return [{ at: tree.position?.start.offset ?? 0, problem: `a sentence of ${words} words: make two of it` }];
}

function slips(tree: Tree, text: string): readonly Found[] {
  const file = new VFile(text);
  articles(tree, file);
  repeats(tree, file);
  const real = file.messages.filter(({ reason }) => !RIGHT.test(reason));
  return real.map(({ reason, place }) => {
    const start = place && "start" in place ? place.start : place;
    return { at: start?.offset ?? 0, problem: reason };
  });
}

function houseWords(text: string): readonly Found[] {
  return HOUSE_WORDS.flatMap(({ found, say }) =>
    [...text.matchAll(found)].map((match) => ({
      at: match.index,
      problem: `"${match[0].replaceAll("\n", " ")}": ${say}`,
    })),
  );
}
