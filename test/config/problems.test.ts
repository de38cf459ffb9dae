import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatProblem, keyPath, quote } from "../../src/config/problems.ts";
import type { Problem } from "../../src/model/config.ts";

const PROBLEM: Problem = {
  severity: "error",
  file: "config.yaml",
  line: 4,
  column: 14,
  path: "destinations.crm.webhooks[0].url",
  message: 'must start with http:// or https:// (got "htp://x")',
  text: "      - url: htp://x",
};

describe("formatProblem", () => {
  it("prints place, key and message, then the line with a caret under the place", () => {
    assert.equal(
      formatProblem(PROBLEM),
      [
        'config.yaml:4:14: destinations.crm.webhooks[0].url: must start with http:// or https:// (got "htp://x")',
        "        - url: htp://x",
        "               ^",
      ].join("\n"),
    );
  });

  it("says when it is only a warning", () => {
    assert.match(formatProblem({ ...PROBLEM, severity: "warning" }), /^config\.yaml:4:14: warning: destinations\.crm/);
  });

  it("prints no path for a Problem of the whole file, and no caret without a line", () => {
    const problem = { ...PROBLEM, line: 1, column: 1, path: "", message: "the file is empty", text: "" };
    assert.equal(formatProblem(problem), "config.yaml:1:1: the file is empty");
  });

  it("shows tabs, and keeps control characters from the terminal", () => {
    const [, line, caret] = formatProblem({ ...PROBLEM, column: 4, text: "\t\u001b[31mx" }).split("\n");
    assert.equal(line, "  → [31mx");
    assert.equal(caret, "     ^");
  });

  it("prints only the surroundings of a place in a long line", () => {
    const text = `${"a".repeat(5_000)}!${"b".repeat(5_000)}`;
    const [, line = "", caret = ""] = formatProblem({ ...PROBLEM, column: 5_001, text }).split("\n");
    assert.equal(line.length, 122);
    assert.equal(line[caret.indexOf("^")], "!");
  });

  it("still points at the right place near the end of a long line", () => {
    const [, line = "", caret = ""] = formatProblem({ ...PROBLEM, column: 500, text: `${"a".repeat(499)}!` }).split(
      "\n",
    );
    assert.equal(line[caret.indexOf("^")], "!");
  });
});

describe("keyPath", () => {
  it("quotes a key that would be ambiguous", () => {
    assert.equal(keyPath("", "sources"), "sources");
    assert.equal(keyPath("sources", "my-site_2"), "sources.my-site_2");
    assert.equal(keyPath("sources", "my.site"), 'sources["my.site"]');
    assert.equal(keyPath("sources", ""), 'sources[""]');
  });
});

describe("quote", () => {
  it("keeps a text on one line and short", () => {
    assert.equal(quote('a\n"b"'), '"a\\n\\"b\\""');
    assert.equal(quote("a".repeat(81)), `"${"a".repeat(77)}..."`);
  });
});
