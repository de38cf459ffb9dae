import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { loadDocument } from "../../src/config/load.ts";
import { parse } from "../../src/config/syntax.ts";
import { NOW, worldOf } from "./world.ts";

describe("reading a config in steps", () => {
  it("reads at most fifty values in one step, and hides the secrets of a hundred", () => {
    const sources = Array.from({ length: 500 }, (_, nth) => `  source-${nth}:\n    writeKey: "\${KEY}-${nth}"\n`);
    const text = `sources:\n${sources.join("")}`;
    let inStep = 0;
    const perStep: number[] = [];
    const world = worldOf({ env: { KEY: "a-key" } });
    const env = (name: string): string | undefined => {
      inStep += 1;
      return world.env(name);
    };
    const steps = loadDocument(parse(text), { file: "config.yaml", resolve: { ...world, env }, now: NOW });
    let step = steps.next();
    for (; !step.done; step = steps.next()) {
      perStep.push(inStep);
      inStep = 0;
    }
    assert.equal(step.value.config?.sources.length, 500);
    assert.equal(
      perStep.reduce((sum, one) => sum + one),
      500,
    );
    assert.ok(Math.max(...perStep) <= 50, `${Math.max(...perStep)} values in one step`);
    // Reading, checking, and hiding: the file has a warning, because there are no destinations.
    assert.ok(perStep.length >= 1_000 / 50 + 500 / 16 + 2_000 / 100, `${perStep.length} steps`);
  });
});
