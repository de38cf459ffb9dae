import { isMap, isPair, isScalar, isSeq, type Node, parseDocument } from "yaml";
import { formatProblem } from "../../config/problems.ts";
import { placeOf } from "../../model/json.ts";

/** The keys and indexes that lead to a value. */
export type Path = readonly (string | number)[];

export type PlanFault = { readonly path: Path; readonly on: "key" | "value"; readonly message: string };

type Text = { readonly text: string; readonly file: string };

/** The faults as people read them: with line and column, in their order in the file. JSON is YAML, whose parser keeps the places. */
export function toProblems(faults: readonly PlanFault[], { text, file }: Text): readonly string[] {
  const { contents } = parseDocument(text, { uniqueKeys: false, logLevel: "silent" });
  const found = faults.map((fault) => ({ ...fault, at: offsetOf(contents, fault) }));
  const sorted = found.toSorted((one, other) => one.at - other.at);
  return sorted.map(({ at, path, message }) => {
    const { line, column } = placeOf(text, at);
    const shown = text.split("\n")[line - 1] ?? "";
    return formatProblem({ severity: "error", file, line, column, path: format(path), message, text: shown });
  });
}

/** Where a key or a value begins; where its parent does if it is not found. */
function offsetOf(contents: Node | null, { path, on }: PlanFault): number {
  let node: unknown = contents;
  let at = startOf(contents);
  for (const [index, step] of path.entries()) {
    const next: unknown = isMap(node)
      ? node.items.findLast(({ key }) => isScalar(key) && String(key.value) === String(step))
      : isSeq(node) && node.items[Number(step)];
    const isLast = index === path.length - 1;
    node = isPair(next) && !(isLast && on === "key") ? next.value : isPair(next) ? next.key : next;
    at = startOf(node) ?? at;
  }
  return at ?? 0;
}

function startOf(node: unknown): number | undefined {
  return (node as Node | null | undefined)?.range?.[0];
}

/** As a program would write it: `events["Order Completed"].properties.total`. */
export function format(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === "number") return `${text}[${step}]`;
    if (!/^[\w$]+$/.test(step)) return `${text}[${JSON.stringify(step)}]`;
    return text === "" ? step : `${text}.${step}`;
  }, "");
}
