import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSecret } from "../../src/cli/secret.ts";
import { Secret } from "../../src/model/secret.ts";
import { type World, worldOf } from "../config/world.ts";

function read(file: string | undefined, world: World): string | null {
  const secret = readSecret({ option: "--secret-file", file, variable: "THE_SECRET" }, worldOf(world));
  return secret instanceof Secret ? `secret ${secret.reveal()}` : secret;
}

describe("a secret of a command", () => {
  it("is what a file holds, without its last newline", () => {
    assert.equal(read("f", { files: { f: "s1\n" } }), "secret s1");
    assert.equal(read("f", { files: { f: "s1\r\n" } }), "secret s1");
    assert.equal(read("f", { files: { f: " s1 \n\n" } }), "secret  s1 \n");
  });

  it("is in the environment if no file is named", () => {
    assert.equal(read(undefined, { env: { THE_SECRET: "s2" } }), "secret s2");
    assert.equal(read("f", { files: { f: "s1" }, env: { THE_SECRET: "s2" } }), "secret s1");
  });

  it("is none if the variable is not set, or empty", () => {
    assert.equal(read(undefined, {}), null);
    assert.equal(read(undefined, { env: { THE_SECRET: "" } }), null);
  });

  it("is never read from the environment instead of the file that was named", () => {
    const env = { THE_SECRET: "s2" };
    assert.equal(read("f", { env }), "cannot read --secret-file f: no such file");
    assert.equal(read("f", { env, files: { f: "\n" } }), "cannot use --secret-file f: it is empty");
  });
});
