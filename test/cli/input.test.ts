import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readObject, readSecret } from "../../src/cli/input.ts";
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

describe("a JSON object that a person has written", () => {
  it("is read as it is, whatever its keys are", () => {
    const object = readObject('{"__proto__":{"a":1},"n":null}', "--properties");
    assert.equal(JSON.stringify(object), '{"__proto__":{"a":1},"n":null}');
  });

  it("is refused with its place and a caret if it is not JSON", () => {
    const text = '{"plan":pro}';
    assert.equal(
      readObject(text, "--properties"),
      `--properties:1:9: is not JSON: expected a value here\n  ${text}\n          ^`,
    );
  });

  it("is refused with the line of a file", () => {
    const message = readObject('{\n  "a": 1,\n  "b": 2,\n}\n', "call.json");
    assert.equal(message, "call.json:4:1: is not JSON: expected a key in double quotes here\n  }\n  ^");
  });

  it("is refused with advice if a shell has taken its quotes away", () => {
    assert.match(String(readObject("{plan:pro}", "--traits")), /here; in a shell, put single quotes around JSON\n/);
    assert.doesNotMatch(String(readObject('{"plan":pro}', "--traits")), /shell/);
  });

  it("is refused if it is JSON, but no object", () => {
    const refusals = ["[1]", "null", '"a"', "1", "true"].map((text) => readObject(text, "--traits"));
    const message = '--traits must be a JSON object, such as {"key":"value"}';
    assert.deepEqual(refusals, [
      `${message} (got an array)`,
      `${message} (got null)`,
      `${message} (got a string)`,
      `${message} (got a number)`,
      `${message} (got a boolean)`,
    ]);
  });

  it("is refused in words if it is nested too deeply to be read and written", () => {
    const deep = `{"a":${"[".repeat(40_000)}${"]".repeat(40_000)}}`;
    const read = readObject(deep, "--data");
    // How deep is too deep is for each runtime to say.
    if (typeof read === "string") assert.equal(read, "--data nests objects and arrays too deeply");
    else assert.equal(JSON.stringify(read), deep);
  });

  it("does not write to the terminal through a message", () => {
    const message = String(readObject('{"\u001b[31m', "--data"));
    assert.match(message, /^--data:1:3: is not JSON/);
    assert.ok(!message.includes("\u001b"));
  });
});
