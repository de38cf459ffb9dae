import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { parseDocument } from "yaml";
import { explainYaml } from "../../src/config/explain.ts";
import { FREE } from "../../src/config/key.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { readTree } from "../../src/config/read.ts";
import { createReferences } from "../../src/config/references.ts";
import { atOnce } from "../../src/config/steps.ts";
import { parse } from "../../src/config/syntax.ts";
import { plain } from "../../src/config/tree.ts";
import { FILE, load, worldOf } from "./world.ts";

const TEXT = `x-headers: &headers { X-Env: production }
x-defaults: &defaults
  timeout: 3s
  historical: skip
sources:
  website: { writeKey: website-key }
destinations:
  crm:
    <<: *defaults
    webhooks: [{ url: https://crm.example.com, headers: *headers }]
`;

/** What any value reads as, and what the library makes of it. */
function bothOf(text: string): readonly [ours: unknown, theirs: unknown] {
  const document = parse(text);
  const references = createReferences({ file: FILE, resolve: worldOf() });
  const findings: never[] = [];
  const placeOf = () => ({ line: 1 });
  const anything = v.pipe(v.any(), v.metadata({ [FREE]: [] }));
  const tree = atOnce(readTree(document.contents, anything, { ...document, references, findings, placeOf }));
  assert.deepEqual(findings, []);
  return [JSON.parse(JSON.stringify(plain(tree))), parseDocument(text, { merge: true }).toJS()];
}

function errors(text: string): readonly string[] {
  return load(text).problems.map((problem) => formatProblem(problem).split("\n")[0] ?? "");
}

