// The generated pages of docs/reference/, against the code: each is what `make reference` writes, and nothing is left out.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { OF_COMMANDS, OF_OUTBOXES, PROBLEMS } from "../../packaging/reference/codes.ts";
import { LOG_LINES, type LogLine } from "../../packaging/reference/log-lines.ts";
import { declaredMetrics } from "../../packaging/reference/metrics.ts";
import { REFERENCE, referencePages, writtenPages } from "../../packaging/reference/write.ts";
import type { LogLevel } from "../../src/model/config.ts";
import { FAULT_STATUS } from "../../src/model/fault.ts";
import { MINUTE, SECOND } from "../../src/model/units.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createReport } from "../../src/runtime/report.ts";
import { createFalseClock } from "../flow/clock.ts";
import { delivery, progress } from "../runtime/start-report.ts";

const PAGES = await referencePages();

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url));
}

function read(name: string): string {
  return readFileSync(pathOf(name), "utf8");
}

function pageOf(name: string): string {
  return PAGES.get(name) ?? assert.fail(`there is no ${name}`);
}

/** The sources in a folder as one text. */
function sourcesOf(folder: string): string {
  const names = readdirSync(pathOf(folder), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(".ts"))
    .map((name) => read(`${folder}/${name}`))
    .join("\n");
}

describe("docs/reference/", () => {
  for (const [name, text] of PAGES) {
    it(`is what the code says: ${name}`, () => {
      const there = readFileSync(join(REFERENCE, name), "utf8");
      assert.ok(there === text, `docs/reference/${name} differs from the code: run \`make reference\``);
    });
  }

  it("has no generated page that is not generated any more", () => {
    assert.deepEqual(writtenPages().toSorted(), [...PAGES.keys()].toSorted());
  });
});

describe("docs/reference/log.md", () => {
  const lines: ReadonlyMap<string, LogLine> = new Map(Object.values(LOG_LINES).flatMap(Object.entries<LogLine>));

  it("has each line that the daemon can write, and no other", () => {
    const names = namesOfLines();
    assert.ok(names.length > 40, `${names.length} lines`);
    assert.deepEqual([...lines.keys()].toSorted(), names, "see packaging/reference/log-lines.ts");
  });

  it("has the level of each", () => {
    const levels = levelsOfLines();
    assert.ok(levels.length > 30, `${levels.length} levels`);
    for (const [name, level] of levels) {
      const line = lines.get(name);
      assert.ok([line?.level].flat().includes(level), `${name} is written at level ${level}`);
    }
  });

  it("shows a line as it is written, for people and as JSON", () => {
    for (const format of ["logfmt", "json"] as const) {
      const line = writeLine(format);
      assert.ok(pageOf("log.md").includes(`\n${line}`), line);
    }
  });
});

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

describe("docs/reference/metrics.md", () => {
  it("has each metric once, with what it says", () => {
    const metrics = declaredMetrics();
    assert.ok(metrics.length > 35);
    for (const { name, help } of metrics) {
      assert.equal(pageOf("metrics.md").split(`| \`${name}\` |`).length, 2, name);
      assert.ok(help.endsWith("."), `${name}: ${help}`);
    }
  });
});

