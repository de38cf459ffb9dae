import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { Spec, Validation } from "@cyclonedx/cyclonedx-library";
import { notesOf } from "../../packaging/changelog.ts";
import { VERSION } from "../../packaging/documents.ts";
import { listNotices } from "../../packaging/notices.ts";
import { describeBinaries } from "../../packaging/sbom.ts";
import { signAdHoc } from "../../packaging/sign-mac.ts";
import { VERSION as CLIENT_VERSION } from "../../src/client/envelope.ts";
import { ROOT } from "../binary/binary.ts";
import { checkSignature } from "./mach-o.ts";

// make sets it for what is released.
process.env.SOURCE_DATE_EPOCH ??= "1795449600";

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

describe("the version", () => {
  it("is the same in package.json, the client library and install.sh, and the changelog has it", () => {
    assert.equal(CLIENT_VERSION, VERSION);
    assert.match(read("install.sh"), new RegExp(`^VERSION=${VERSION.replaceAll(".", "\\.")}$`, "m"));
    assert.match(notesOf(VERSION, read("CHANGELOG.md")), /^### /m);
  });
});

describe("the notes of a release", () => {
  const changelog =
    "# Changelog\n\n## 0.3.0\n\n- soon\n\n## 0.2.0 - 2026-11-23\n\n- this\n\n## 0.1.0 - 2026-01-01\n\n- that\n";

  it("are what the changelog says of its version, and nothing of others", () => {
    assert.equal(notesOf("0.2.0", changelog), "- this\n");
    assert.equal(notesOf("0.1.0", changelog), "- that\n");
  });

  it("are refused for a version that the changelog does not have, or without its date", () => {
    assert.throws(() => notesOf("0.2", changelog), /no section "## 0\.2"/);
    assert.throws(() => notesOf("0.3.0", changelog), /gives no date/);
  });
});

type Bom = {
  components: { name: string; version?: string; hashes?: { content: string }[] }[];
  dependencies: { ref: string }[];
};

describe("the list of what is in the binaries", () => {
  const bom = describeBinaries() as Bom;
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);

  it("is CycloneDX 1.6, by its schema", async () => {
    assert.equal(await validator.validate(JSON.stringify(bom)), null);
    const wrong = { ...bom, components: [{ name: "without a type" }] };
    assert.notEqual(await validator.validate(JSON.stringify(wrong)), null);
  });

  it("names each package with its version and hash, SQLite, and Bun with its parts", () => {
    const found = new Map(bom.components.map((one) => [one.name, one]));
    for (const { name, version } of listNotices()) {
      assert.equal(found.get(name)?.version, version);
      assert.match(found.get(name)?.hashes?.[0]?.content ?? "", /^[0-9a-f]{128}$/, name);
    }
    for (const name of [
      "sqlite",
      "bun",
      "webkit",
      "boringssl",
      "brotli",
      "better-sqlite3/prebuilds/darwin-arm64.node",
    ]) {
      assert.ok(found.has(name), name);
    }
    assert.match(found.get("libicu")?.version ?? "", /^\d+\.\d+$/);
  });

  it("is the same each time", () => {
    assert.deepEqual(describeBinaries(), bom);
  });
});

/** A program with the three commands that a signature depends on, and `size` bytes. */
function makeProgram(size: number): Buffer {
  const program = Buffer.alloc(size, 7);
  program.writeUInt32LE(3, 16);
  for (const [index, name] of ["__TEXT", "__LINKEDIT"].entries()) {
    const at = 32 + index * 72;
    program.writeUInt32LE(0x19, at);
    program.writeUInt32LE(72, at + 4);
    program.fill(0, at + 8, at + 24).write(name, at + 8, "latin1");
    program.writeBigUInt64LE(BigInt(index * 4_096), at + 40);
  }
  program.writeUInt32LE(0x1d, 176);
  program.writeUInt32LE(16, 180);
  program.writeUInt32LE(size, 184);
  return program;
}

describe("the signature of a program for macOS", () => {
  for (const size of [8_192, 10_000]) {
    it(`covers each page of ${size} bytes, and finds one that was changed`, () => {
      const signed = signAdHoc(makeProgram(size));
      assert.deepEqual(checkSignature(signed), { pages: Math.ceil(size / 4_096), wrong: 0 });
      signed[5_000] = 8;
      assert.deepEqual(checkSignature(signed), { pages: Math.ceil(size / 4_096), wrong: 1 });
    });
  }

  it("stays the same when it is signed again", () => {
    const signed = signAdHoc(makeProgram(10_000));
    assert.ok(signAdHoc(signed).equals(signed));
  });
});