describe("anchors, aliases and merge keys", () => {
  it("stand for what is at the anchor, and for the keys of a map", () => {
    const { config, problems } = load(TEXT);
    assert.deepEqual(problems, []);
    const [crm] = config?.destinations ?? [];
    assert.deepEqual([crm?.historical, crm?.timeout], ["skip", 3_000]);
    assert.equal(crm?.webhooks[0]?.headers[0]?.[1].reveal(), "production");
  });

  for (const [what, text] of Object.entries({
    "a key of its own, above or below": "a: &a { x: 1, y: 2 }\nb: { x: 3, <<: *a }\nc: { <<: *a, x: 4 }\n",
    "the first of several maps": "a: &a { x: 1 }\nb: &b { x: 2, y: 3 }\nc: { <<: [*a, *b] }\nd: { <<: [*b, *a] }\n",
    "a map that merges others itself": "a: &a { x: 1, z: 0 }\nb: &b { <<: *a, y: 2, x: 5 }\nc: { <<: *b, w: 3 }\n",
    "a map that is written at the key": "a: { <<: { x: 1, y: 2 }, x: 3 }\n",
    "whole values, not their parts": "a: &a { x: { p: 1, q: 2 } }\nb: { <<: *a, x: { p: 3 } }\n",
    "the last anchor of a name above it": "a: &a 1\nb: *a\nc: &a 2\nd: [*a, &a 3, *a]\n",
    "a list, a number and a text": "a: [&a [1, 2], &b 7, &c text]\nb: *a\nc: [*b, *c, *a]\n",
    "a name in quotes, which is no merge key": 'a: { "<<": 1, x: 2 }\n',
    "an alias of an alias": "a: &a { x: 1 }\nb: { c: &c { d: *a } }\ne: *c\n",
  })) {
    it(`give what the library gives of ${what}`, () => {
      const [ours, theirs] = bothOf(text);
      assert.deepEqual(ours, theirs);
    });
  }

  it("have problems where the value is written, with the path where it counts", () => {
    assert.deepEqual(errors(TEXT.replace("3s", "3 parsecs").replace("production", '"a\\nb"')), [
      `${FILE}:1:30: destinations.crm.webhooks[0].headers.X-Env: must not contain line breaks or other control characters`,
      `${FILE}:3:12: destinations.crm.timeout: must be a duration, as in 250ms, 5s, 4h, 30d or 1h30m (got "3 parsecs")`,
    ]);
    assert.deepEqual(errors(TEXT.replace("historical", "historic")), [
      `${FILE}:4:3: destinations.crm.historic: is not a known key: did you mean historical?`,
    ]);
  });

  it("bring no key twice that is there twice", () => {
    const twice = `x-page: &page { type: page, type: track }\ndestinations: { d: { webhooks: [{ url: http://a }], where: *page } }\n`;
    assert.match(
      errors(`sources: {}\n${twice}`).join("\n"),
      /:2:29: destinations\.d\.where\.type: is set twice: first in line 2/,
    );
  });

  it("are kept under keys that begin with x-, at the top and nowhere else", () => {
    assert.deepEqual(errors(`${TEXT}x-what: { any: [thing] }\nx-: 1\n`), []);
    assert.match(errors(`${TEXT}log: { x-level: debug }\n`).join(), /log\.x-level: is not a known key/);
    assert.match(errors(`${TEXT}x-a: 1\nx-a: 2\n`).join(), /x-a: is set twice: first in line 11/);
  });

  it("do not show what is secret at one of its places at another", () => {
    const text = `x-key: &key hush-1
x-keys: { deep: &deep [hush-2] }
x-headers: &headers { X-A: "hush\\n3" }
sources:
  website: { writeKey: *key, ip: *key }
  app: { writeKey: &app hush-4, type: *app }
destinations:
  crm: { sharedSecret: *deep, types: *deep, webhooks: [{ url: *key, headers: { <<: *headers } }] }
`;
    const { problems } = load(text);
    assert.deepEqual(
      problems.map(({ path, line }) => `${line} ${path}`),
      [
        "1 sources.website.ip",
        "1 destinations.crm.webhooks[0].url",
        "2 destinations.crm.types[0]",
        "3 destinations.crm.webhooks[0].headers.X-A",
        "6 sources.app.type",
      ],
    );
    assert.doesNotMatch(problems.map(formatProblem).join("\n"), /hush/);
  });

  it("are explained as what they stand for", () => {
    assert.match(explainYaml(load(TEXT), FILE), /^ {4}timeout: 3s +# config\.yaml:3$/m);
  });

  it("cannot stand for what they are in, or for something below", () => {
    assert.match(errors("sources: &s\n  a: *s\n").join(), /:2:6: sources\.a: is an alias \(\*\) without an anchor/);
    assert.match(errors("sources: { a: *b, b: &b { writeKey: k } }\n").join(), /:1:15: sources\.a: is an alias/);
  });

  it("are not followed without end", () => {
    const laughs = Array.from({ length: 20 }, (_, nth) => {
      return `x-${nth + 1}: &a${nth + 1} { any: [${Array.from({ length: 9 }, () => `*a${nth}`).join(", ")}] }\n`;
    });
    const where = "sources: {}\ndestinations: { d: { webhooks: [{ url: http://a }], where: *a20 } }\n";
    const told = errors(`x-0: &a0 { type: page }\n${laughs.join("")}${where}`);
    assert.match(told.join("\n"), /is more than the aliases \(\*\) of a config may bring: write some of it out/);
    const merges = laughs.map((line) => line.replace("any", "<<"));
    const merged = errors(`x-0: &a0 { type: page }\n${merges.join("")}${where}`);
    assert.match(merged.join("\n"), /in a chain of more than 20|may bring/);
    const keys = Array.from({ length: 1_000 }, (_, nth) => `k${nth}: a`).join(", ");
    const again = Array.from({ length: 1_000 }, () => "*h").join(", ");
    const webhook = `{ url: http://a, headers: { <<: [${again}] } }`;
    const wide = errors(`x-0: &h { ${keys} }\nsources: {}\ndestinations: { d: { webhooks: [${webhook}] } }\n`);
    assert.match(wide.join("\n"), /may bring/);
  });

  it("do not lead deeper than a hundred levels", () => {
    const deep = Array.from({ length: 5_000 }, (_, nth) => `x-${nth + 1}: &a${nth + 1} { not: *a${nth} }\n`);
    const text = `x-0: &a0 {}\n${deep.join("")}destinations: { d: { where: *a5000 } }\n`;
    assert.match(errors(text).join("\n"), /is nested too deeply: at most 100 levels/);
    const chain = deep.map((line) => line.replace("not", "<<")).join("");
    assert.match(errors(`x-0: &a0 {}\n${chain}sources: *a5000\n`).join("\n"), /in a chain of more than 20/);
  });
});
