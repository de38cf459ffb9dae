// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { exampleConfig } from "../../packaging/config-example.ts";
import { explainYaml } from "../../src/config/explain.ts";
import { type Loaded, loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CERTS, KEY } from "../config/certificates.ts";
import { assertComposedAsByLibrary } from "../config/composed.ts";
import { NOW, worldOf } from "../config/world.ts";
import { fuzz } from "./fuzz.ts";
import { fuzzTime } from "./slow.ts";
import { type Text, textLike, written } from "./text.ts";

const FILE = "config.yaml";

const RESOLVE = worldOf({
  env: { SET: "resolved-secret", KEY: "resolved-secret.pem" },
  files: { "/cert": CERTS.good, "resolved-secret.pem": KEY },
  openFiles: { "/open": "file-secret\n" },
});

const GOOD = `ingest:
  tls: { cert: /cert, key: "\${KEY}" }
  trustedProxies: [127.0.0.1]
  corsOrigins: ["https://\${SET}"]
admin: { listen: "0.0.0.0:1", token: literal }
sources:
  website:
    writeKey: literal
destinations:
  crm:
    webhooks:
      - url: https://crm.example.com
        headers:
          Authorization: Bearer literal
    sharedSecret: [literal, "\${file:/open}"]
`;

const SMALL = `sources: { website: { writeKey: "k" } }
destinations:
  crm: { webhooks: [{ url: "https://a.example/#x" }], types: [track], sharedSecret: "\${UNSET:-x}" }
`;

const FILTERED = `sources: { website: { writeKey: "k" } }
destinations:
  crm:
    events: [Order *, "!Order Viewed"]
    where: { any: [{ properties.token: { exists: true }, properties.total: { gte: 5 } }, { not: { context.a: [b, "\${SET}"] } }] }
    sample: 10%
    webhooks: [{ url: https://a.example }]
`;

const MERGED = `x-both: &both
  timeout: 3s
  headers: &headers { X-A: literal }
sources: { website: &website { writeKey: "\${file:/open}" }, app: { <<: *website, writeKey: k } }
destinations:
  crm: &crm { timeout: 2s, webhooks: [&hook { url: https://a.example, headers: *headers }] }
  erp: { <<: [*crm, { historical: skip }], sharedSecret: "\${SET}", webhooks: [{ <<: *hook, url: https://b.example }] }
`;

const likeness = {
  seeds: [
    ...[MERGED, MERGED],
    ...[GOOD, GOOD, SMALL, FILTERED, GOOD.replaceAll("\n", "\r\n"), `\uFEFF${SMALL}`, exampleConfig().slice(0, 6_000)],
    "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n<<: *b\n",
    "sources: !!map\n\twebsite: {}\n--- # again\nsources: | \n  text\n",
    '%YAML 1.1\n---\n? [complex, key]\n: "open\n',
  ],
  pieces: [
    ...["sources:", "destinations:", "admin:", "crm:", "webhooks:", "headers:", "writeKey:", "sharedSecret:", "url:"],
    ...["events:", "where:", "sample: 1%", "any:", "not: {", "properties.a:", "traits.secret:", "matches:", "gt:", "*"],
    ...["listen:", "token:", "concurrency:", "timeout:", "rate:", "burst:", "50/s", "types:", "__proto__:"],
    ...["constructor:", "<<:", "? ", "X-A:"],
    ...["ingest:", "tls:", "cert:", "key:", "trustedProxies:", "corsOrigins:", "10.0.0.1/8", "https://*.a", "type:"],
    ...["\n", "\n", "\n  ", "\n    ", "\n      - ", "\n\t", " ", " ", "- ", "{ ", " }", "[ ", " ]", ", ", "|\n", ">\n"],
    ...["&a", "*a", "<<: *a", "<<: [*a, *b]", "x-a: &a ", "*both", "include: [a.yaml]"],
    ...["&a", "*a", "!t", "!!int", "---\n", "...\n", "%YAML 1.1\n", "-----BEGIN PRIVATE KEY-----", "- x\n", "{a: "],
    ...["${SET}", "${UNSET}", "${UNSET:-x}", "${file:/open}", "${credential:x}", "$${", "${", "track", "website"],
    ...["5s", "1h30m", "0x1F", "1_000", ".inf", "127.0.0.1:1", "unix:/a", "https://a.example", "https://u:l@a.example"],
  ],
};

fuzz<Text>({
  name: "config",
  input: textLike(likeness),
  runs: 600,
  start() {
    assert.notEqual(load(GOOD).config, null);
    assert.notEqual(load(SMALL).config, null);
    assert.notEqual(load(FILTERED).config, null);
    assert.notEqual(load(MERGED).config, null);
    assert.notEqual(load(INCLUDING, SMALL).config, null);
    return { holds };
  },
});

fuzzTime({ ...likeness, name: "config", harmless: "# nothing is said here\n", run: (text) => load(text) });

/** A config, or errors that each have a place in the file, in its order; and no secret in any of them. */
function holds(pieces: Text): void {
  const text = written(pieces);
  assertComposedAsByLibrary(text.replace(/^\uFEFF/, ""));
  const inspected = load(text);
  const { config, problems } = inspected;
  assert.equal(
    config === null,
    problems.some(({ severity }) => severity === "error"),
  );
  const lines = text.replace(/^\uFEFF/, "").split("\n");
  let before = 0;
  for (const { line, column } of problems) {
    const length = lines[line - 1]?.length ?? -1;
    assert.ok(column >= 1 && column <= length + 1, `${line}:${column} is not in the file`);
    assert.ok(line * 1e7 + column >= before, `${line}:${column} comes after what is below it`);
    before = line * 1e7 + column;
  }
  assert.doesNotMatch(problems.map(formatProblem).join("\n"), /(resolved|file)-secret/);
  if (config !== null) holdsExplained(inspected);
  holdsIncluded(text);
}

const INCLUDING = `# the config\ninclude: [included.yaml]\n`;

/** An included file has its problems at its own places, and none of them with a secret. */
function holdsIncluded(text: string): void {
  const { problems } = load(INCLUDING, text);
  assert.doesNotMatch(problems.map(formatProblem).join("\n"), /(resolved|file)-secret/);
  for (const { file, line, column, text: shown } of problems) {
    const lines = (file === FILE ? INCLUDING : text).replace(/^\uFEFF/, "").split("\n");
    const length = lines[line - 1]?.length ?? -1;
    assert.ok(column >= 1 && column <= length + 1, `${file}:${line}:${column} is not in the file`);
    assert.ok(shown.length <= length, `${file}:${line} is not as long as ${JSON.stringify(shown)}`);
  }
}

/** What is explained is a file of the same meaning: explained itself, it says the same. */
function holdsExplained(inspected: Loaded): void {
  const explained = explainYaml(inspected, FILE);
  assert.doesNotMatch(explained, /file-secret/);
  const again = load(explained);
  // Hidden values are not those of the file, and may not be taken.
  if (again.config !== null) assert.equal(withoutPlaces(explainYaml(again, FILE)), withoutPlaces(explained));
}

/** `included`: the file of that name. */
function load(text: string, included?: string): Loaded {
  const file = (path: string) =>
    included !== undefined && path === "included.yaml"
      ? ({ ok: true, text: included, worldReadable: false } as const)
      : RESOLVE.file(path);
  return loadConfig({ file: FILE, text, resolve: { ...RESOLVE, file }, now: NOW });
}

function withoutPlaces(explained: string): string {
  return explained.replace(/ +# (default|config\.yaml).*$/gm, "");
}
