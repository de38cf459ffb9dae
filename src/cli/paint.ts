import { styleText } from "node:util";

/** Where a text goes. */
type Stream = "out" | "err";

let colored: Readonly<Record<Stream, boolean>> = { out: false, err: false };

/** Switches colours on, where the machine has them. One process runs one command. */
export function useColors(streams: Readonly<Record<Stream, boolean>>): void {
  colored = streams;
}

let columns: number | null = null;

/** Makes lines fit a terminal of so many columns; null for a pipe, whose reader wants all of them. */
export function useColumns(width: number | null): void {
  columns = width;
}

/** What a line must not be wider than, if there is a limit. */
export function columnsToFit(): number | null {
  return columns;
}

/** Paints a text that is printed on standard output; with `err`, on standard error. Foreign text must be printable before. */
export const paint = {
  /** An error, or what is lost. */
  bad: painter("red"),
  warning: painter("yellow"),
  good: painter("green"),
  /** Less important than the rest, as the head of a table. */
  faint: painter("dim"),
  strong: painter("bold"),
} as const;

export type Painter = (text: string, stream?: Stream) => string;

function painter(style: "red" | "yellow" | "green" | "dim" | "bold"): Painter {
  return (text, stream = "out") => {
    if (!colored[stream] || text === "") return text;
    return styleText(style, text, { validateStream: false });
  };
}

const STYLES = new RegExp(`${String.raw`\u001B`}\\[\\d+m`, "g");

/** The columns of a painted text. */
export function widthOf(text: string): number {
  return text.replace(STYLES, "").length;
}
