import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { configPages } from "../../packaging/reference/config.ts";
import { configJsonSchema, includedJsonSchema } from "../../src/config/json-schema.ts";
import { beginCommand, SLOW } from "./run.ts";

async function run(...options: readonly string[]): Promise<string> {
  const { code, out } = await beginCommand(["schema", ...options]).ended;
  assert.equal(code, 0);
  return out;
}

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}

describe("fairlead schema", () => {
  it("prints the JSON Schema of the config", SLOW, async () => {
    assert.deepEqual(JSON.parse(await run()), configJsonSchema());
  });

  it("prints that of an included file with --included", SLOW, async () => {
    assert.deepEqual(JSON.parse(await run("--included")), includedJsonSchema());
  });

  it("prints the example config with --example, to the last byte", SLOW, async () => {
    assert.equal(await run("--example"), textOf("config.example.yaml"));
  });

  it("prints the reference of all keys with --reference, as one page", SLOW, async () => {
    const printed = await run("--reference");
    for (const [name, text] of configPages()) {
      const [heading = ""] = /^# .*$/m.exec(text) ?? [];
      assert.ok(
        printed.includes(`${heading}\n`),
        `docs/reference/config/${name} is missing: name it in src/cli/schema.ts`,
      );
    }
    assert.match(printed, /\]\(#outboxpath\)/);
    assert.doesNotMatch(printed, /\]\(\w+\.md|^<!--/m);
  });
});
