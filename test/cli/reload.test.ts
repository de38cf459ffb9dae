import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { toWords } from "../../src/cli/reload.ts";

describe("what a reload has done, for a person", () => {
  it("is a line for each thing that is different", () => {
    const changes = ["source a added", "destination crm: secret changed"];
    assert.equal(
      toWords({ changes, needsRestart: [] }),
      "Changed:\n  source a added\n  destination crm: secret changed",
    );
  });

  it("is that nothing is", () => {
    assert.equal(toWords({ changes: [], needsRestart: [] }), "Reloaded: no changes.");
  });

  it("is what has to wait, too", () => {
    assert.equal(
      toWords({ changes: [], needsRestart: ["ingest.listen"] }),
      "Reloaded: no changes.\nNeeds a restart:\n  ingest.listen",
    );
  });
});
