/**
 * Hides secrets in the text of a config file, so that its lines can be shown. Each character of a secret becomes a `*`,
 * and every other character stays in its place.
 */
import { type Alias, isAlias, isCollection, isMap, isNode, isScalar, isSeq, type ParsedNode } from "yaml";
import type { Steps } from "./steps.ts";
import { suggest } from "./suggest.ts";

/** The values of these keys are never shown. */
const SECRET_KEYS = ["writeKey", "token", "readToken", "sharedSecret", "headers", "secret", "password"];

/** A reference with its default apart, or any other character. What only looks like one may be part of a password. */
const REFERENCE = /\$\$\{|(\$\{(?:[A-Za-z_]\w*|(?:file|credential):[^}]{1,1024}))(:-[^}]{0,1024})?\}|\S/g;

/** A private key as PEM, also one that never ends. */
const PRIVATE_KEY = /(-----BEGIN (?:[A-Z]{1,16} )?PRIVATE KEY-----)(.*?)(?=-----END|$)/gs;

/** A key and its colon. Starts at a whole word, so that a huge line without a colon does not take quadratic time. */
const KEY = /(?<![\w-])([\w-]{1,64})["']?\s*:/g;

/** The values of a file, and what its aliases stand for. */
export type Values = {
  readonly contents: ParsedNode | null;
  readonly anchors?: { find(alias: Alias): ParsedNode | null };
};

/** References such as `${NAME}` are not secret; the default in `${NAME:-default}` is. */
export function* hideSecrets(text: string, files: readonly Values[]): Steps<string> {
  let hidden = "";
  let done = 0;
  for (const [start, end] of yield* secretRanges(text, files)) {
    hidden += text.slice(done, start) + hideValue(text.slice(Math.max(done, start), end));
    done = Math.max(done, end);
  }
  return hideAnywhere(hidden + text.slice(done));
}

/** For a file with broken syntax. Not all of its values can be found, so it is searched line by line as well. */
export function* hideSecretsOfBroken(text: string, files: readonly Values[]): Steps<string> {
  const hidden = hidePrivateKeys(text).replace(/^.*$/gm, (line) => {
    const key = line.matchAll(KEY).find(([, name = ""]) => isSecretKey(name));
    if (!key) return line;
    const end = key.index + key[0].length;
    return line.slice(0, end) + hideValue(line.slice(end));
  });
  return yield* hideSecrets(hidden, files);
}

/** Hides what is secret under any key: the user name, the password and the query of a URL, and private keys. */
export function hideAnywhere(text: string): string {
  const hidden = hidePrivateKeys(text).replace(/[^\s"']+/g, hideUserInfo);
  // Also in what only looks like a URL: the value of `?name=` may be a token.
  return hidden.replace(/(\?[\w.-]{1,64}=)([^\s"']+)/g, (_, name: string, rest: string) => name + stars(rest));
}

function hidePrivateKeys(text: string): string {
  return text.replace(PRIVATE_KEY, (_, begin: string, body: string) => begin + stars(body));
}

/** Up to the last @: a password may hold anything. */
function hideUserInfo(word: string): string {
  const [start, end] = [word.indexOf("://") + 3, word.lastIndexOf("@")];
  return start < 3 || end < start ? word : word.slice(0, start) + stars(word.slice(start, end)) + word.slice(end);
}

type Range = readonly [start: number, end: number];

/** How many values are looked at in one step. */
const STEP = 100;

function* secretRanges(text: string, files: readonly Values[]): Steps<readonly Range[]> {
  const ranges: Range[] = [];
  let seen = 0;
  for (const { contents, anchors } of files) {
    for (const { node, secret } of nodesOf(contents, anchors?.find)) {
      if (secret) ranges.push(...rangesOf(node, text));
      seen += 1;
      if (seen % STEP === 0) yield;
    }
  }
  return ranges.sort(([a], [b]) => a - b);
}

/** A password without quotes may look like an anchor, a tag or an alias, and end in what looks like a comment. */
function rangesOf(node: ParsedNode, text: string): readonly Range[] {
  const [start, end] = node.range;
  const comment = /[ \t]*#[^\n]*/y;
  comment.lastIndex = end;
  const around: Range[] = [
    [startOfMarks(node, text), start],
    [end, comment.test(text) ? comment.lastIndex : end],
  ];
  if (isCollection(node)) return around;
  const quotes = isScalar(node) && node.type?.startsWith("QUOTE") ? 1 : 0;
  return [...around, [start + quotes, Math.max(start + quotes, end - quotes)]];
}

function startOfMarks(node: ParsedNode, text: string): number {
  const start = node.range[0];
  if (isAlias(node)) return start;
  const anchor = node.anchor === undefined ? start : markBefore(`&${node.anchor}`, { text, start });
  return node.tag === undefined ? anchor : Math.min(anchor, markBefore("!", { text, start }));
}

/** The place of the anchor or the tag before a node that starts at `start`. */
export function markBefore(mark: string, { text, start }: { text: string; start: number }): number {
  const at = text.lastIndexOf(mark, start);
  return at === -1 ? start : at;
}

function hideValue(value: string): string {
  return value.replace(REFERENCE, (all: string, name?: string, fallback?: string) =>
    name === undefined ? stars(all) : `${name}${fallback ? `:-${stars(fallback.slice(2))}` : ""}}`,
  );
}

function stars(text: string): string {
  return text.replace(/\S/g, "*");
}

/** A field of a call, in a condition of `where`: what it is compared with may be a secret that the sender knows. */
const SECRET_FIELD = /^(properties|traits|context)\.(.*\.)?(token|secret|password)$/i;

/** True also of a misspelt secret key: its value is as secret. */
export function isSecretKey(key: string): boolean {
  return suggest(key, SECRET_KEYS) !== null || SECRET_FIELD.test(key);
}

/** A key as the file has it: `123` and `true` are names like others. Null if it is not simple text. */
export function keyText(key: unknown): string | null {
  if (!isScalar(key) || key.value === null) return null;
  return typeof key.value === "string" ? key.value : (key.source ?? null);
}

/** What is secret of a node and of the nodes in it. Of headers and fields only the values are: their names can be shown. */
type Secrecy = "nothing" | "values" | "all";

/**
 * Every node, keys included. What an alias stands for comes again if the alias stands for a secret. Keeps a list instead of
 * recursing, which would fail on a very deep file.
 */
export function* nodesOf(
  root: ParsedNode | null,
  find: (alias: Alias) => ParsedNode | null = () => null,
): Generator<{ readonly node: ParsedNode; readonly secret: boolean }> {
  const rest: { readonly node: unknown; readonly secrecy: Secrecy }[] = [{ node: root, secrecy: "nothing" }];
  const followed = new Map<ParsedNode, Secrecy>();
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, secrecy } = next;
    if (!isNode(node) || !node.range) continue;
    yield { node: node as ParsedNode, secret: secrecy !== "nothing" };
    const target = isAlias(node) && secrecy !== "nothing" ? find(node) : null;
    if (target && followed.get(target) !== "all" && followed.get(target) !== secrecy) {
      followed.set(target, secrecy);
      rest.push({ node: target, secrecy });
    }
    // One by one: a function takes no more than about 100,000 arguments.
    if (isSeq(node)) for (const item of node.items) rest.push({ node: item, secrecy });
    if (!isMap(node)) continue;
    for (const { key, value } of node.items) {
      rest.push({ node: key, secrecy: secrecy === "all" ? "all" : "nothing" });
      // What a merge key brings is as secret as what it is merged into.
      if (keyText(key) === "<<") {
        rest.push({ node: value, secrecy });
        continue;
      }
      rest.push({ node: value, secrecy: secrecy === "nothing" ? secrecyBelow(key) : "all" });
    }
  }
}

function secrecyBelow(key: unknown): Secrecy {
  const text = keyText(key) ?? "";
  const meant = suggest(text, SECRET_KEYS);
  if (meant === "headers" || SECRET_FIELD.test(text)) return "values";
  return meant === null ? "nothing" : "all";
}
