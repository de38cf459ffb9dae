import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { isMap, parse, parseDocument } from "yaml";
import { configPages, sectionsOf, snippet } from "../../packaging/reference/config.ts";
import { anchorOf } from "../../packaging/reference/markdown.ts";
import { FIXED_KEYS } from "../../src/config/changes.ts";
import { flag, text } from "../../src/config/fields.ts";
import { configJsonSchema } from "../../src/config/json-schema.ts";
import { key } from "../../src/config/key.ts";
import { loadConfig } from "../../src/config/load.ts";
import { EXAMPLE_PEMS } from "./certificates.ts";
import { faultsOf } from "./json-schema-validator.ts";
import { NOW } from "./world.ts";

const PAGES = configPages();
const INDEX = pageOf("index.md");
const OPTIONS = sectionsOf().flatMap(({ options }) => options);

describe("docs/reference/config/", () => {
  it("has a heading for every key that the JSON Schema knows, and a row that leads there", () => {
    const titles = [...JSON.stringify(configJsonSchema()).matchAll(/"title":"([^"]*\.[^"]*)"/g)].map(
      ([, title = ""]) => title,
    );
    assert.ok(titles.length > 25);
    for (const title of titles) {
      const [, file = "", anchor] =
        new RegExp(`\\n\\| \\[\`${escapeRegExp(title)}\`\\]\\((\\w+\\.md)#([^)]*)\\)`).exec(INDEX) ?? [];
      assert.equal(anchor, anchorOf(title), title);
      assert.ok(pageOf(file).includes(`\n## ${title}\n`), `${title} in ${file}`);
    }
  });

  it("says of the keys that need a restart that they do, and of no others", () => {
    const others = OPTIONS.filter(({ reload }) => reload !== "applied").map(({ path }) => path);
    assert.deepEqual(others.toSorted(), FIXED_KEYS.toSorted());
    assert.match(INDEX, /^\| \[`outbox\.path`\].*\| needs a restart \|$/m);
    assert.match(INDEX, /^\| \[`ingest\.tls\.cert`\].*\| applied \|$/m);
  });

  for (const option of OPTIONS) {
    it(`has an example of ${option.path} that loads, sets it, and is none of the default`, () => {
      const written = snippet(option);
      assert.ok([...PAGES.values()].some((page) => page.includes(`\`\`\`yaml\n${written}\n\`\`\``)));
      const text = completed(written);
      assert.deepEqual(load(text).problems, []);
      assert.deepEqual(faultsOf(configJsonSchema(), parse(text)), []);
      assert.notEqual(option.byDefault, `\`${lastValue(written)}\``);
    });
  }
});

describe("configPages", () => {
  it("says what a key is, its type, its default and an example", () => {
    const colour = key(v.optional(text(), "red"), {
      description: "The *colour*.",
      more: "As in `*`.",
      example: "blue",
    });
    const on = key(flag(), { description: "Whether it is on.", example: true });
    const tail = key(v.optional(text()), { description: "Its tail.", example: "long", leftOut: "no tail" });
    const kite = key(v.optional(v.strictObject({ colour, on, tail })), { description: "A kite." });
    const page = configPages({ kite }).get("kite.md") ?? "";
    assert.deepEqual(page.split("\n\n").slice(1), [
      "# kite",
      "A kite.",
      "## kite.colour",
      "**Type:** text · **Default:** `red` · **At a reload:** applied",
      "The \\*colour\\*. As in `*`.",
      "```yaml\nkite:\n  colour: blue\n```",
      "## kite.on",
      "**Type:** `true` or `false` · **Required** · **At a reload:** applied",
      "Whether it is on.",
      "```yaml\nkite:\n  on: true\n```",
      "## kite.tail",
      "**Type:** text · **Default:** no tail · **At a reload:** applied",
      "Its tail.",
      "```yaml\nkite:\n  tail: long\n```\n",
    ]);
  });

  it("fails on a key of which it does not know enough", () => {
    const unshown = key(v.strictObject({ a: key(text(), { description: "A." }) }), {
      description: "B.",
    });
    assert.throws(() => configPages({ unshown }), /no example/);
    const tail = key(v.optional(text()), { description: "Its tail.", example: "long" });
    const kite = key(v.optional(v.strictObject({ tail }), {}), { description: "A kite." });
    assert.throws(() => configPages({ kite }), /does not say what counts without it/);
  });
});

