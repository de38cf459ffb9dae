import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { configJsonSchema } from "../../src/config/json-schema.ts";

describe("fairlead schema", () => {
  it("prints the JSON Schema of the config", () => {
    const { status, stdout } = run();
    assert.deepEqual(JSON.parse(stdout), configJsonSchema());
    assert.equal(status, 0);
  });

  it("prints the example config with --example, to the last byte", () => {
    const { status, stdout } = run("--example");
    assert.equal(stdout, textOf("config.example.yaml"));
    assert.equal(status, 0);
  });

  it("prints the reference of all keys with --reference, to the last byte", () => {
    const { status, stdout } = run("--reference");
    assert.equal(stdout, textOf("docs/config.md"));
    assert.equal(status, 0);
  });
});

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}

/** A process of its own: it writes to its standard output directly. */
function run(...options: readonly string[]) {
  const script = fileURLToPath(new URL("../fixtures/print-schema.ts", import.meta.url));
  const args = typeof Bun === "undefined" ? ["run", "-A", "--no-check", script] : [script];
  return spawnSync(process.execPath, [...args, ...options], { encoding: "utf8" });
}
