import { isMap, isScalar, isSeq, type ParsedNode, type Scalar } from "yaml";
import { suggest } from "./suggest.ts";

/** A value that is not a map or a list, and whether it must not be shown. */
export type Found = { readonly node: Scalar.Parsed; readonly secret: boolean };

/** What stands under one of these keys is never shown. */
const SECRET_KEYS = ["writeKey", "token", "sharedSecret", "headers"];

/** True also of a misspelt secret key, whose value is as secret as if it had been spelt right. */
export function isSecretKey(key: string): boolean {
  return suggest(key, SECRET_KEYS) !== null;
}

/** A key as the file has it: `123` and `true` are names like others. Null if it is not simple text. */
export function keyText(key: unknown): string | null {
  if (!isScalar(key) || key.value === null) return null;
  return typeof key.value === "string" ? key.value : (key.source ?? null);
}

/** Walks over all scalars but keys. Goes by a list of its own, as a recursion would fail on a very deep file. */
export function* scalars(root: ParsedNode | null): Generator<Found> {
  const rest: { node: unknown; secret: boolean }[] = [{ node: root, secret: false }];
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { node, secret } = next;
    if (isScalar(node) && node.range) yield { node: node as Scalar.Parsed, secret };
    if (isSeq(node)) rest.push(...node.items.map((item) => ({ node: item, secret })));
    if (!isMap(node)) continue;
    for (const { key, value } of node.items) {
      rest.push({ node: value, secret: secret || isSecretKey(keyText(key) ?? "") });
    }
  }
}
