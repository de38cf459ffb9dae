import { isAlias, isCollection, isMap, isNode, isScalar, isSeq, type ParsedNode, type Scalar } from "yaml";
import { lastOf } from "./read.ts";
import { suggest } from "./suggest.ts";

/** A reference with its default apart, or any other character. What only looks like one may be part of a password. */
const REFERENCE = /\$\$\{|(\$\{(?:[A-Za-z_]\w*|(?:file|credential):[^}]{1,1024}))(:-[^}]{0,1024})?\}|\S/g;

/** A private key as PEM, also one that never ends. */
const PRIVATE_KEY = /(-----BEGIN (?:[A-Z]{1,16} )?PRIVATE KEY-----)(.*?)(?=-----END|$)/gs;

/** A key and its colon. Starts at a whole word, so that a huge line without a colon does not take quadratic time. */
const KEY = /(?<![\w-])([\w-]{1,64})["']?\s*:/g;

/**
 * The text of the file with a `*` for every character of a secret, so that its lines can be shown and every place in
 * it stays where it was. References such as `${NAME}` are no secrets; the default in `${NAME:-default}` is.
 */
export function hideSecrets(text: string, contents: ParsedNode | null): string {
  let hidden = "";
  let done = 0;
  for (const [start, end] of secretRanges(text, contents)) {
    hidden += text.slice(done, start) + hideValue(text.slice(Math.max(done, start), end));
    done = Math.max(done, end);
  }
  return hideAnywhere(hidden + text.slice(done));
}

/** The same for a file whose syntax is broken, so that its values cannot all be found: goes by lines as well. */
export function hideSecretsOfBroken(text: string, contents: ParsedNode | null): string {
  const hidden = hidePrivateKeys(text).replace(/^.*$/gm, (line) => {
    const key = line.matchAll(KEY).find(([, name = ""]) => isSecretKey(name));
    if (!key) return line;
    const end = key.index + key[0].length;
    return line.slice(0, end) + hideValue(line.slice(end));
  });
  return hideSecrets(hidden, contents);
}

/** Hides what is secret under any key: the user name, the password and the query of a URL, and private keys. */
export function hideAnywhere(text: string): string {
  return hideQueries(hideUserInfo(hidePrivateKeys(text)));
}

/** What stands behind `?name=`, also in what only looks like a URL: it may be a token. */
function hideQueries(text: string): string {
  return text.replace(/(\?[\w.-]{1,64}=)([^\s"']+)/g, (_, name: string, rest: string) => name + stars(rest));
}

function hidePrivateKeys(text: string): string {
  return text.replace(PRIVATE_KEY, (_, begin: string, body: string) => begin + stars(body));
}

/** Up to the last @: a password may hold anything. */
function hideUserInfo(text: string): string {
  return text.replace(/[^\s"']+/g, (word) => {
    const [start, end] = [word.indexOf("://") + 3, word.lastIndexOf("@")];
    return start < 3 || end < start ? word : word.slice(0, start) + stars(word.slice(start, end)) + word.slice(end);
  });
}

function secretRanges(text: string, contents: ParsedNode | null): readonly Range[] {
  const ranges: Range[] = [];
  for (const { node, secret } of parts(contents)) if (secret) ranges.push(...rangesOf(node, text));
  return ranges.sort(([a], [b]) => a - b);
}

type Range = readonly [start: number, end: number];

/**
 * What of a secret node is not to be seen. A password without quotes may look like an anchor, a tag or an alias, and
 * end in what looks like a comment.
 */
function rangesOf(node: ParsedNode, text: string): readonly Range[] {
  const [start, end] = node.range;
  const comment = /[ \t]*#[^\n]*/y;
  comment.lastIndex = end;
  const ranges: Range[] = [
    [marksOf(node, text), start],
    [end, comment.test(text) ? comment.lastIndex : end],
  ];
  if (isCollection(node)) return ranges;
  const quotes = isScalar(node) && node.type?.startsWith("QUOTE") ? 1 : 0;
  return [...ranges, [start + quotes, Math.max(start + quotes, end - quotes)]];
}

function marksOf(node: ParsedNode, text: string): number {
  const start = node.range[0];
  if (isAlias(node)) return start;
  const anchor = node.anchor === undefined ? start : lastOf(`&${node.anchor}`, { text, start });
  return node.tag === undefined ? anchor : Math.min(anchor, lastOf("!", { text, start }));
}

function hideValue(value: string): string {
  return value.replace(REFERENCE, (all: string, name?: string, fallback?: string) =>
    name === undefined ? stars(all) : `${name}${fallback ? `:-${stars(fallback.slice(2))}` : ""}}`,
  );
}

function stars(text: string): string {
  return text.replace(/\S/g, "*");
}

/** What stands under one of these keys is never shown. */
const SECRET_KEYS = ["writeKey", "token", "sharedSecret", "headers", "secret", "password"];

/** True also of a misspelt secret key, whose value is as secret as if it had been spelt right. */
export function isSecretKey(key: string): boolean {
  return suggest(key, SECRET_KEYS) !== null;
}

/** A key as the file has it: `123` and `true` are names like others. Null if it is not simple text. */
export function keyText(key: unknown): string | null {
  if (!isScalar(key) || key.value === null) return null;
  return typeof key.value === "string" ? key.value : (key.source ?? null);
}

/** All scalars but keys. */
export function* scalars(root: ParsedNode | null): Generator<Scalar.Parsed> {
  for (const { node, role } of parts(root)) if (isScalar(node) && role === "value") yield node;
}

/** Walks over all nodes. Goes by a list of its own, as a recursion would fail on a very deep file. */
function* parts(root: ParsedNode | null): Generator<Part> {
  const rest: Unread[] = [{ node: root, role: "value", secret: "nothing" }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, role, secret } = next;
    if (!isNode(node) || !node.range) continue;
    yield { node: node as ParsedNode, role, secret: secret === "all" || (secret === "values" && role === "value") };
    // One by one: a function takes no more than some 100,000 arguments.
    if (isSeq(node)) for (const item of node.items) rest.push({ node: item, role, secret });
    if (!isMap(node)) continue;
    for (const { key, value } of node.items) {
      rest.push({ node: key, role: "key", secret }, { node: value, role: "value", secret: below(secret, key) });
    }
  }
}

/** A node, and whether it must not be shown. */
type Part = { readonly node: ParsedNode; readonly role: "key" | "value"; readonly secret: boolean };

/** What is secret of a node and of what is in it. */
type Secrecy = "nothing" | "values" | "all";
type Unread = { readonly node: unknown; readonly role: Part["role"]; readonly secret: Secrecy };

function below(secret: Secrecy, key: unknown): Secrecy {
  if (secret !== "nothing") return "all";
  const meant = suggest(keyText(key) ?? "", SECRET_KEYS);
  // The names of headers are no secrets.
  if (meant === "headers") return "values";
  return meant === null ? "nothing" : "all";
}
