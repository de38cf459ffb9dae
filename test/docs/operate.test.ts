import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url));
}

function read(name: string): string {
  return readFileSync(pathOf(name), "utf8");
}

/** What stands in backticks in the first column of the tables. */
function firstColumn(text: string): readonly string[] {
  const cells = [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

describe("docs/operate", () => {
  it("says of each outcome of an attempt what to do", () => {
    const text = read("src/runtime/report.ts");
    const [, statuses = ""] = /const STATUS_OUTCOMES = \[([^\]]+)\]/.exec(text) ?? [];
    const byStatus = [...statuses.matchAll(/"(status_\w+)"/g)].map(([, outcome]) => outcome);
    const [, kinds = ""] = /type Answer =([\s\S]+?)\n\n/.exec(read("src/model/delivery.ts")) ?? [];
    const byKind = [...kinds.matchAll(/kind: "(\w+)"/g)].map(([, kind]) => kind).filter((kind) => kind !== "answered");
    const all = [...byStatus, "status_other", ...byKind];
    const [outcomes = ""] = read("docs/operate/attempts.md").split("\n## ");
    assert.deepEqual(firstColumn(outcomes).toSorted(), all.toSorted());
  });

  it("has each alert of packaging/prometheus/alerts.yaml, with its severity", () => {
    const rules = [...read("packaging/prometheus/alerts.yaml").matchAll(/alert: (\w+)[\s\S]*?severity: (\w+)/g)];
    const rows = [...read("docs/operate/monitoring.md").matchAll(/^\| `Fairlead.*$/gm)].join("\n");
    assert.ok(rules.length > 10);
    assert.deepEqual(firstColumn(rows).toSorted(), rules.map(([, name]) => name).toSorted());
    for (const [, name = "", severity = ""] of rules) {
      assert.match(rows, new RegExp(`^\\| [^|]*\`${name}\`[^|]* \\| [^|]*${severity}`, "m"), name);
    }
  });
});
