import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";
import { createProgram } from "../../src/cli/program.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";

function read(name: string): string {
  return readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), "utf8");
}

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
};

const text = read("packaging/prometheus/alerts.yaml");
const rules = (parse(text) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);

/** Every name that the daemon declares, whether or not it has a series just now. */
async function declaredNames(): Promise<ReadonlySet<string>> {
  const clock = { now: () => 0, wall: () => 0 };
  const exposed = await createMetrics({ clock, version: "1.0.0", runtime: "bun" }).text();
  return new Set([...exposed.matchAll(/^# TYPE (\w+) /gm)].map(([, name = ""]) => name));
}

describe("packaging/prometheus/alerts.yaml", () => {
  it("asks for metrics that the daemon has", async () => {
    const declared = await declaredNames();
    const asked = rules.flatMap(({ expr }) => expr.match(/\b(?:fairlead|process)_\w+/g) ?? []);
    assert.ok(asked.length > rules.length);
    assert.deepEqual(
      [...new Set(asked)].filter((name) => !declared.has(name)),
      [],
    );
  });

  it("says of each alert how bad it is, what it means, and what to do", () => {
    for (const { alert, labels, annotations } of rules) {
      assert.match(alert, /^Fairlead[A-Z]\w+$/);
      assert.match(labels.severity, /^(critical|warning|info)$/, alert);
      assert.match(annotations.summary, /\.$/, alert);
      assert.match(annotations.description, /`|outbox\./, alert);
    }
  });

  it("names only commands and options that there are", async () => {
    const program = await createProgram(async () => {});
    const named = [...text.replaceAll(/\n\s+/g, " ").matchAll(/`fairlead ([a-z-]+)([^`]*)`/g)];
    assert.ok(named.length > rules.length / 2);
    for (const [whole, name, rest = ""] of named) {
      const command = program.commands.find((one) => one.name() === name);
      assert.ok(command, whole);
      const options = command.options.map(({ long }) => long);
      for (const [option] of rest.matchAll(/--[a-z-]+/g)) assert.ok(options.includes(option), whole);
    }
  });

  it("has each alert tried by promtool in `make test-long`", () => {
    const tried = read("test/long/alerts.promtool.yaml");
    assert.deepEqual(
      rules.map(({ alert }) => alert).filter((alert) => !tried.includes(`alertname="${alert}", severity`)),
      [],
    );
  });
});
