// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CERTS, KEY } from "./certificates.ts";
import { NOW, worldOf } from "./world.ts";

const RESOLVE = worldOf({
  env: { SET: "resolved-secret", KEY: "resolved-secret.pem" },
  files: { "/cert": CERTS.good, "resolved-secret.pem": KEY },
  openFiles: { "/open": "resolved-secret\n" },
});

/** What a config file is made of, so that chance gets past the syntax. */
const PIECES = [
  ...["sources:", "destinations:", "admin:", "crm:", "webhooks:", "headers:", "writeKey:", "sharedSecret:", "url:"],
  ...["listen:", "token:", "concurrency:", "timeout:", "types:", "__proto__:", "constructor:", "<<:", "? ", "X-A:"],
  ...["ingest:", "tls:", "cert:", "key:", "trustedProxies:", "corsOrigins:", "10.0.0.1/8", "https://*.a", "type:"],
  ...["\n", "\n", "\n  ", "\n    ", "\n      - ", "\n\t", " ", " ", "- ", "{ ", " }", "[ ", " ]", ", ", "|\n", ">\n"],
  ...["&a", "*a", "!t", "!!int", "'", '"', "#", "---\n", "%YAML 1.1\n", "\r\n", "\u0000", "\uFEFF", "é", "🙂"],
  ...[
    "${SET}",
    "${UNSET}",
    "${UNSET:-x}",
    "${file:/open}",
    "${credential:x}",
    "$${",
    "${",
    "}",
    "null",
    "true",
    "5",
    "5s",
  ],
  ...["track", "website", "https://a.example", "https://u:literal@a.example", "unix:/a", "127.0.0.1:1"],
];

/** A good file, for chance to spoil. */
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

const anyText = fc.string({ unit: "binary", maxLength: 300 });
const likelyText = fc.array(fc.constantFrom(...PIECES), { maxLength: 40 }).map((pieces) => pieces.join(""));

const spoiltText = fc
  .array(fc.tuple(fc.nat(GOOD.length), fc.nat(3), fc.constantFrom("", ...PIECES)), { minLength: 1, maxLength: 4 })
  .map((edits) => edits.reduce((text, [at, drop, add]) => text.slice(0, at) + add + text.slice(at + drop), GOOD));

describe("loadConfig, whatever the file holds", () => {
  it("takes the good file", () => assert.notEqual(load(GOOD).config, null));

  it("never throws, and answers a config or an error with a place in the file", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, likelyText, spoiltText), (text) => {
        const { config, problems } = load(text);
        assert.equal(
          config === null,
          problems.some(({ severity }) => severity === "error"),
        );
        const lines = text.split("\n").length;
        for (const { line, column } of problems) assert.ok(line >= 1 && line <= lines && column >= 1);
      }),
      { numRuns: 1_000 },
    );
  });

  it("reports in the order of the file, and never shows what a reference brought in", () => {
    fc.assert(
      fc.property(fc.oneof(likelyText, spoiltText), (text) => {
        const { problems } = load(text);
        const places = problems.map(({ line, column }) => line * 10_000 + column);
        assert.deepEqual(
          places,
          places.toSorted((a, b) => a - b),
        );
        assert.doesNotMatch(problems.map(formatProblem).join("\n"), /resolved-secret/);
      }),
      { numRuns: 1_000 },
    );
  });
});

function load(text: string) {
  return loadConfig({ file: "config.yaml", text, resolve: RESOLVE, now: NOW });
}
