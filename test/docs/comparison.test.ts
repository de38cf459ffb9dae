// docs/comparison.md: what it says of another product has a source that a reader can open. README.md stays one screen.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const OTHERS = ["Segment", "RudderStack", "Svix", "Convoy", "Outpost", "Hookaido", "Vector"];
const SUBJECTS = [
  "What it needs",
  "When the 2xx is sent, and what a crash loses",
  "Retries",
  "Signing",
  "Dead letters and replay",
  "Client libraries",
  "Speed",
  "Licence",
];
const SOURCE = /\]\(https:\/\/[^)]+\)|\]\(operate\/performance\.md#beside-other-products\)|^not found$/;

const comparison = readFileSync(join(ROOT, "docs/comparison.md"), "utf8");

/** The rows of the table below a heading, without its head. */
function rowsOf(subject: string): readonly (readonly string[])[] {
  const [, section = ""] = comparison.split(`\n## ${subject}\n`);
  const [body = ""] = section.split("\n## ");
  const lines = body.split("\n").filter((line) => line.startsWith("|"));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

describe("the comparison with other products", () => {
  for (const subject of SUBJECTS) {
    it(`has a source for what it says of each: ${subject}`, () => {
      const rows = rowsOf(subject);
      assert.deepEqual(
        rows.map(([product]) => product),
        ["Fairlead", ...OTHERS],
      );
      for (const [product = "", text = "", source = ""] of rows.slice(1)) {
        assert.notEqual(text, "", product);
        assert.match(source, SOURCE, product);
        if (source === "not found") assert.match(text, /not found/, `${product}: says something without a source`);
      }
    });
  }

  it("has sources that do not change: tags and commits", () => {
    const branches = [...comparison.matchAll(/github\.com\/[^/]+\/[^/]+\/(?:blob|tree)\/(?:main|master)\//g)];
    assert.deepEqual(branches, []);
  });
});

describe("README.md", () => {
  const lines = readFileSync(join(ROOT, "README.md"), "utf8").trimEnd().split("\n");

  it("is one screen: at most 150 lines", () => {
    assert.ok(lines.length <= 150, `${lines.length} lines`);
  });

  it("names the products of the comparison, and no others", () => {
    const start = lines.findIndex((line) => line.startsWith("## Beside others"));
    assert.notEqual(start, -1);
    const table = lines.slice(start).filter((line) => line.startsWith("| "));
    const products = table.slice(1, OTHERS.length + 2).map((line) => line.split("|")[1]?.trim().replaceAll("*", ""));
    assert.deepEqual(products, ["Fairlead", ...OTHERS]);
  });
});
