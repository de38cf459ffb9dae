import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { configJsonSchema } from "../../src/config/json-schema.ts";
import { beginCommand, SLOW } from "./run.ts";

describe("fairlead schema", () => {
  it("prints the JSON Schema of the config", SLOW, async () => {
    const { code, out } = await beginCommand(["schema"]).ended;
    assert.deepEqual(JSON.parse(out), configJsonSchema());
    assert.equal(code, 0);
  });

  it("prints the example config with --example, to the last byte", SLOW, async () => {
    assert.deepEqual(await beginCommand(["schema", "--example"]).ended, {
      code: 0,
      out: textOf("config.example.yaml"),
      err: "",
    });
  });

  it("prints the reference of all keys with --reference, to the last byte", SLOW, async () => {
    assert.deepEqual(await beginCommand(["schema", "--reference"]).ended, {
      code: 0,
      out: textOf("docs/config.md"),
      err: "",
    });
  });
});

function textOf(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}
