import { fill } from "../config-example.ts";

const COLUMNS = 140;

/** The first line of a written page: where its content is changed. */
export function writtenFrom(sources: string): string {
  return `${WRITTEN} from ${sources}: change it there. -->`;
}

const WRITTEN = "<!-- Written by `make reference`";

export function isWritten(text: string): boolean {
  return text.startsWith(WRITTEN);
}

/** A page of paragraphs, tables and code blocks. */
export function page(sources: string, ...parts: readonly string[]): string {
  return `${[writtenFrom(sources), ...parts].join("\n\n")}\n`;
}

/** A paragraph, wrapped. A line break in the text counts as a space. */
export function prose(text: string): string {
  return fill(text, COLUMNS).join("\n");
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replace(/\s+/g, " ").trim()).join(" | ")} |`.replaceAll(/ {2,}/g, " ");
}

/** Code in a line or in a cell: a bar would end the cell. */
export function code(text: string): string {
  return `\`${text.replaceAll("|", "\\|")}\``;
}

/** A code block. Without a language it is output. */
export function block(text: string, language = ""): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

/** Escapes what Markdown and HTML would read as their own, outside of code. */
export function escaped(text: string): string {
  return text.replace(/`[^`]*`|[*<|]/g, (found) => {
    if (found === "<") return "&lt;";
    return found.length === 1 ? `\\${found}` : found;
  });
}

/** The anchor that GitHub and the site derive from a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");
}

/** Links to the headings of this page. */
export function contents(headings: readonly string[]): string {
  return headings.map((heading) => `[${heading}](#${anchorOf(heading)})`).join(" · ");
}

export function enumerate(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A text as a sentence. */
export function sentence(text: string): string {
  return /[.:!?]$/.test(text) ? capitalized(text) : `${capitalized(text)}.`;
}
