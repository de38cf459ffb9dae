// The commands of a page of the manual, as a reader would type them: into which terminal, and in which order.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../binary/binary.ts";

/** A fenced block of `sh`. */
export type Block = {
  readonly page: string;
  /** The heading that it stands under, without its signs. */
  readonly heading: string;
  readonly line: number;
  /** `notest`: an alternative, or not for a script. `background`: keeps its terminal, such as a daemon. */
  readonly mark: "" | "notest" | "background";
  readonly text: string;
};

/** What is typed into one terminal. */
export type Terminal = {
  /** Runs to its end before anything else happens. */
  readonly first: string;
  /** Then goes on until somebody ends it; what comes after is typed into another terminal. */
  readonly staying: string;
};

const MARKS = ["", "notest", "background"] as const;

/** The blocks of a page in their order. Throws at a mark that nothing is known of. */
export function blocksOf(page: string): readonly Block[] {
  return parseBlocks(page, readFileSync(join(ROOT, page), "utf8"));
}

export function parseBlocks(page: string, text: string): readonly Block[] {
  const blocks: Block[] = [];
  let heading = "";
  let fence: { readonly info: string; readonly line: number; readonly lines: string[] } | undefined;
  for (const [at, line] of text.split("\n").entries()) {
    if (fence === undefined) {
      heading = /^#+ (.+)$/.exec(line)?.[1] ?? heading;
      const [opened, info = ""] = /^```(.*)$/.exec(line) ?? [];
      if (opened !== undefined) fence = { info: info.trim(), line: at + 1, lines: [] };
    } else if (line === "```") {
      const [language, mark = ""] = fence.info.split(/ +/);
      if (language === "sh") {
        const known = MARKS.find((one) => one === mark);
        if (known === undefined) throw new Error(`${page}:${fence.line}: there is no mark ${mark}`);
        blocks.push({ page, heading, line: fence.line, mark: known, text: `${fence.lines.join("\n")}\n` });
      }
      fence = undefined;
    } else {
      fence.lines.push(line);
    }
  }
  if (fence) throw new Error(`${page}:${fence.line}: the block has no end`);
  return blocks;
}

/** A block that stays ends its terminal. Blocks that are not to be run are left out. */
export function terminalsOf(blocks: readonly Block[]): readonly Terminal[] {
  const terminals: Terminal[] = [];
  let first = "";
  for (const { mark, text } of blocks) {
    if (mark === "") first += text;
    if (mark !== "background") continue;
    terminals.push({ first, staying: text });
    first = "";
  }
  return first === "" ? terminals : [...terminals, { first, staying: "" }];
}
