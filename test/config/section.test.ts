// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readSection } from "../../src/config/parts.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { child, textOf } from "../../src/config/tree.ts";
import type { Resolve } from "../../src/model/ports.ts";
import { type World, worldOf } from "./world.ts";

/** A world that remembers what it was asked for. */
function watched(world: World): { readonly resolve: Resolve; readonly asked: readonly string[] } {
  const { env, file, credential } = worldOf(world);
  const asked: string[] = [];
  function noting<Found>(look: (name: string) => Found): (name: string) => Found {
    return (name) => {
      asked.push(name);
      return look(name);
    };
  }
  return { resolve: { env: noting(env), file: noting(file), credential: noting(credential) }, asked };
}

function read(text: string, resolve: Resolve = worldOf()) {
  const { tree, errors } = readSection("admin", { file: "config.yaml", text, resolve });
  return { token: textOf(child(tree, "token")), errors: errors.map(formatProblem) };
}

describe("one section of a config file", () => {
  it("has its own references resolved, and no others", () => {
    const text = `
admin: { token: "\${ADMIN_TOKEN}" }
sources: { website: { writeKey: "\${WEBSITE_KEY}" } }
destinations:
  crm: { webhooks: [{ url: "https://example.com/" }], sharedSecret: "\${file:/secret}\${credential:c}" }
`;
    const { resolve, asked } = watched({ env: { ADMIN_TOKEN: "t1", WEBSITE_KEY: "k" }, files: { "/secret": "s" } });
    assert.deepEqual(read(text, resolve), { token: "t1", errors: [] });
    assert.deepEqual(asked, ["ADMIN_TOKEN"]);
  });

  it("does not suffer from what is wrong elsewhere", () => {
    const text =
      "nonsense: 1\nsources: 5\noutbox: { path: 5, pth: x }\nadmin: { token: t }\ningest: &a { listen: 8 }\n";
    assert.deepEqual(read(text), { token: "t", errors: [] });
  });

  it("is not there in a file without it", () => {
    assert.deepEqual(read("sources: {}"), { token: null, errors: [] });
  });

  it("is not kept from its place by a byte order mark", () => {
    assert.deepEqual(read("\uFEFFadmin: { token: t }"), { token: "t", errors: [] });
  });

  it("is wrong with its place in the whole file", () => {
    const { errors } = read("sources: {}\nadmin:\n  listen: 8081\n  tokn: ${ADMIN_TOKEN}\n");
    assert.equal(errors.length, 2);
    assert.match(errors[0] ?? "", /^config\.yaml:3:11: admin\.listen: must be .*\n {2} {2}listen: 8081\n/);
    assert.match(errors[1] ?? "", /^config\.yaml:4:3: admin\.tokn: is not a known key: did you mean token\?/);
  });

  it("is wrong if its name is misspelt, or there twice", () => {
    assert.match(read("admn: { token: t }").errors.join(), /admn: is not a known key: did you mean admin\?/);
    assert.match(read("admin: {}\nadmin: {}").errors.join(), /:2:1: admin: is set twice: first in line 1/);
  });

  it("is wrong if the file is no config at all", () => {
    assert.match(read("").errors.join(), /the file is empty/);
    assert.match(read("- admin").errors.join(), /the file must hold keys/);
    assert.match(read("admin: { token: 't\n").errors.join(), /^config\.yaml:1:\d+: /);
  });

  it("does not show its secret in a Problem", () => {
    for (const text of ["admin: { token: hush-hush, listen: 5 }", "admin: { token: hush-hush, listen: [ }"]) {
      const { errors } = read(text);
      assert.ok(errors.length > 0);
      assert.doesNotMatch(errors.join(), /hush/);
    }
  });
});
