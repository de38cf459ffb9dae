import type { ParsedNode } from "yaml";
import { isSecretKey, scalars } from "./scalars.ts";

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
  for (const [start, end] of secretRanges(contents)) {
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

/** Hides what is secret under any key: the user name and the password of a URL, and private keys. */
export function hideAnywhere(text: string): string {
  return hideUserInfo(hidePrivateKeys(text));
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

function secretRanges(contents: ParsedNode | null): readonly [number, number][] {
  const ranges: [number, number][] = [];
  for (const { node, secret } of scalars(contents)) {
    const quotes = node.type?.startsWith("QUOTE") ? 1 : 0;
    if (secret) ranges.push([node.range[0] + quotes, Math.max(node.range[0] + quotes, node.range[1] - quotes)]);
  }
  return ranges.sort(([a], [b]) => a - b);
}

function hideValue(value: string): string {
  return value.replace(REFERENCE, (all: string, name?: string, fallback?: string) =>
    name === undefined ? stars(all) : `${name}${fallback ? `:-${stars(fallback.slice(2))}` : ""}}`,
  );
}

function stars(text: string): string {
  return text.replace(/\S/g, "*");
}
