import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { exampleConfig } from "../../packaging/config-example.ts";
import { compose } from "../../src/config/compose.ts";
import { assertComposedAsByLibrary } from "./composed.ts";

const FOLDER = new URL("../fixtures/config/", import.meta.url);

const ODD: Readonly<Record<string, string>> = {
  "no text": "",
  "comments alone": "# a\n\n# b\n",
  "a comment at each place": "# a\na: # b\n  # c\n  b: 1 # d\n  # e\n\n  c: 2\n  # f\n# g\nd: 3\n# h\n",
  "a comment behind the last entry of a section": "a:\n  b: 1\n  # c\nd:\n  # e\n",
  "a start and an end of the document": "--- # a\na:\n  b: 1\n  c: 2\n... # d\n",
  "two documents": "a: 1\n---\nb: 2\n---\nc: [\n",
  "a version": "%YAML 1.1\n---\na: yes\n",
  "anchors and aliases": "a: &a\n  b: 1\n  c: &c 2\nd: *a\ne:\n  f: *c\n  <<: *a\n",
  tags: "a: !!map\n  b: !x 1\n  c: 2\nd: !!seq\n  e: 1\n  f: 2\n",
  "keys without text": "a:\n  : 1\n  ? b\n  : 2\n  ?\n  c: 3\n? \n",
  "a key far from its colon": `a:\n  b: 1\n  ${"c".repeat(2_000)}: 2\n`,
  "a key after a long text": `a:\n  b: ${"x ".repeat(2_000)}\n  c: |\n    ${"y".repeat(3_000)}\n  d: 1\ne: 2\n`,
  "repeated keys": "a:\n  b: 1\n  b: 2\na:\n  c: 3\na: 4\n",
  "lists, texts and flow": "a:\n- b: 1\n  c: 2\n- [d, {e: f}]\ng: {h: 1, i: [2]}\nj: >-\n  k\n  l\nm: 'n\n  o'\n",
  "wrong indentation": "a:\n  b: 1\n   c: 2\n d: 3\n",
  "a list where a map was": "a:\n  b: 1\n  - c\n",
  "an open bracket": "a:\n  b: 1\nc: [d,\ne: 1\n",
  "tabs and returns": "a:\r\n  b: 1\r\n\tc: 2\r\n",
};

describe("a file that is composed in steps", () => {
  for (const [what, text] of Object.entries(ODD)) {
    it(`is the same as if composed at once: ${what}`, () => assertComposedAsByLibrary(text));
  }

  it("is the same as if composed at once: the example file", () => assertComposedAsByLibrary(exampleConfig()));

  for (const name of readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"))) {
    it(`is the same as if composed at once: ${name}`, () => {
      assertComposedAsByLibrary(readFileSync(new URL(name, FOLDER), "utf8").replace(/^\uFEFF/, ""));
    });
  }

  it("takes steps of the same size, however long it is", () => {
    const few = stepsOf(100);
    const many = stepsOf(1_000);
    assert.ok(few.steps >= (2 * few.length) / 600, `${few.steps} steps for ${few.length} characters`);
    assert.ok(many.steps >= (2 * many.length) / 600, `${many.steps} steps for ${many.length} characters`);
  });
});

function stepsOf(sources: number): { readonly steps: number; readonly length: number } {
  const entries = Array.from({ length: sources }, (_, nth) => `  source-${nth}:\n    writeKey: key-${nth}\n`);
  const text = `sources:\n${entries.join("")}`;
  return { steps: [...compose(text)].length, length: text.length };
}
