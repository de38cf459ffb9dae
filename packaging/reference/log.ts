import { MINUTE, SECOND } from "../../src/model/units.ts";
import { createLog } from "../../src/runtime/log.ts";
import { LOG_LINES, type LogLine } from "./log-lines.ts";
import { block, code, contents, page, prose, table } from "./markdown.ts";

/** The text of docs/reference/log.md. */
export function logPage(): string {
  return page(
    "packaging/reference/log-lines.ts",
    "# Lines of the log",
    contents(["How a line reads", "Repeated lines", ...Object.keys(LOG_LINES)]),
    "## How a line reads",
    prose(`A line has a level, a name (\`msg\`), and fields with the same names everywhere. An id is what commands take:
      \`delivery\` for \`fairlead deliveries show\` and \`fairlead replay\`, \`event\` (the messageId) for \`fairlead explain\`. A
      duration is \`next=42s\` in text, and in JSON a number of milliseconds with the unit in its key:`),
    block((["logfmt", "json"] as const).map(example).join("\n")),
    prose(`At the default \`log.level: info\`, debug lines are not written. Names are stable, words and the order of fields are
      not. [\`log\`](config/log.md) sets level and format.`),
    "## Repeated lines",
    prose(`Of many similar lines, the first is written; of deliveries that were given up, the first ten for each destination.
      The others are left out for ten seconds. Then one line with \`suppressed=\` has their number, and \`hint=\` says where they
      are listed. The same line is written before \`daemon.stopped\`.`),
    ...Object.entries(LOG_LINES).flatMap(([heading, lines]) => [
      `## ${heading}`,
      table(["name", "level", "what it says", "what to do"], Object.entries(lines).map(lineRow)),
    ]),
  );
}

function lineRow([name, { level, says, remedy = "" }]: [string, LogLine]): readonly string[] {
  return [code(name), [level].flat().join(", "), says, remedy];
}

/** A line as the daemon writes it. */
function example(format: "logfmt" | "json"): string {
  let written = "";
  const write = (line: string): void => {
    written += line;
  };
  const wall = () => Date.UTC(2026, 10, 20, 12);
  const log = createLog({ level: "debug", format, write, wall, isTerminal: false, journald: false });
  log.line("debug", "delivery.retrying", {
    delivery: "42-crm",
    event: "m-1",
    destination: "crm",
    attempt: 3,
    next: { ms: 42 * SECOND },
    age: { ms: 6 * MINUTE },
    reason: "503",
  });
  return written.trimEnd();
}
