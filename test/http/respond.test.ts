import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { respond, respondFault } from "../../src/http/respond.ts";
import { FAULT_STATUS, type FaultCode, fault } from "../../src/model/fault.ts";

describe("an answer", () => {
  it("is compact JSON, and says so", async () => {
    const response = respond(200, { success: true, accepted: 1 });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(await response.text(), '{"success":true,"accepted":1}');
  });

  it("has the headers that it is given", () => {
    assert.equal(respond(200, {}, { "X-A": "b" }).headers.get("x-a"), "b");
  });
});

describe("the answer to a refused request", () => {
  it("has code, message and error, because clients look at one or another", async () => {
    const response = respondFault(fault("missing_event", "You must pass 'event'."));
    assert.equal(response.status, 400);
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(
      await response.text(),
      '{"success":false,"code":"missing_event","message":"You must pass \'event\'.","error":"You must pass \'event\'."}',
    );
  });

  it("has the status of its code", () => {
    for (const [code, status] of Object.entries(FAULT_STATUS)) {
      assert.equal(respondFault(fault(code as FaultCode, "no")).status, status);
    }
  });

  it("says when to come back in whole seconds, in both ways that clients know, and never too early", () => {
    const waits: readonly (readonly [number, string])[] = [
      [0, "0"],
      [1, "1"],
      [1_000, "1"],
      [1_001, "2"],
      [10_000, "10"],
    ];
    for (const [retryAfter, seconds] of waits) {
      const { headers } = respondFault(fault("store_full", "full", retryAfter));
      assert.equal(headers.get("retry-after"), seconds);
      assert.equal(headers.get("x-ratelimit-reset"), seconds);
    }
  });

  it("says nothing of it when there is no point in coming back", () => {
    const { headers } = respondFault(fault("invalid_json", "no"));
    assert.equal(headers.has("retry-after"), false);
    assert.equal(headers.has("x-ratelimit-reset"), false);
  });
});

describe("the answer to a body that does not come", () => {
  it("ends the connection, on which the rest may be on its way", () => {
    assert.equal(respondFault(fault("body_too_slow", "slow")).headers.get("connection"), "close");
    assert.equal(respondFault(fault("invalid_json", "bad")).headers.get("connection"), null);
  });
});

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

describe("docs/reference/codes.md", () => {
  const [, calls = ""] = readFileSync(pathOf("docs/reference/codes.md"), "utf8").split(/^## .*$/m);
  const rows = [...calls.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)];

  it("has a row for each code that a call can be refused with, and no other", () => {
    const codes = new Set(AT_THE_DOOR.flatMap((folder) => codesIn(`src/${folder}`)));
    assert.ok(codes.size > 20);
    assert.deepEqual(rows.map(([, code]) => code).sort(), [...codes].sort());
  });

  it("says the status of each", () => {
    for (const [row, code, status] of rows) assert.equal(FAULT_STATUS[code as FaultCode], Number(status), row);
  });
});
