import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Problem } from "../../src/model/config.ts";
import { startAdmin } from "./make.ts";

const PROBLEM: Problem = {
  severity: "error",
  file: "config.yaml",
  line: 3,
  column: 8,
  path: "log.level",
  message: "must be a level",
  text: "  level: loud",
};

describe("POST /api/reload", () => {
  it("answers what is different, and what needs a restart", async () => {
    const said = { changes: ["source a added"], needsRestart: ["ingest.listen"], problems: [] };
    const admin = startAdmin({ reload: async () => ({ kind: "reloaded", ...said }) });
    const { status, text } = await admin.post("/api/reload", {});
    assert.deepEqual([status, JSON.parse(text)], [200, { success: true, ...said }]);
  });

  it("answers why nothing has changed, and all that is wrong", async () => {
    const reason = "the config has errors";
    const admin = startAdmin({ reload: async () => ({ kind: "refused", reason, problems: [PROBLEM] }) });
    const { status, text } = await admin.post("/api/reload", {});
    const message = `the config was refused: ${reason}`;
    assert.equal(status, 422);
    assert.deepEqual(JSON.parse(text), {
      success: false,
      code: "config_invalid",
      message,
      error: message,
      problems: [PROBLEM],
    });
  });

  it("is not for web pages", async () => {
    const admin = startAdmin();
    const { status } = await admin.post("/api/reload", {}, { origin: "https://evil.example" });
    assert.equal(status, 403);
  });
});
