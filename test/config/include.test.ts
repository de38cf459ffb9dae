// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { explainYaml, listSettings } from "../../src/config/explain.ts";
import type { Loaded } from "../../src/config/load.ts";
import { namesUnder, readAdminPart, readWriteKey } from "../../src/config/parts.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { FILE, load, type World, worldOf } from "./world.ts";

const MAIN = `include: [conf.d/*.yaml]
admin: { token: a-token }
sources:
  website: { writeKey: website-key }
`;
const SHOP = "sources:\n  shop:\n    writeKey: shop-key\n";
const CRM = "destinations:\n  crm:\n    sources: [website, shop]\n    webhooks: [{ url: https://crm.example.com }]\n";

/** The files of /etc/fairlead/conf.d by their names, or others by their paths. */
function included(files: Readonly<Record<string, string>>, text = MAIN, world: World = {}): Loaded {
  return load(text, { ...world, files: { ...named(files), ...world.files } });
}

function named(files: Readonly<Record<string, string>>): Record<string, string> {
  const paths = Object.entries(files).map(
    ([name, text]) => [name.includes("/") ? name : inFolder(name), text] as const,
  );
  return Object.fromEntries(paths);
}

function inFolder(name: string): string {
  return `/etc/fairlead/conf.d/${name}`;
}

function errors({ problems }: Loaded): readonly string[] {
  return problems.map((problem) => formatProblem(problem).split("\n")[0] ?? "");
}

function names({ config }: Loaded): readonly string[] {
  return [...(config?.sources ?? []), ...(config?.destinations ?? [])].map(({ name }) => name);
}

