import { doubtText } from "./doubts.ts";
import type { Finding } from "./problems.ts";
import type { Origin, References } from "./references.ts";
import { BROKEN, type Tree } from "./tree.ts";

type Context = {
  readonly tree: Tree;
  readonly reads: "text" | "number" | "boolean";
  /** Where the text ends in the file. */
  readonly end: number;
  readonly reading: TextReading;
};

/** What reading a text needs, and what it leaves behind. */
export type TextReading = {
  readonly text: string;
  readonly references: References;
  readonly findings: Finding[];
  /** Where the references in the values lead to, by the path of the value; for those who ask. */
  readonly origins?: Map<string, readonly Origin[]>;
};

/** Replaces the references in a text. What came out of one may also be a number or a boolean, where one is expected. */
export function readText(
  written: string,
  { tree, reads, end, reading }: Context,
): string | number | boolean | typeof BROKEN {
  const { text, faults, origins, known } = reading.references.expand(written);
  if (origins.length > 0) reading.origins?.set(tree.path, origins);
  for (const { reference, ...fault } of faults) {
    const at = reading.text.indexOf(reference, tree.at);
    reading.findings.push({ ...fault, path: tree.path, at: at >= 0 && at < end ? at : tree.at });
  }
  const doubt = doubtText(written, { secret: tree.got === null });
  if (doubt !== null) {
    reading.findings.push({ severity: "warning", path: tree.path, message: doubt, at: tree.at });
  }
  if (!known || faults.some(({ severity }) => severity === "error")) return BROKEN;
  return text === written ? text : converted(text, reads);
}

function converted(text: string, reads: Context["reads"]): string | number | boolean {
  if (reads === "number" && /^-?\d+(\.\d+)?$/.test(text)) return Number(text);
  if (reads === "boolean" && (text === "true" || text === "false")) return text === "true";
  return text;
}
