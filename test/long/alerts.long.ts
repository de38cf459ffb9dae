import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, it } from "node:test";
import { ROOT } from "../binary/binary.ts";
import { PATIENT } from "../binary/waiting.ts";

const MISSING =
  spawnSync("promtool", ["--version"]).status === 0
    ? false
    : "there is no promtool on this machine (apt install prometheus)";
const NEEDING_PROMTOOL = { ...PATIENT, skip: MISSING };

function promtool(...args: readonly string[]): void {
  const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: ROOT, encoding: "utf8" });
  assert.equal(status, 0, `${stdout}${stderr}`);
}

describe("packaging/prometheus/alerts.yaml", () => {
  it("can be read by Prometheus", NEEDING_PROMTOOL, () => {
    promtool("check", "rules", "packaging/prometheus/alerts.yaml");
  });

  it("is silent while all is well, and says of each trouble what it is", NEEDING_PROMTOOL, () => {
    promtool("test", "rules", "test/long/alerts.promtool.yaml");
  });
});
