import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { FAULT_STATUS, type FaultCode } from "../../src/model/fault.ts";

/** The folders that refuse calls. */
const AT_THE_DOOR = ["http", "ingest", "validate", "accept", "store"];

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../../${name}`, import.meta.url));
}

function codesIn(folder: string): readonly string[] {
  const files = readdirSync(pathOf(folder), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const text = files.map((name) => readFileSync(pathOf(`${folder}/${name}`), "utf8")).join("\n");
  return [...text.matchAll(/\bfault\(\s*"(\w+)"/g)].map(([, code = ""]) => code);
}

describe("docs/http-api.md", () => {
  const rows = [...readFileSync(pathOf("docs/http-api.md"), "utf8").matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];

  it("has a row for each code that a call can be refused with, and no other", () => {
    const codes = new Set(AT_THE_DOOR.flatMap((folder) => codesIn(`src/${folder}`)));
    assert.ok(codes.size > 20);
    assert.deepEqual(rows.map(([, code]) => code).sort(), [...codes].sort());
  });

  it("says the status of each", () => {
    for (const [row, code, status] of rows) assert.equal(FAULT_STATUS[code as FaultCode], Number(status), row);
  });
});
