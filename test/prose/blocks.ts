// Where the project's texts stand: pages, comments of files that users read, and what the program says. Each becomes
// blocks, a block being a paragraph, a heading, a list's item or a cell of a table, without what is code in it.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Comment, type Node, parseSync } from "oxc-parser";
import remarkGfm from "remark-gfm";
import remarkParse from "remark-parse";
import { unified } from "unified";

export interface Block {
  readonly path: string;
  /** The line in the file on which the text begins. */
  readonly line: number;
  readonly text: string;
  readonly kind: "page" | "comment" | "message";
}

/** Stands for code, and for a value that is put in when a message is written. */
export const CODE = "\u25CC";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Files whose comments are read by people who install Fairlead, configure it or start to work on it. */
const COMMENTED = ["config.example.yaml", "Makefile", "install.sh", ".ci/run"];
const COMMENTED_KINDS = /\.(service|socket|ya?ml|conf|sh|post\w+|pre\w+)$|Caddyfile$|Dockerfile$/;

export function allBlocks(): readonly Block[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith(".md"));
  const pages = [...top, ...under("docs", /\.md$/), ...under("src", /\.md$/)];
  const commented = [...COMMENTED, ...under("packaging", COMMENTED_KINDS), ...under(".github", COMMENTED_KINDS)];
  const sources = [...under("src", SOURCES), ...under("packaging", SOURCES)];
  return [
    ...pages.flatMap((path) => blocksOfPage(path, read(path))),
    ...commented.flatMap((path) => blocksOfComments(path, read(path))),
    ...sources.flatMap((path) => blocksOfSource(path, read(path))),
  ];
}

const SOURCES = /(?<!\.d)\.tsx?$/;

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

function under(folder: string, names: RegExp): readonly string[] {
  const found = readdirSync(join(ROOT, folder), { recursive: true }).map((name) => `${folder}/${name}`);
  return found.filter((path) => names.test(path) && !path.includes("node_modules")).sort();
}

export function blocksOfPage(path: string, markdown: string): readonly Block[] {
  return blocksOfMarkdown(markdown).map((block) => ({ ...block, path, kind: "page" }));
}

/** The comments that have a line of their own in YAML or a Makefile, and what `make` says about a task. */
export function blocksOfComments(path: string, file: string): readonly Block[] {
  const lines = file.split("\n").map((line) => /^[\s#]*#(.*)$/.exec(line)?.[1] ?? / ##(.*)$/.exec(line)?.[1] ?? "");
  const prose = lines.map((line) => asItem(line.replace(/^ /, "")).replace(COMMENTED_OUT, ""));
  return blocksOfMarkdown(prose.join("\n")).map((block) => ({ ...block, path, kind: "comment" }));
}

/** A key of YAML. */
const COMMENTED_OUT = /^ *[-\w"]+:( .*)?$/;

/** What stands in columns, such as `--name   what it does`, is an item for each line. */
function asItem(line: string): string {
  return line.replace(/^ *(?=\S.*\S {2,}\S)/, "- ");
}

/** What a file of TypeScript says to people: its string literals that are sentences, and its comments. */
export function blocksOfSource(path: string, source: string): readonly Block[] {
  const { program, comments } = parseSync(path, source);
  const lineAt = (offset: number) => source.slice(0, offset).split("\n").length;
  const messages = textsIn(program).filter(({ text }) => isProse(text));
  return [
    ...messages.flatMap(({ text, start }) => within({ path, kind: "message", line: lineAt(start) }, text)),
    ...joined(comments, lineAt).flatMap(({ text, line }) => within({ path, kind: "comment", line }, text)),
  ];
}

function within(place: Omit<Block, "text">, markdown: string): readonly Block[] {
  return blocksOfMarkdown(markdown).map(({ line, text }) => ({ ...place, line: place.line + line - 1, text }));
}

interface Text {
  readonly text: string;
  readonly start: number;
}

/** The texts of a syntax tree. Those that are added to one another are one. */
function textsIn(node: Node): readonly Text[] {
  if (node.type.startsWith("TS") && node.type !== "TSAsExpression" && node.type !== "TSSatisfiesExpression") return [];
  const text = textOf(node);
  if (text !== undefined) return [{ text, start: node.start }, ...nodesIn(node).flatMap(textsInValues)];
  return nodesIn(node).flatMap(textsIn);
}

/** What is put into a text may have a text in it. */
function textsInValues(node: Node): readonly Text[] {
  const isPart = node.type === "Literal" || node.type === "TemplateElement" || node.type === "BinaryExpression";
  return isPart ? [] : textsIn(node);
}

function textOf(node: Node): string | undefined {
  if (node.type === "Literal") return typeof node.value === "string" ? node.value : undefined;
  if (node.type === "JSXText") return node.value;
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked ?? "").join(CODE);
  if (node.type !== "BinaryExpression" || node.operator !== "+") return undefined;
  const [left, right] = [textOf(node.left as Node), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : `${left ?? CODE}${right ?? CODE}`;
}

function nodesIn(node: Node): readonly Node[] {
  const values = Object.values(node).flat() as unknown[];
  return values.filter((value): value is Node => typeof value === "object" && value !== null && "type" in value);
}

/** Whether people read it: four words and more, and no SQL, style sheet, shell or program. */
function isProse(text: string): boolean {
  if (
    /\b(SELECT|INSERT|UPDATE|DELETE FROM|CREATE|PRAGMA|WHERE|VALUES|ALTER|ORDER BY|AND|EXISTS)\b|=>|[{;]\n|\bCOMP\w+|\belse\b/.test(
      text,
    )
  )
    return false;
  return /(^|\s)\p{L}?\p{Ll}+,? \p{Ll}+,? (\S+ )*\p{Ll}+/u.test(text) && text.split(" ").length >= 4;
}

/** Comments of one line each that follow one another are one text. */
function joined(comments: readonly Comment[], lineAt: (offset: number) => number) {
  const texts: { text: string; line: number; last: number }[] = [];
  for (const { value, start, end, type } of comments) {
    const line = lineAt(start);
    // Each state of a list of states is an item: `open:    deliveries take slots`.
    const text = value.replaceAll(/^ *\*? ?/gm, "").replaceAll(/^(?=[a-z][a-z ]*: )/gm, "- ");
    const before = texts.at(-1);
    if (type === "Line" && before?.last === line - 1)
      Object.assign(before, { text: `${before.text}\n${text}`, last: line });
    else texts.push({ text, line, last: lineAt(end) });
  }
  return texts.filter(({ text }) => !text.startsWith("biome-ignore"));
}

interface MarkdownNode {
  readonly type: string;
  readonly value?: string;
  readonly children?: readonly MarkdownNode[];
  readonly position?: { readonly start: { readonly line: number } };
}

const markdown = unified().use(remarkParse).use(remarkGfm);

function blocksOfMarkdown(text: string): readonly Pick<Block, "line" | "text">[] {
  return blocksIn(markdown.parse(text) as MarkdownNode);
}

function blocksIn(node: MarkdownNode): readonly Pick<Block, "line" | "text">[] {
  if (["paragraph", "heading", "tableCell"].includes(node.type))
    return [{ line: node.position?.start.line ?? 1, text: plain(node) }];
  return (node.children ?? []).flatMap(blocksIn);
}

function plain(node: MarkdownNode): string {
  if (node.type === "inlineCode" || node.type === "image") return CODE;
  if (node.type === "html") return "";
  if (node.type === "break") return "\n";
  return node.value?.replaceAll(/(?<=\S) {2,}(?=\S)/g, ` ${CODE} `) ?? (node.children ?? []).map(plain).join("");
}
