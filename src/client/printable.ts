/**
 * Control characters, those that turn the direction of writing, and those that are not seen: what stands there would not be
 * what is read.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** Text of others, made safe to print: nobody who sends it may write to the terminal. JSON stays the same JSON. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => character.split("").map(escaped).join(""));
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
