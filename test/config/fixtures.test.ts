import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { loadConfig } from "../../src/config/load.ts";
import { formatProblem } from "../../src/config/problems.ts";
import { CERTS, ENCRYPTED_KEY, KEY, OTHER_KEY } from "./certificates.ts";
import { NOW, worldOf } from "./world.ts";

const FOLDER = new URL("../fixtures/config/", import.meta.url);

const WORLD = worldOf({
  env: {
    WEBSITE_KEY: "website-key-from-env",
    APP_KEY: "app-key-from-env",
    USER_INFO: "user-from-env:pass-from-env",
    NUMBER: "5",
    WORD: "secret-word",
    EMPTY: "",
  },
  files: {
    "two-lines": "my-value\nmore\n",
    "/secret": "secret-from-file\n",
    "/tls/good.pem": CERTS.good,
    "/tls/ca.pem": CERTS.ca,
    "/tls/expired.pem": CERTS.expired,
    "/tls/key.pem": KEY,
    "/tls/other-key.pem": OTHER_KEY,
    "/tls/encrypted-key.pem": ENCRYPTED_KEY,
  },
  openFiles: { "/world-readable": "secret-from-open-file\n", "/tls/open-key.pem": KEY },
  closedFiles: ["/closed"],
});

describe("a broken config file", () => {
  const names = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"));
  for (const name of names) {
    it(`${name} is reported as in ${name.replace(".yaml", ".txt")}`, () => {
      const { config, problems } = load(name);
      assert.equal(problems.map((problem) => `${formatProblem(problem)}\n`).join(""), expected(name));
      assert.equal(
        config === null,
        problems.some(({ severity }) => severity === "error"),
      );
    });

    it(`${name} keeps its secrets`, () => {
      const printed = JSON.stringify(load(name).problems);
      assert.doesNotMatch(printed, /-from-(env|file|open-file)|my-(secret|value|key)|user:pass|secret-word/);
    });
  }
});

function load(name: string) {
  return loadConfig({ file: name, text: readFileSync(new URL(name, FOLDER), "utf8"), resolve: WORLD, now: NOW });
}

function expected(name: string): string {
  return readFileSync(new URL(name.replace(".yaml", ".txt"), FOLDER), "utf8");
}
