import { readFileSync } from "node:fs";

/** The columns of the table. */
export const CHAOS_CLIENTS = [
  "`fairlead/client`",
  "`fairlead/segment`",
  "`@segment/analytics-node` 3.1",
  "the same, 2.3",
  "`analytics-node` 6.2",
  "`rudder-sdk-node` 3.0",
];

/** The table in docs/send/fairlead-failures.md: what became of the calls at each fault, by client, ours first. */
export function readChaosTable(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync("docs/send/fairlead-failures.md", "utf8");
  const [, section = ""] = text.split("## When the server fails\n");
  const [table = ""] = section.split("\n## ");
  const rows = table.split("\n").filter((line) => line.startsWith("| "));
  return new Map(
    rows.map((row) => {
      const [name = "", ...cells] = row.slice(2, -2).split(" | ");
      return [name, cells];
    }),
  );
}
