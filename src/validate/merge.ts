import type { JsonObject } from "../model/event.ts";
import { isEmptyList, isObject } from "./shape.ts";

/**
 * Lays `under` beneath `over`: a key that both have is that of `over`. What is not an object is left as it is, for the
 * check of its shape to refuse. Spreading keeps a key named `__proto__` as data.
 */
export function mergeUnder(under: JsonObject | null, over: JsonObject | undefined): JsonObject | undefined;
export function mergeUnder(under: JsonObject | null, over: unknown): unknown;
export function mergeUnder(under: JsonObject | null, over: unknown): unknown {
  if (under === null) return over;
  if (over === undefined || over === null || isEmptyList(over)) return under;
  return isObject(over) ? { ...under, ...over } : over;
}
