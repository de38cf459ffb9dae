// The manual as Debian's package and the RPM have it, beside the examples and without the rest of the repository.
import assert from "node:assert/strict";
import { posix } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { DOC, systemEntries } from "../../packaging/system-tree.ts";

process.env.SOURCE_DATE_EPOCH ??= "0";
const entries = systemEntries("dist/fairlead", "usr/share/zsh/site-functions");
const files = entries.map(([path]) => path);

describe("the manual in a package", () => {
  it("leads to what the package has, or to the repository", () => {
    const pages = entries.filter(([path]) => path.startsWith(DOC) && path.endsWith(".md"));
    assert.ok(pages.length > 50);
    const dead = pages.flatMap(([path, content]) => {
      const text = "text" in content ? content.text : "";
      const links = [...text.matchAll(/(?:\]\(|src(?:set)?=")(?![a-z]+:|#)([^)"#\s]+)/g)].map(([, link = ""]) => link);
      const targets = links.map((link) => posix.join(posix.dirname(path), link));
      return targets.filter((target) => !files.some((file) => file === target || file.startsWith(`${target}/`)));
    });
    assert.deepEqual(dead, []);
  });

  it("has the folders of the manual", () => {
    for (const name of ["index.md", "install/systemd.md", "reference/config/index.md", "pictures/flow.svg"]) {
      assert.ok(files.includes(`${DOC}/${name}`), name);
    }
  });
});
