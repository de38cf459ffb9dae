import { hash } from "node:crypto";

export const KEY_BYTES = 16;

/** A string of four or more characters, each a byte: cheaper to make and to keep than a Buffer. */
export type Key = string;

/** Stands for a messageId of a source wherever repeats are recognised. */
export function keyOf(source: string, messageId: string): Key {
  return hash("sha256", nameOf(source, messageId), "latin1").slice(0, KEY_BYTES);
}

/**
 * Joins both so that ("a", "bc") and ("ab", "c") differ. The first form is quicker. The second, JSON, also distinguishes lone
 * surrogates, which UTF-8 cannot represent.
 */
function nameOf(source: string, messageId: string): string {
  const name = `${source.length} ${source}${messageId}`;
  return name.isWellFormed() ? name : JSON.stringify([source, messageId]);
}
