import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { listNotices, noticesText } from "../../packaging/notices.ts";
import { verify } from "../../packaging/runtime.ts";
import { BUN_VERSION } from "../../packaging/targets.ts";
import { ROOT } from "./binary.ts";
import { PATIENT } from "./waiting.ts";

/** The packages of npm whose files the compiler has put into the binary, as it says itself. */
async function bundledPackages(): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-notices-"));
  try {
    const metafile = join(folder, "meta.json");
    const args = ["build", "--target", "bun", "--outdir", join(folder, "out"), `--metafile=${metafile}`, "src/main.ts"];
    const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const { inputs } = JSON.parse(await readFile(metafile, "utf8")) as { inputs: Record<string, unknown> };
    const names = Object.keys(inputs).map((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
    return [...new Set(names)].filter((name) => name !== undefined);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe("the licence notices", () => {
  it("have every package that is in the binary, with the text of its licence", PATIENT, async () => {
    const notices = new Map(listNotices().map((notice) => [notice.name, notice]));
    const bundled = await bundledPackages();
    assert.ok(bundled.includes("better-sqlite3") && bundled.includes("@logtape/logtape"), bundled.join(" "));
    for (const name of bundled) {
      const { licence = "", text = "" } = notices.get(name) ?? {};
      assert.match(licence, /^(MIT|ISC|Apache-2\.0|BSD-[23]-Clause)$/, name);
      assert.match(text, /copyright|licen[cs]e/i, name);
    }
  });

  it("have Bun with what is linked into it, SQLite, and the LGPL", () => {
    const text = noticesText();
    for (const part of [
      /Bun itself is MIT-licensed/,
      /statically links JavaScriptCore/,
      /boringssl/,
      /SQLite is in the public domain/,
      /GNU LIBRARY GENERAL PUBLIC LICENSE\s+Version 2,/,
      /GNU LESSER GENERAL PUBLIC LICENSE\s+Version 2\.1,/,
    ]) {
      assert.match(text, part);
    }
  });
});

describe("the Bun that is shipped", () => {
  it("is the one that the types are of, of which the notices tell", async () => {
    const { devDependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    assert.equal(BUN_VERSION, devDependencies["bun-types"]);
  });

  it("is refused when it is not what was pinned", () => {
    const integrity = "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==";
    verify(new Uint8Array(), { runtime: "@oven/bun", integrity });
    assert.throws(() => verify(new Uint8Array(1), { runtime: "@oven/bun", integrity }), /is not what it was/);
  });
});

describe("the binary's needs", () => {
  it("are no newer than what the Debian package and the manual say", async () => {
    const newest = async (symbol: RegExp): Promise<number> => {
      const parts = ["linux-x64", "linux-arm64"].map((name) => `node_modules/better-sqlite3/prebuilds/${name}.node`);
      const texts = await Promise.all(parts.map((part) => readFile(join(ROOT, part), "latin1")));
      return Math.max(...[...texts.join("\n").matchAll(symbol)].map(([, minor]) => Number(minor)));
    };
    assert.equal(await newest(/GLIBC_2\.(\d+)/g), 34);
    // That is the libstdc++ of GCC 11.
    assert.equal(await newest(/GLIBCXX_3\.4\.(\d+)/g), 29);
    assert.match(
      await readFile(join(ROOT, "packaging/debian/control"), "utf8"),
      /libc6 \(>= 2\.34\), libstdc\+\+6 \(>= 11\)/,
    );
    assert.match(await readFile(join(ROOT, "docs/install/index.md"), "utf8"), /glibc 2\.34, libstdc\+\+ of GCC 11/);
  });
});