function pageOf(file: string): string {
  return PAGES.get(file) ?? assert.fail(`there is no ${file}`);
}

function escapeRegExp(text: string): string {
  return text.replace(/[.[\]]/g, "\\$&");
}

/** An example with what has to be beside it. */
function completed(written: string): string {
  const document = parseDocument(written);
  const needed: readonly (readonly [readonly (string | number)[], unknown])[] = [
    [["sources", "website", "writeKey"], "a"],
    [["destinations", "crm", "webhooks", 0, "url"], "https://crm.example.com"],
  ];
  for (const [path, value] of needed) if (!document.hasIn(path)) document.setIn(path, value);
  if (document.hasIn(["ingest", "reusePort"])) document.setIn(["admin", "listen"], "127.0.0.1:9081");
  if (document.hasIn(["admin", "readToken"])) document.setIn(["admin", "token"], "another");
  const tls = document.getIn(["ingest", "tls"]);
  if (isMap(tls) && !tls.has("cert")) tls.set("cert", "/etc/fairlead/tls/fullchain.pem");
  if (isMap(tls) && !tls.has("key")) tls.set("key", "/etc/fairlead/tls/privkey.pem");
  const webhook = document.getIn(["destinations", "crm", "webhooks", 0]);
  if (isMap(webhook) && webhook.has("key") && !webhook.has("cert")) webhook.set("cert", "/etc/fairlead/tls/client.pem");
  if (isMap(webhook) && webhook.has("cert")) webhook.set("key", "/etc/fairlead/tls/client-key.pem");
  const notifier = document.getIn(["notify", "ops"]);
  if (isMap(notifier)) {
    if (!notifier.has("url")) notifier.set("url", "https://ops.example.com");
    if (notifier.has("key")) notifier.set("cert", "/etc/fairlead/tls/client.pem");
    if (notifier.has("cert")) notifier.set("key", "/etc/fairlead/tls/client-key.pem");
    if (notifier.has("standardWebhooks")) notifier.set("sharedSecret", "secret");
  }
  const database = document.getIn(["outbox", "tls"]);
  if (document.hasIn(["outbox", "connections"]) || isMap(database)) {
    document.setIn(["outbox", "url"], "postgres://db.example.com?sslmode=verify-full");
  }
  if (isMap(database) && database.has("key")) database.set("cert", "/etc/fairlead/tls/client.pem");
  if (isMap(database) && database.has("cert")) database.set("key", "/etc/fairlead/tls/client-key.pem");
  if (document.hasIn(["destinations", "crm", "standardWebhooks"])) {
    document.setIn(["destinations", "crm", "sharedSecret"], "secret");
  }
  if (document.hasIn(["destinations", "crm", "burst"])) document.setIn(["destinations", "crm", "rate"], "50/s");
  if (document.hasIn(["sources", "website", "burst"])) document.setIn(["sources", "website", "rate"], "50/s");
  return document.toString();
}

const NONE = { ok: true, names: [] } as const;

function load(text: string) {
  const found = (name: string) =>
    ({ ok: true, text: EXAMPLE_PEMS.get(name) ?? "secret", worldReadable: false }) as const;
  const resolve = { env: (name: string) => name, file: found, folder: () => NONE, credential: found };
  return loadConfig({ file: "config.yaml", text, resolve, now: NOW });
}

/** What stands behind the last key. */
function lastValue(written: string): string | undefined {
  return /: (.*)$/.exec(written)?.[1];
}
