// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createReferences } from "../../src/config/references.ts";
import { type World, worldOf } from "./world.ts";

describe("references", () => {
  it("takes a variable from the environment, anywhere in the text and more than once", () => {
    assert.equal(textOf("a ${ONE}${TWO} b ${ONE}", { env: { ONE: "1", TWO: "2" } }), "a 12 b 1");
  });

  it("takes the default when the variable is not set or empty, as a shell does", () => {
    assert.equal(textOf("${ONE:-default}"), "default");
    assert.equal(textOf("${ONE:-default}", { env: { ONE: "" } }), "default");
    assert.equal(textOf("${ONE:-default}", { env: { ONE: "1" } }), "1");
    assert.equal(textOf("${ONE:-}"), "");
    assert.equal(textOf("${ONE:-https://a:8080/?b=$c:-d}"), "https://a:8080/?b=$c:-d");
  });

  it("takes an empty variable for what it is when there is no default", () => {
    assert.equal(textOf("a${ONE}b", { env: { ONE: "" } }), "ab");
  });

  it("removes one newline from the end of a file or a credential", () => {
    assert.equal(textOf("${file:/a}", { files: { "/a": "x\n" } }), "x");
    assert.equal(textOf("${file:/a}", { files: { "/a": "x\r\n" } }), "x");
    assert.equal(textOf("${file:/a}", { files: { "/a": "x\n\n" } }), "x\n");
    assert.equal(textOf("${file:/a}", { files: { "/a": "x\ny" } }), "x\ny");
    assert.equal(textOf("${credential:a}", { credentials: { a: "x\n" } }), "x");
  });

  it("leaves alone what is no reference", () => {
    assert.equal(textOf("$ONE {ONE} $(ONE) $$ $"), "$ONE {ONE} $(ONE) $$ $");
  });

  it("writes ${ for $${", () => {
    assert.equal(textOf("$${ONE} $${ ${ONE}", { env: { ONE: "1" } }), "${ONE} ${ 1");
  });

  it("does not look for references in what a reference brought in", () => {
    assert.equal(textOf("${ONE} ${file:/a}", { env: { ONE: "${TWO}" }, files: { "/a": "${TWO}" } }), "${TWO} ${TWO}");
  });

  it("reads each file once and remembers it", () => {
    const asked: string[] = [];
    const world = worldOf({ openFiles: { "/a": "x" } });
    function file(path: string) {
      asked.push(path);
      return world.file(path);
    }
    const references = createReferences({ file: "config.yaml", resolve: { ...world, file } });
    assert.equal(references.expand("${file:/a}${file:/a}").faults.length, 1);
    assert.equal(references.expand("${file:/a}").text, "x");
    assert.deepEqual(asked, ["/a"]);
    assert.deepEqual(references.files(), ["/a"]);
  });

  it("opens files that are named without a reference, and remembers them too", () => {
    const world = worldOf({ files: { "/etc/fairlead/a": "x\n" } });
    const references = createReferences({ file: "/etc/fairlead/config.yaml", resolve: world });
    const { path, content } = references.open("a");
    assert.equal(path, "/etc/fairlead/a");
    assert.deepEqual(content, { ok: true, text: "x\n", worldReadable: false });
    assert.equal(references.open("/b").content.ok, false);
    assert.deepEqual(references.files(), ["/etc/fairlead/a", "/b"]);
  });

  it("says where the references of a text lead to", () => {
    const world = { env: { ONE: "1", EMPTY: "" }, openFiles: { "/etc/a": "x" }, credentials: { c: "y" } };
    const references = createReferences({ file: "/etc/config.yaml", resolve: worldOf(world) });
    const { origins } = references.expand("${ONE}${ONE:-a}${EMPTY:-a}$${TWO}${file:a}${credential:c}${UNSET}");
    assert.deepEqual(origins, [
      { kind: "variable", name: "ONE" },
      { kind: "variable", name: "ONE" },
      { kind: "default", name: "EMPTY" },
      { kind: "file", path: "/etc/a" },
      { kind: "credential", name: "c" },
    ]);
    assert.deepEqual(references.expand("$${ONE}").origins, []);
  });

  it("warns of credentials that are for systemd's unit alone, and asks for none", () => {
    const world = { ...worldOf(), credential: () => assert.fail("asked") };
    const references = createReferences({ file: "config.yaml", resolve: world, credentials: "unit only" });
    const { known, origins, faults } = references.expand("a${credential:c}b");
    assert.equal(known, false);
    assert.deepEqual(origins, [{ kind: "credential", name: "c" }]);
    assert.deepEqual(faults, [
      {
        severity: "warning",
        message: "comes from the credential c, which only systemd's unit gets: it cannot be checked here",
        reference: "${credential:c}",
      },
    ]);
    assert.equal(references.expand("a").known, true);
    assert.match(references.expand("${credential:a/b}").faults[0]?.message ?? "", /^names no credential/);
  });

  it("warns of a file that everyone can read, and uses it", () => {
    const { text, faults } = expand("${file:/a}", { openFiles: { "/a": "x" } });
    assert.equal(text, "x");
    assert.deepEqual(faults, [
      {
        severity: "warning",
        message: "comes from /a, which every user of this machine can read: run chmod o-r /a",
        reference: "${file:/a}",
      },
    ]);
  });

  it("finds everything in a text that cannot be resolved, without quoting what may be a piece of a password", () => {
    const { faults } = expand("${ONE} ${p4ss-word} ${file:/a} ${credential:a/b} ${TWO:-${ONE}} ${open");
    assert.deepEqual(
      faults.map(({ severity, message }) => `${severity} ${message}`),
      [
        "error needs the environment variable ONE, which is not set",
        "error has a ${ that is none of ${NAME}, ${NAME:-default}, ${file:/path} and ${credential:name}; write $${ if it is meant as text",
        "error cannot be read from the file /a: no such file",
        "error names no credential: write ${credential:name}, with the name that LoadCredential= gives it",
        "error has a reference inside a reference, which is not supported",
        "error has a ${ without a closing }; write $${ if it is meant as text",
      ],
    );
  });
});

function expand(text: string, world?: World) {
  return createReferences({ file: "config.yaml", resolve: worldOf(world) }).expand(text);
}

function textOf(text: string, world?: World): string {
  const expanded = expand(text, world);
  assert.deepEqual(expanded.faults, []);
  return expanded.text;
}
