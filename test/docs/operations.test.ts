import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";
import { MINUTE, SECOND } from "../../src/model/units.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createReport } from "../../src/runtime/report.ts";
import { createFalseClock } from "../flow/clock.ts";
import { delivery, progress } from "../runtime/start-report.ts";

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url));
}

function read(name: string): string {
  return readFileSync(pathOf(name), "utf8");
}

/** From a heading to the next of its kind. */
function section(text: string, heading: string): string {
  const [level = ""] = heading.split(" ");
  const [, after] = text.split(`\n${heading}\n`);
  assert.ok(after !== undefined, `there is no ${heading}`);
  return after.split(new RegExp(`\n#{1,${level.length}} `))[0] ?? "";
}

/** What stands in backticks in the first column of the tables. */
function firstColumn(text: string): readonly string[] {
  const cells = [...text.matchAll(/^\| ([^|]*) \|/gm)].map(([, cell = ""]) => cell);
  return cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}

/** All that a part of a name can be which is put in when the line is written. */
const PARTS: Readonly<Record<string, () => readonly string[]>> = {
  "daemon.${what}": () => {
    const [, events = ""] = /type DaemonEvent =([^;]+);/.exec(read("src/model/report.ts")) ?? [];
    return [...events.matchAll(/"(\w+)"/g)].map(([, event]) => `daemon.${event}`);
  },
  "deletion.${deletion.status}": () => ["deletion.finished", "deletion.failed"],
  "attempt.${outcome}": () => ["attempt.delivered", "attempt.released"],
  "delivery.${state}": () => ["delivery.delivered", "delivery.failed", "delivery.expired"],
  "${open.computation.class}.sync_started": () => ofBoth("sync_started"),
  "${open.computation.class}.sync_finished": () => ofBoth("sync_finished"),
  "${open.computation.class}.sync_waits": () => ofBoth("sync_waits"),
  "${kind}.sync_failed": () => ofBoth("sync_failed"),
  // The name of a key.
  "outbox.${bound}": () => [],
};

function ofBoth(what: string): readonly string[] {
  return [`audience.${what}`, `trait.${what}`];
}

/** The name of each line that the daemon can write. */
function namesOfLines(): readonly string[] {
  const files = readdirSync(pathOf("src/runtime")).filter((name) => /^report.*\.ts$/.test(name));
  const text = files.map((name) => read(`src/runtime/${name}`)).join("\n");
  const found = [
    ...text.matchAll(/"([a-z]+\.[a-z_]+)"|`(?=[^`]*\$\{)((?:[a-z]+|\$\{[\w.]+\})\.(?:[a-z_]+|\$\{[\w.]+\}))`/g),
  ];
  const names = found.flatMap(([, plain, template]) => {
    if (template === undefined) return [plain ?? ""];
    const parts = PARTS[template];
    assert.ok(parts, `this test does not know what \`${template}\` can be`);
    return parts();
  });
  return [...new Set(names)].sort();
}

/** A delivery that is tried again, as the log has it. */
function writeLine(format: "logfmt" | "json"): string {
  let written = "";
  const write = (line: string): void => {
    written += line;
  };
  const clock = createFalseClock();
  const options = { level: "debug", isTerminal: false, journald: false } as const;
  const log = createLog({ ...options, format, write, wall: clock.wall });
  const metrics = createMetrics({ clock, version: "1", runtime: "test" });
  const reason = { state: "waiting", dueAt: 6 * MINUTE + 42 * SECOND, reason: "503" } as const;
  createReport({ log, metrics, clock }).settled({ ...delivery, id: 42 }, { ...progress, ...reason });
  return written;
}

describe("docs/operate/index.md", () => {
  const troubleshooting = section(read("docs/operate/index.md"), "## Troubleshooting");

  it("says of each line of the log what it means, and of no other", () => {
    const names = namesOfLines();
    assert.ok(names.length > 40, `${names.length} lines`);
    assert.deepEqual(firstColumn(section(troubleshooting, "### Lines of the log")).toSorted(), names);
  });

  it("shows a line of the log as it is written, for people and as JSON", () => {
    const text = section(troubleshooting, "### Lines of the log");
    for (const format of ["logfmt", "json"] as const) {
      const line = writeLine(format);
      assert.ok(text.includes(`\n${line}`), line);
    }
  });

  it("says of each outcome of an attempt what to do", () => {
    const text = read("src/runtime/report.ts");
    const [, statuses = ""] = /const STATUS_OUTCOMES = \[([^\]]+)\]/.exec(text) ?? [];
    const byStatus = [...statuses.matchAll(/"(status_\w+)"/g)].map(([, outcome]) => outcome);
    const [, kinds = ""] = /type Answer =([\s\S]+?)\n\n/.exec(read("src/model/delivery.ts")) ?? [];
    const byKind = [...kinds.matchAll(/kind: "(\w+)"/g)].map(([, kind]) => kind).filter((kind) => kind !== "answered");
    const all = [...byStatus, "status_other", ...byKind];
    assert.deepEqual(firstColumn(section(troubleshooting, "### Attempts that fail")).toSorted(), all.toSorted());
  });

  it("has each code that docs/reference/http-api.md has not, with its status", () => {
    const ofCalls = firstColumn(section(read("docs/reference/http-api.md"), "## The codes"));
    const refused = section(troubleshooting, "### What commands and the operator's API refuse");
    // `forbidden_origin` means something else at each door.
    const others = Object.keys(FAULT_STATUS).filter((code) => !ofCalls.includes(code) || code === "forbidden_origin");
    assert.deepEqual(firstColumn(refused).toSorted(), others.toSorted());
    for (const [row, cell = "", status] of refused.matchAll(/^\| ([^|]*) \| (\d{3}) \|/gm)) {
      for (const code of firstColumn(`| ${cell} |`)) assert.equal(FAULT_STATUS[code as FaultCode], Number(status), row);
    }
  });

  it("has each alert of packaging/prometheus/alerts.yaml, with its severity", () => {
    const rules = [...read("packaging/prometheus/alerts.yaml").matchAll(/alert: (\w+)[\s\S]*?severity: (\w+)/g)];
    const rows = section(read("docs/operate/index.md"), "## Monitoring");
    assert.ok(rules.length > 10);
    assert.deepEqual(firstColumn(rows).toSorted(), rules.map(([, name]) => name).toSorted());
    for (const [, name = "", severity = ""] of rules) {
      assert.match(rows, new RegExp(`^\\| [^|]*\`${name}\`[^|]* \\| [^|]*${severity}`, "m"), name);
    }
  });
});