describe("docs/reference/codes.md", () => {
  it("has each code of a refusal, with its status", () => {
    for (const [name, status] of Object.entries(FAULT_STATUS)) {
      assert.ok(pageOf("codes.md").includes(`| \`${name}\` | ${status} |`), name);
    }
  });

  it("has each code that commands add", () => {
    const known = [...Object.keys(OF_COMMANDS), ...Object.keys(OF_OUTBOXES), ...Object.keys(FAULT_STATUS)];
    const used = [...sourcesOf("src/cli").matchAll(/\berror: "(\w+)"|\brefused\("(\w+)"/g)].map(
      ([, a, b]) => a ?? b ?? "",
    );
    assert.ok(used.length > 5);
    assert.deepEqual(
      used.filter((name) => !known.includes(name)),
      [],
    );
  });

  it("has each problem that the status and the doctor find, and no other", () => {
    const [, doubts = ""] = /type ClockDoubt =([^;]+);/.exec(read("src/model/timeline.ts")) ?? [];
    const [, states = ""] = /type WebhookHealth =[^}]*?readonly state:([^;]+);/.exec(read("src/model/status.ts")) ?? [];
    const [, limits = ""] = /readonly code:([^;]+"source_full"[^;]*);/.exec(read("src/model/status.ts")) ?? [];
    const words = (text: string) => [...text.matchAll(/"(\w+)"/g)].map(([, word = ""]) => word);
    const status = [...read("src/admin/status.ts").matchAll(/level: "\w+", code: "(\w+)"/g)].map(
      ([, name = ""]) => name,
    );
    const doctor = [...sourcesOf("src/cli/doctor").matchAll(/\b(?:warning|error|skipped)\(\s*"(\w+)"/g)];
    const found = [
      ...status,
      ...doctor.map(([, name = ""]) => name),
      ...words(doubts).map((doubt) => `clock_${doubt}`),
      ...words(states).map((state) => `webhook_${state}`),
      ...words(limits),
    ].filter((name) => !["webhook_untried", "webhook_working"].includes(name));
    assert.ok(status.length > 5 && words(states).length > 3 && words(limits).length > 1);
    assert.deepEqual(Object.keys(PROBLEMS), [...new Set(found)].toSorted());
  });

  it("has each reason not to use an outbox", () => {
    const types = [
      /type RefusalCode =([^;]+);/.exec(read("src/store/postgres/errors.ts")),
      /readonly code: ("schema_newer"[^;]+);/.exec(read("src/store/sqlite/schema.ts")),
      /(\| "source_unfinished"[^;]+);/.exec(read("src/store/copying/copy.ts")),
      /LASTING: ReadonlySet<string> = new Set\(\[([^\]]+)\]/.exec(read("src/cli/serve.ts")),
      /CODES_OF_OUTBOX: ReadonlySet<string> = new Set\(\[([^\]]+)\]/.exec(read("src/cli/serve.ts")),
    ];
    const used = types.flatMap((found) =>
      [...(found?.[1] ?? assert.fail()).matchAll(/"(\w+)"/g)].map(([, name = ""]) => name),
    );
    const known = [...Object.keys(OF_OUTBOXES), ...Object.keys(OF_COMMANDS)];
    assert.deepEqual(
      used.filter((name) => !known.includes(name)),
      [],
    );
  });
});

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

function reports(): string {
  const files = readdirSync(pathOf("src/runtime")).filter((name) => /^report.*\.ts$/.test(name));
  return files.map((name) => read(`src/runtime/${name}`)).join("\n");
}

/** The name of each line that the daemon can write. */
function namesOfLines(): readonly string[] {
  const found = [
    ...reports().matchAll(/"([a-z]+\.[a-z_]+)"|`(?=[^`]*\$\{)((?:[a-z]+|\$\{[\w.]+\})\.(?:[a-z_]+|\$\{[\w.]+\}))`/g),
  ];
  const names = found.flatMap(([, plain, template]) => {
    if (template === undefined) return [plain ?? ""];
    const parts = PARTS[template];
    assert.ok(parts, `this test does not know what \`${template}\` can be`);
    return parts();
  });
  return [...new Set(names)].sort();
}

/** The names that stand beside their level, each with that. */
function levelsOfLines(): readonly (readonly [name: string, level: LogLevel])[] {
  const text = reports();
  const beside = [
    ...text.matchAll(/\.line\("(\w+)", (?:"([a-z]+\.[a-z_]+)"|`([^`]+)`)/g),
    ...text.matchAll(/level: "(\w+)",\s+name: (?:"([a-z]+\.[a-z_]+)"|`([^`]+)`)/g),
  ].flatMap(([, level, name, template = ""]) => {
    return (name === undefined ? (PARTS[template]?.() ?? []) : [name]).map((one) => [one, level as LogLevel] as const);
  });
  const [, daemon = ""] = /const DAEMON_LEVELS[^{]*\{([^}]+)\}/.exec(text) ?? [];
  const [, events = ""] = /type DaemonEvent =([^;]+);/.exec(read("src/model/report.ts")) ?? [];
  const others = new Map([...daemon.matchAll(/(\w+): "(\w+)"/g)].map(([, name, level]) => [name, level as LogLevel]));
  const ofDaemon = [...events.matchAll(/"(\w+)"/g)].map(
    ([, name]) => [`daemon.${name}`, others.get(name) ?? "info"] as const,
  );
  // A template of errors that never has this name.
  return [...beside, ...ofDaemon].filter(([name]) => name !== "delivery.delivered");
}
