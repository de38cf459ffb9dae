// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as a config file has them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LoadInput, loadConfig } from "../../src/config/load.ts";
import { GB, KB, MB } from "../../src/model/units.ts";
import { NOW, worldOf } from "./world.ts";

const HEAD = "sources:\n  website:\n    writeKey: abc\n";
const DESTINATIONS = "destinations:\n  crm:\n    webhooks: [{ url: https://crm.example.com }]\n";

function load(text: string, more: Partial<LoadInput> = {}) {
  const world = worldOf({ env: { KEY: "abc", PRICE: "$PRICE" } });
  return loadConfig({ file: "/etc/config.yaml", text, resolve: world, now: NOW, ...more });
}

/** As `error destinations.crm: …`. */
function told(text: string, more: Partial<LoadInput> = {}): readonly string[] {
  return load(text, more).problems.map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
}

describe("a value that looks like a variable of another program", () => {
  const withUrl = (url: string): string => `${HEAD}destinations:\n  crm:\n    webhooks: [{ url: '${url}' }]\n`;

  for (const url of ["https://$HOST/hooks", "https://crm.example.com/$TENANT_ID", "https://a.example.com?key=$KEY&b"]) {
    it(`is doubted: ${url}`, () => {
      const [name] = /(?<=\$)\w+/.exec(url) ?? [];
      assert.deepEqual(
        told(withUrl(url)).filter((line) => line.startsWith("warning")),
        [
          `warning destinations.crm.webhooks[0].url: has $${name}, which is not replaced: write \${${name}} for the environment variable`,
        ],
      );
    });
  }

  it("is doubted without a word of it, if it is a secret", () => {
    for (const [key, form] of [
      ["$WEBSITE_KEY", "$NAME"],
      ["Bearer $token", "$NAME"],
      ["'{{ website_key }}'", "{{ NAME }}"],
      ["'{{ .Env.KEY }}'", "{{ NAME }}"],
    ]) {
      assert.deepEqual(told(`sources:\n  website:\n    writeKey: ${key}\n${DESTINATIONS}`), [
        `warning sources.website.writeKey: looks like ${form}, which is not replaced: write \${NAME} for the environment variable NAME`,
      ]);
    }
  });

  it("is no map, if nobody has put {{ NAME }} in quotes", () => {
    assert.deepEqual(told(`sources:\n  website:\n    writeKey: {{ website_key }}\n${DESTINATIONS}`), [
      "error sources.website.writeKey: has {{ }}, which is not replaced: write ${NAME} for the environment variable NAME",
    ]);
  });

  it("is taken for what it is where it does not look so", () => {
    for (const key of [
      "pa$$word",
      "a$b",
      "$5.00",
      "'$'",
      "'${KEY}'",
      "'$${KEY}'",
      "'${PRICE}'",
      "'{{'",
      "x$Y",
      "US$",
    ]) {
      assert.deepEqual(told(`sources:\n  website:\n    writeKey: ${key}\n${DESTINATIONS}`), [], key);
    }
  });
});

describe("a destination with a name that calls use for others", () => {
  for (const name of ["All", "all", "ALL", "Webhooks", "webhooks"]) {
    it(`is doubted: ${name}`, () => {
      const [message = "", ...others] = told(`${HEAD}${DESTINATIONS.replace("crm", name)}`);
      assert.equal(others.length, 0);
      assert.match(
        message,
        new RegExp(`^warning destinations\\.${name}: has a name with another meaning in the integrations of calls`),
      );
    });
  }

  it("is no other one", () => {
    assert.deepEqual(told(`${HEAD}${DESTINATIONS.replace("crm", "all-of-it")}`), []);
  });
});

describe("secrets in a config file that others can read", () => {
  it("are doubted once, at the first of them", () => {
    const text = `${HEAD}${DESTINATIONS}    sharedSecret: def\n`;
    assert.deepEqual(told(text, { worldReadable: true }), [
      "warning sources.website.writeKey: is a secret in a file that every user of this machine can read: run chmod o-r /etc/config.yaml, or refer to the secret with ${file:/path}",
    ]);
    assert.deepEqual(told(text, { worldReadable: false }), []);
  });

  it("are none that stand elsewhere", () => {
    assert.deepEqual(told(`${HEAD.replace("abc", '"${KEY}"')}${DESTINATIONS}`, { worldReadable: true }), []);
  });
});

describe("an outbox.path that is a folder", () => {
  const isFolder = (path: string): boolean => path === "/var/lib/fairlead";

  it("is refused, with what to write", () => {
    for (const path of ["/var/lib/fairlead", "/nowhere/"]) {
      const { config, problems } = load(`${HEAD}${DESTINATIONS}outbox: { path: ${path} }\n`, { isFolder });
      assert.equal(config, null);
      assert.deepEqual(
        problems.map(({ path, message }) => `${path}: ${message}`),
        [`outbox.path: is a folder: name a file in it, as ${path.replace(/\/$/, "")}/fairlead.db (got "${path}")`],
      );
    }
  });

  it("is none if it is a file, or not there yet", () => {
    assert.deepEqual(told(`${HEAD}${DESTINATIONS}outbox: { path: /var/lib/fairlead/f.db }\n`, { isFolder }), []);
  });
});

describe("sizes and levels as other programs write them", () => {
  it("are understood: KiB, MiB and GiB are KB, MB and GB", () => {
    for (const [written, bytes] of [
      ["1GiB", GB],
      ["64 MiB", 64 * MB],
      ["2048kib", 2_048 * KB],
      ["1GB", GB],
    ] as const) {
      const { config } = load(`${HEAD}${DESTINATIONS}outbox: { maxSize: ${written} }\n`);
      assert.equal(config?.outbox.maxSize, bytes, written);
    }
  });

  it("are understood: warn is warning", () => {
    assert.equal(load(`${HEAD}${DESTINATIONS}log: { level: warn }\n`).config?.log.level, "warning");
    assert.match(told(`${HEAD}log: { level: warnin }\n`).join(), /did you mean warning\?/);
  });
});

describe("tabs that indent", () => {
  it("are one mistake, however many lines have them", () => {
    const tabs =
      "sources:\n\twebsite:\n\t\twriteKey: abc\ndestinations:\n\tcrm:\n\t\twebhooks:\n\t\t\t- url: https://a.example.com\n";
    const { problems } = load(tabs);
    assert.deepEqual(
      problems.map(({ line, message }) => [line, message]),
      [[2, "a tab cannot indent: use spaces, here and in 4 more lines"]],
    );
    assert.match(load("sources:\n  website:\n\twriteKey: abc\n").problems[0]?.message ?? "", /use spaces$/);
  });
});

describe("a required key that is missing", () => {
  it("is named once, with its place", () => {
    assert.deepEqual(
      told(`ingest: { tls: { cert: a.pem } }\n${HEAD}${DESTINATIONS}`)[0],
      "error ingest.tls.key: is missing here: it is required",
    );
    assert.deepEqual(told(`${HEAD}destinations: { crm: {} }\n`), [
      "error destinations.crm.webhooks: is missing here: it is required",
    ]);
  });
});
