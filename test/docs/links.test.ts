import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CODE_OF_CONDUCT.md",
  "SECURITY.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true }).map((name) => `docs/${name}`),
];

const MOST_LINES = 300;

/** A page without its code, in which nothing is a link or a heading. */
function read(page: string): string {
  return readFileSync(join(ROOT, page), "utf8").replaceAll(/^```[\s\S]*?^```/gm, "");
}

/** The anchors of headings, as they are shown on the web. */
function anchorsOf(page: string): readonly string[] {
  const headings = [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}

describe("the pages of the manual", () => {
  for (const page of PAGES.filter((name) => name.endsWith(".md"))) {
    it(`lead to where there is something: ${page}`, () => {
      const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
      for (const [link, path = "", anchor] of links) {
        const target = path === "" ? page : join(dirname(page), path);
        assert.ok(existsSync(join(ROOT, target)), `${link}: there is no ${target}`);
        if (anchor !== undefined)
          assert.ok(anchorsOf(target).includes(anchor), `${link}: ${target} has no such heading`);
      }
    });
  }

  it("have fewer than 300 lines", () => {
    const long = PAGES.filter((name) => name.endsWith(".md")).filter((name) => {
      return readFileSync(join(ROOT, name), "utf8").split("\n").length > 300;
    });
    assert.deepEqual(long, []);
  });

  it(`have at most ${MOST_LINES} lines each`, () => {
    const long = PAGES.filter((page) => page.startsWith("docs/") && page.endsWith(".md")).filter(
      (page) => readFileSync(join(ROOT, page), "utf8").split("\n").length > MOST_LINES,
    );
    assert.deepEqual(long, []);
  });

  it("name tests that there are: SECURITY.md", () => {
    const named = [...read("SECURITY.md").matchAll(/`(test\/[^`]+)`/g)].map(([, path = ""]) => path);
    assert.ok(named.length > 20);
    assert.deepEqual(
      named.filter((path) => !existsSync(join(ROOT, path))),
      [],
    );
  });
});
