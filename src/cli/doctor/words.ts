import { printable } from "../printable.ts";
import { type Finding, LEVELS, type Level, worstOf } from "./finding.ts";

/** One page for people. */
export function toWords(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ check, level, code, what, remedy }) => {
    const head = `${level.padEnd(8)} ${check.padEnd(9)}`;
    const tag = code === "ok" ? "" : ` [${code}]`;
    return [`${head} ${printable(what)}${tag}`, ...(remedy === undefined ? [] : [`${INDENT}→ ${printable(remedy)}`])];
  });
  return [...lines, "", `${sentence(findings)}.`].join("\n");
}

const INDENT = " ".repeat(19);

function sentence(findings: readonly Finding[]): string {
  if (worstOf(findings) === "ok") return "All is well";
  const counts = LEVELS.toReversed().map(
    (level) => [level, findings.filter((one) => one.level === level).length] as const,
  );
  const said = counts
    .filter(([level, count]) => level !== "ok" && count > 0)
    .map(([level, count]) => words(level, count));
  return said.join(", ");
}

function words(level: Level, count: number): string {
  if (level === "skipped") return `${count} could not be looked at from here`;
  return `${count} ${level}${count === 1 ? "" : "s"}`;
}

/** The same for programs. */
export function toJson(findings: readonly Finding[], version: string): string {
  return JSON.stringify({ version, worst: worstOf(findings), findings });
}
