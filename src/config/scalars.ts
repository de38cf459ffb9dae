import { isMap, isNode, isScalar, isSeq, type ParsedNode, type Scalar } from "yaml";
import { suggest } from "./suggest.ts";

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
export function* parts(root: ParsedNode | null): Generator<Part> {
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
export type Part = { readonly node: ParsedNode; readonly role: "key" | "value"; readonly secret: boolean };

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