describe("a config that includes files", () => {
  it("has the sources and destinations of all of them, as if they were one", () => {
    const loaded = included({ "crm.yaml": CRM, "shop.yaml": SHOP });
    assert.deepEqual(errors(loaded), []);
    assert.deepEqual(names(loaded), ["website", "shop", "crm"]);
    assert.deepEqual(loaded.config?.destinations[0]?.sources, ["website", "shop"]);
    assert.deepEqual(loaded.configFiles, [FILE, inFolder("crm.yaml"), inFolder("shop.yaml")]);
  });

  it("takes those of a pattern in the order of their names, and each once", () => {
    const text = "include: [conf.d/b*.yaml, conf.d/*.yaml, conf.d/a.yaml, conf.d/?.yml]\n";
    const files = Object.fromEntries(
      ["a", "b1", "b10", "b2", "c"].map((name) => [`${name}.yaml`, `sources: { ${name}: { writeKey: k-${name} } }\n`]),
    );
    const others = { "d.yml": "sources: { d: { writeKey: d } }\n", "ee.yml": "broken: [", "f.yaml.off": "broken: [" };
    assert.deepEqual(names(included({ ...files, ...others }, text)), ["b1", "b10", "b2", "a", "c", "d"]);
  });

  it("may be matched by its own pattern, and is not included in itself", () => {
    const loaded = included({ [FILE]: MAIN, "/etc/fairlead/shop.yaml": SHOP }, MAIN.replace(/conf.*l/, '"*.yaml"'));
    assert.deepEqual(names(loaded), ["website", "shop"]);
  });

  it("may match no file, but needs the folder, and each file without a pattern", () => {
    assert.deepEqual(names(included({ README: "" })), ["website"]);
    assert.deepEqual(errors(included({}, MAIN.replace("[conf.d", "[conf.d/a.yaml, conf.d"))), [
      `${FILE}:1:11: include[0]: names /etc/fairlead/conf.d/a.yaml, which cannot be read: no such file`,
      `${FILE}:1:26: include[1]: names the folder /etc/fairlead/conf.d, which cannot be listed: no such folder`,
    ]);
  });

  it("takes paths from references, and absolute ones", () => {
    const world = { env: { PLACE: "/srv/fairlead" }, files: { "/srv/fairlead/shop.yaml": SHOP } };
    assert.deepEqual(names(included({}, MAIN.replace("conf.d/*.yaml", '"${PLACE}/*.yaml"'), world)), [
      "website",
      "shop",
    ]);
  });

  it("says what a path may not be", () => {
    const paths = ["conf.d/", '""', "conf.d/*/a.yaml", "conf.d/*.{yaml,yml}", 5].map((path) => `  - ${path}\n`);
    const { problems } = load(`include:\n${paths.join("")}`);
    assert.deepEqual(
      problems.map(({ path, message }) => `${path} ${message}`),
      [
        'include[0] names a folder: name the files in it, as in conf.d/*.yaml (got "conf.d/")',
        'include[1] must not be empty (got "")',
        'include[2] may have * and ? in its last part alone: name each folder (got "conf.d/*/a.yaml")',
        'include[3] may not have [ ] or { }: use * and ?, or several entries (got "conf.d/*.{yaml,yml}")',
        "include[4] must be text: put it in quotes (got 5)",
      ],
    );
    assert.match(
      errors(load("include: conf.d/*.yaml\n")).join(),
      /include: must be a list, as in \[conf\.d\/\*\.yaml]/,
    );
  });

  it("has at most 500 files, and 4 MB in all", () => {
    const many = Object.fromEntries(Array.from({ length: 501 }, (_, nth) => [`${nth}.yaml`, ""]));
    assert.match(errors(included(many)).join(), /^[^:]+:1:11: include\[0]: names more than 500 files/);
    delete many["500.yaml"];
    assert.deepEqual(names(included(many)), ["website"]);
    const large = Object.fromEntries(Array.from({ length: 5 }, (_, nth) => [`${nth}.yaml`, "#".repeat(900_000)]));
    assert.match(errors(included(large)).join(), /^[^:]+:1:11: include\[0]: names more than 4MB/);
    assert.match(errors(included({ "a.yaml": "#".repeat(1_048_577) })).join(), /a\.yaml:1:1: the file is too large/);
  });

  it("starts relative paths at its own folder, also those of an included file", () => {
    const shop = SHOP.replace("shop-key", '"${file:keys/shop}"');
    const loaded = included({ "shop.yaml": shop }, MAIN, { files: { "/etc/fairlead/keys/shop": "from-file\n" } });
    assert.equal(loaded.config?.sources[1]?.writeKey.reveal(), "from-file");
    assert.deepEqual(loaded.files, ["/etc/fairlead/keys/shop"]);
  });

  it("names the file and the place of each problem, in the order of the files", () => {
    const loaded = included({
      "crm.yaml": `# ours\n${CRM.replace("https", "htp")}`,
      "shop.yaml": SHOP.replace("shop-key", "website-key"),
    });
    assert.deepEqual(errors(loaded), [
      `${inFolder("crm.yaml")}:5:23: destinations.crm.webhooks[0].url: must start with http:// or https:// (got "htp://crm.example.com")`,
      `${inFolder("shop.yaml")}:3:15: sources.shop.writeKey: is the same as sources.website.writeKey: each source needs a key of its own`,
    ]);
    assert.deepEqual(
      loaded.problems.map(({ text }) => text),
      ["    webhooks: [{ url: htp://crm.example.com }]", "    writeKey: ***********"],
    );
  });

  it("names both places of a name that two files have", () => {
    const [crm, again] = [
      CRM.replace(", shop", ""),
      "destinations:\n  # the second\n  crm: { webhooks: [{ url: https://b.example.com }] }\n",
    ];
    assert.deepEqual(errors(included({ "a.yaml": crm, "b.yaml": again, "c.yaml": MAIN.replace(/^.*\n.*\n/, "") })), [
      `${inFolder("b.yaml")}:3:3: destinations.crm: is set twice: first in ${inFolder("a.yaml")}:2`,
      `${inFolder("c.yaml")}:2:3: sources.website: is set twice: first in ${FILE}:4`,
    ]);
    assert.deepEqual(errors(included({ "a.yaml": `${SHOP}  shop: { writeKey: b }\nsources: {}\n` })), [
      `${inFolder("a.yaml")}:4:3: sources.shop: is set twice: first in line 2`,
      `${inFolder("a.yaml")}:5:1: sources: is set twice: first in line 1`,
    ]);
  });

  it("refuses in an included file all but sources, destinations and notify", () => {
    const others = "include: [more/*.yaml]\nadmin: { token: another-token }\nsourcs: {}\nextra: 1\n";
    const loaded = included({ "a.yaml": others, "b.yaml": "- 1\n" });
    assert.deepEqual(errors(loaded), [
      `${inFolder("a.yaml")}:1:1: include: cannot be in an included file, only sources, destinations and notify: move it to ${FILE}`,
      `${inFolder("a.yaml")}:2:1: admin: cannot be in an included file, only sources, destinations and notify: move it to ${FILE}`,
      `${inFolder("a.yaml")}:3:1: sourcs: is not a known key: did you mean sources?`,
      `${inFolder("a.yaml")}:4:1: extra: is not a known key: known here are sources, destinations, notify`,
      `${inFolder("b.yaml")}:1:1: the file must hold keys such as \`sources:\`, each with a space after its colon (got a list of 1)`,
    ]);
    assert.doesNotMatch(JSON.stringify(loaded.problems), /another-token/);
  });

  it("takes those who are told of trouble from all files as well", () => {
    const ops = (name: string) => `notify:\n  ${name}: { url: https://ops.example.com/${name} }\n`;
    const loaded = included({ "a.yaml": ops("night"), "b.yaml": ops("day") }, `${MAIN}${ops("ops")}`);
    assert.deepEqual(
      errors(loaded).filter((line) => !line.includes("warning")),
      [],
    );
    assert.deepEqual(
      loaded.config?.notify.map(({ destination }) => destination.name),
      ["notify:ops", "notify:night", "notify:day"],
    );
  });

  it("takes an included file without a value, and a section whose lines are all commented out", () => {
    const loaded = included({
      "a.yaml": "",
      "b.yaml": "# nothing\n",
      "c.yaml": "sources:\n  # none\n",
      "d.yaml": SHOP,
    });
    assert.deepEqual(names(loaded), ["website", "shop"]);
  });

  it("reports the syntax of all files, and nothing that could follow from it", () => {
    const loaded = included({ "a.yaml": "sources:\n\tx: 1\n", "b.yaml": 'writeKey: "abc\n', "c.yaml": CRM });
    assert.deepEqual(errors(loaded), [
      `${inFolder("a.yaml")}:2:1: a tab cannot indent: use spaces`,
      `${inFolder("b.yaml")}:1:11: this quote is never closed`,
    ]);
    assert.equal(loaded.problems[1]?.text, "writeKey: ****");
  });

  it("says nothing of the values when a file is missing, which could have others", () => {
    const text = `${MAIN.replace("conf.d/*", "conf.d/a")}${CRM}`;
    assert.deepEqual(errors(included({}, text)), [
      `${FILE}:1:11: include[0]: names ${inFolder("a.yaml")}, which cannot be read: no such file`,
    ]);
  });

  it("warns of the first secret in each file that every user can read", () => {
    const openFiles = { [inFolder("a.yaml")]: SHOP, [inFolder("b.yaml")]: CRM, [inFolder("c.yaml")]: OTHERS };
    const open = { worldReadable: true, isInOpenFolders: () => true };
    const told = errors(load(MAIN, { openFiles }, open)).filter((line) => line.includes("every user"));
    assert.deepEqual(
      told.map((line) => line.replace(/: is a secret.*run/, "")),
      [
        `${FILE}:2:17: warning: admin.token chmod o-r ${FILE}, or refer to the secret with \${file:/path}`,
        `${inFolder("a.yaml")}:3:15: warning: sources.shop.writeKey chmod o-r ${inFolder("a.yaml")}, or refer to the secret with \${file:/path}`,
        `${inFolder("c.yaml")}:1:29: warning: sources.one.writeKey chmod o-r ${inFolder("c.yaml")}, or refer to the secret with \${file:/path}`,
      ],
    );
    const closed = errors(load(MAIN, { openFiles }, { worldReadable: false, isInOpenFolders: () => false }));
    assert.doesNotMatch(closed.join(), /every user/);
  });

  it("keeps anchors to their own file", () => {
    const files = { "a.yaml": "sources:\n  a: &a { writeKey: k }\n", "b.yaml": "sources:\n  b: *a\n" };
    assert.match(errors(included(files)).join(), /b\.yaml:2:6: sources\.b: is an alias \(\*\) without an anchor/);
  });

  it("bounds what aliases bring in all files together", () => {
    const all = Object.fromEntries(Array.from({ length: 3 }, (_, nth) => [`${nth}.yaml`, nested(nth)]));
    assert.deepEqual(errors(included({ "0.yaml": nested(0) })), []);
    assert.match(errors(included(all)).join("\n"), /is more than the aliases \(\*\) of a config may bring/);
  });

  it("is explained with the file and line of each value, and can be read again as one file", () => {
    const loaded = included({ "crm.yaml": CRM, "shop.yaml": SHOP });
    const explained = explainYaml(loaded, FILE);
    for (const line of [
      /^ {6}- url: https:\/\/crm\.example\.com +# conf\.d\/crm\.yaml:4$/m,
      /^ {4}writeKey: "\*\*\*" +# conf\.d\/shop\.yaml:3$/m,
      /^ {2}token: "\*\*\*" +# config\.yaml:2$/m,
      /^# include: \[\/etc\/fairlead\/conf\.d\/\*\.yaml] +# config\.yaml:1$/m,
    ]) {
      assert.match(explained, line);
    }
    assert.deepEqual(names(load(explained.replace('"***"', "b").replace('"***"', "c"))), ["website", "shop", "crm"]);
    const settings = listSettings(loaded, FILE);
    const of = (path: string) => settings.find((setting) => setting.path === path);
    assert.equal(of("sources.shop.writeKey")?.from, `${inFolder("shop.yaml")}:3`);
    assert.deepEqual(of("include")?.value, [inFolder("*.yaml")]);
  });

  it("has its names and write keys found by commands, which read no included file for other parts", () => {
    const resolve = worldOf({ files: named({ "crm.yaml": CRM, "shop.yaml": SHOP }) });
    const input = { file: FILE, text: MAIN, resolve };
    assert.deepEqual(namesUnder("sources", input), ["website", "shop"]);
    assert.deepEqual(namesUnder("destinations", input), ["crm"]);
    const key = readWriteKey("shop", input);
    assert.equal("faulty" in key ? key.message : key.reveal(), "shop-key");
    const closed = { ...input, resolve: { ...resolve, folder: () => assert.fail(), file: () => assert.fail() } };
    assert.equal(readAdminPart(closed).listen && "listen" in readAdminPart(closed).listen, true);
  });
});

/** A destination whose few aliases bring some 80,000 values. */
function nested(nth: number): string {
  const lists = `x-0: &tracks [${"track, ".repeat(400)}]\nx-1: &d { types: *tracks, webhooks: [{ url: http://a }] }\n`;
  return `${lists}destinations:\n${Array.from({ length: 200 }, (_, one) => `  d${nth}-${one}: *d\n`).join("")}`;
}

const OTHERS = "sources: { one: { writeKey: one }, two: { writeKey: two } }\n";
