import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Block, blocksOfComments, blocksOfPage, blocksOfSource } from "./blocks.ts";
import { check } from "./rules.ts";

function problemsOf(text: string): readonly string[] {
  return check({ path: "page.md", line: 1, text, kind: "page" }).map(({ line, problem }) => `${line}: ${problem}`);
}

function textsOf(blocks: readonly Block[]): readonly string[] {
  return blocks.map(({ line, text }) => `${line}: ${text}`);
}

describe("the linter of prose", () => {
  it("passes plain English", () => {
    assert.deepEqual(problemsOf("Fix the config, then reload it. The daemon logs an error and keeps the old one."), []);
  });

  it("refuses the house's forbidden phrases, with their line and what to say instead", () => {
    assert.deepEqual(problemsOf("One is fine.\nMend what\nwaits."), [
      '2: "Mend": fix',
      '2: "what waits": waiting deliveries',
    ]);
  });

  it("refuses a sentence of more than 35 words", () => {
    assert.deepEqual(problemsOf(`${"It goes on and on, ".repeat(7)}now.`), [
      "1: a sentence of 36 words: make two of it",
    ]);
    assert.deepEqual(problemsOf(`${"It goes on and on. ".repeat(7)}`), []);
  });

  it("refuses a repeated word and a wrong article", () => {
    assert.deepEqual(problemsOf("Look at the the log."), ["1: Unexpected repeated `the`, remove one occurrence"]);
    assert.deepEqual(problemsOf("It is a error."), ["1: Unexpected article `a` before `error`, expected `an`"]);
    assert.deepEqual(problemsOf("Write an http URL, not an sslmode."), []);
  });

  it("refuses a second name for a thing", () => {
    assert.deepEqual(problemsOf("Postgres keeps it."), ['1: "Postgres": PostgreSQL']);
    assert.deepEqual(problemsOf("The header is --write-key, a write key."), []);
  });
});

describe("where prose is looked for", () => {
  it("takes paragraphs, headings, items and cells of a page, and no code", () => {
    const page = "# One\n\nTwo `x`\nthree.\n\n```\nfour\n```\n\n- five\n\n| six |\n|---|\n| seven |\n";
    assert.deepEqual(textsOf(blocksOfPage("a.md", page)), [
      "1: One",
      "3: Two \u25CC\nthree.",
      "10: five",
      "12: six",
      "14: seven",
    ]);
  });

  it("takes comments of YAML and of a Makefile, and what `make` says", () => {
    assert.deepEqual(textsOf(blocksOfComments("Makefile", "# One.\nx: 1 # two\n\ntest: build ## three\n")), [
      "1: One.",
      "4: three",
    ]);
  });

  it("takes no keys of YAML that are commented out", () => {
    const example = "# One\n# two.\n# rate: 50/s\n# Three.\n# on:\n#   # Four.\n";
    assert.deepEqual(textsOf(blocksOfComments("a.yaml", example)), ["1: One\ntwo.", "4: Three.", "6: Four."]);
  });

  it("takes the messages and comments of a program, and no SQL", () => {
    const source = [
      "// One",
      "// comment.",
      `const a = \`cannot read \${path}: it is not there\`;`,
      'const b = "the first half " + "and the second";',
      'const c = "SELECT a FROM b WHERE c = d";',
      'const d = "kebab-case";',
    ].join("\n");
    assert.deepEqual(textsOf(blocksOfSource("a.ts", source)), [
      "3: cannot read \u25CC: it is not there",
      "4: the first half and the second",
      "1: One\ncomment.",
    ]);
  });
});
