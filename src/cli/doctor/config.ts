import type { Problem } from "../../model/config.ts";
import type { At } from "../../model/units.ts";
import { type Finding, say } from "./finding.ts";

export type ConfigFacts =
  | { readonly kind: "unreadable"; readonly message: string; readonly remedy: string | null }
  | {
      readonly kind: "read";
      readonly file: string;
      readonly modifiedAt: At;
      readonly problems: readonly Problem[];
      /** As `1 source, 2 destinations`. */
      readonly summary: string;
      /** What the running daemon did with it; null if none answers. */
      readonly daemon: { readonly file: string; readonly readAt: At; readonly refused: boolean } | null;
    };

/** Whether the config can be used, and all that is wrong with it. */
export function judgeConfig(facts: ConfigFacts): readonly Finding[] {
  const { ok, error, warning } = say("config");
  if (facts.kind === "unreadable") return [error("config_unreadable", facts.message, facts.remedy ?? NAME_IT)];
  const taken = isTaken(facts);
  const findings = facts.problems.map((problem) => {
    const what = describe(problem);
    if (problem.severity === "warning") return warning("config_doubtful", what, SEE_CHECK);
    return taken ? warning("config_unlike_here", what, UNLIKE_HERE) : error("config_invalid", what, SEE_CHECK);
  });
  return findings.length > 0 ? findings : [ok(`${facts.file} is valid: ${facts.summary}`)];
}

const NAME_IT = "name it with --config, or run fairlead doctor as root";
const SEE_CHECK = "fairlead check shows the line";
const UNLIKE_HERE =
  "the daemon has read this file without it: here, a variable or a file is missing that the daemon has";

/** Variables and credentials of a service are not those of a shell: what the daemon has taken is no error. */
function isTaken({ file, modifiedAt, daemon }: Extract<ConfigFacts, { kind: "read" }>): boolean {
  return daemon !== null && daemon.file === file && !daemon.refused && daemon.readAt >= modifiedAt;
}

function describe({ file, line, column, path, message }: Problem): string {
  return `${file}:${line}:${column}: ${path === "" ? "" : `${path}: `}${message}`;
}
