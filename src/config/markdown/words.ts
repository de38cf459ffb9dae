import { fill } from "../wrap.ts";

const COLUMNS = 140;

/** A paragraph, in lines that are not too long. Line breaks in the text are as good as spaces. */
export function prose(text: string): string {
  return fill(text, COLUMNS).join("\n");
}

/** Text that knows no Markdown but code: a star outside of it would begin italics. */
export function escaped(text: string): string {
  return text.replace(/`[^`]*`|\*/g, (found) => (found === "*" ? "\\*" : found));
}

/** To the heading of a key, by the name that viewers of Markdown give it. */
export function link(path: string): string {
  return `[\`${path}\`](#${path.toLowerCase().replace(/[^a-z\d-]/g, "")})`;
}

export function enumerate(words: readonly string[]): string {
  return `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
