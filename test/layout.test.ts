// The architecture, held: which folder may import what, which names stay in runtime/, how long a file and a function may be.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const SRC = join(dirname(fileURLToPath(import.meta.url)), "../src");

/**
 * What each folder may import beside itself and node's own modules: folders of src, files of src, and packages. A
 * comment at an entry says what the part does not see.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "model/": [],
  "validate/": ["model/", "ipaddr.js"],
  "route/": ["model/"],
  "webhook/": ["model/"],
  "settle/": ["model/"],
  "accept/": ["model/", "route/", "webhook/"],
  // Stores nothing: what an example call would come to.
  "accept/try-call.ts": ["model/", "validate/", "route/", "webhook/"],
  "http/": ["model/", "hono"],
  "ingest/": ["model/", "http/", "validate/", "hono", "ipaddr.js"],
  "store/": ["model/", "better-sqlite3", "#sqlite", "node_modules/better-sqlite3/"],
  "store/postgres/pool.ts": ["model/", "pg", "pgpass"],
  // The native part of the engine comes out of the binary.
  "store/sqlite/driver.ts": ["model/", "better-sqlite3", "#sqlite", "runtime/native-part.ts"],
  "deliver/": ["model/", "settle/", "webhook/"],
  // What operators watch, in memory.
  "observe/": ["model/", "settle/"],
  // Knows what the daemon does by its facts, and tells by accept.
  "notify/": ["model/", "webhook/template.ts"],
  "deletion/": ["model/"],
  "audience/": ["model/"],
  "config/": ["model/", "ipaddr.js", "yaml", "valibot", "@valibot/to-json-schema"],
  // Asks what a filter would do.
  "config/filter-warnings.ts": ["model/", "route/filter.ts"],
  "wire/": ["model/", "valibot"],
  "admin/": [
    "model/",
    "wire/",
    "http/",
    "hono",
    "valibot",
    "@valibot/to-json-schema",
    "config/suggest.ts",
    "webhook/headers.ts",
  ],
  // Loads what `make build` makes of dashboard/.
  "admin/dashboard.ts": ["model/", "http/", "hono", "dist/dashboard.js"],
  // Runs in the browser: of the daemon it knows what its API answers, and the words for it.
  "dashboard/": ["wire/", "model/rules.ts", "hono", "uplot"],
  // Publishable alone: types of the model, the check of a signature, and the word that was probably meant.
  "client/": ["model/", "webhook/signature.ts", "config/suggest.ts"],
  "client/receive/hono.ts": ["model/", "webhook/signature.ts", "hono"],
  "runtime/": ["model/", "prom-client", "@logtape/logtape", "package.json"],
  "cli/": ["model/", "config/", "runtime/", "client/", "webhook/", "wire/", "commander", "valibot"],
  "cli/schema.ts": ["model/", "config/", "runtime/", "commander", "config.example.yaml", "docs/reference/config/"],
  "cli/route.ts": ["model/", "config/", "runtime/", "client/", "wire/", "commander", "accept/try-call.ts"],
  // The places of JSON in its text.
  "cli/types/places.ts": ["model/", "config/", "yaml"],
  "cli/serve.ts": ["model/", "config/", "runtime/", "webhook/", "commander", "app.ts"],
  "cli/outbox-file.ts": ["model/", "config/", "runtime/", "store/"],
  // Opens the outboxes of both engines.
  "cli/copy-ends.ts": ["model/", "config/", "runtime/", "store/"],
  "cli/outbox-database.ts": ["model/", "config/", "runtime/", "store/"],
  "app.ts": [
    ...[
      "model/",
      "accept/",
      "admin/",
      "audience/",
      "config/",
      "deletion/",
      "deliver/",
      "http/",
      "ingest/",
      "notify/",
      "observe/",
      "store/",
    ],
    // Everything but the command line and the machine, which come in from outside.
  ],
  "main.ts": ["cli/"],
};

/** Pure decisions: no module of node that reaches the world. */
const PURE = [
  "model/",
  "validate/",
  "route/",
  "webhook/",
  "settle/",
  "accept/",
  "deliver/",
  "deletion/",
  "audience/",
  "observe/",
  "notify/",
];
const PURE_NODE_MODULES = ["node:crypto"];

/** The world, which comes in through ports. */
const WORLD = [
  ...["Date.now", "setTimeout", "setInterval", "setImmediate", "queueMicrotask", "performance", "AbortSignal.timeout"],
  ...[
    "Math.random",
    "crypto.randomUUID",
    "randomUUID",
    "crypto.getRandomValues",
    "randomBytes",
    "fetch(",
    "process.env",
  ],
  ...["node:fs", "Bun.", "Deno."],
];
const WORLD_FOLDERS = ["runtime/", "client/", "dashboard/"];

const MOST_LINES_OF_FILE = 400;
const MOST_LINES_OF_FUNCTION = 60;

type Source = { readonly path: string; readonly text: string };

const files: readonly Source[] = readdirSync(SRC, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => ({ path: path.split("\\").join("/"), text: readFileSync(join(SRC, path), "utf8") }));

describe("the layout of src", () => {
  it("is read: the checks below would find a fault", () => {
    const text = `import { a } from "../store/x.ts";\nexport function long() {\n${"  a();\n".repeat(70)}}\nDate.now();\n`;
    const [imported = ""] = importsOf({ path: "route/x.ts", text });
    assert.equal(isAllowed("route/x.ts", imported), false);
    assert.deepEqual(functionsOf({ path: "route/x.ts", text }), [{ path: "route/x.ts", name: "long", lines: 72 }]);
    assert.ok(mentions(text, "Date.now"));
    assert.ok(files.length > 50);
  });

  it("has only folders that the table knows", () => {
    const folders = new Set(files.map(({ path }) => roomOf(path)));
    assert.deepEqual(
      [...folders].filter((folder) => !(folder in MAY_IMPORT)),
      [],
    );
  });

  it("imports only what the table allows", () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((imported) => !isAllowed(file.path, imported))
        .map((imported) => `${file.path} imports ${imported}`),
    );
    assert.deepEqual(wrong, []);
  });

  it("names the world only where it comes in", () => {
    const wrong = files
      .filter(({ path }) => !WORLD_FOLDERS.some((folder) => path.startsWith(folder)))
      .flatMap(({ path, text }) => {
        const code = withoutComments(text);
        return WORLD.filter((name) => mentions(code, name)).map((name) => `${path} names ${name}`);
      });
    assert.deepEqual(wrong, []);
  });

  it("keeps decisions pure: they import no module that reaches the world", () => {
    const wrong = files
      .filter(({ path }) => PURE.some((folder) => path.startsWith(folder)))
      .flatMap((file) =>
        importsOf(file)
          .filter((imported) => imported.startsWith("node:") && !PURE_NODE_MODULES.includes(imported))
          .map((imported) => `${file.path} imports ${imported}`),
      );
    assert.deepEqual(wrong, []);
  });

  it("has no index.ts: every import names the file that it means", () => {
    assert.deepEqual(
      files.map(({ path }) => path).filter((path) => /(^|\/)index\.ts$/.test(path)),
      [],
    );
  });

  it(`has no file of more than ${MOST_LINES_OF_FILE} lines`, () => {
    const long = files.map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }));
    assert.deepEqual(
      long.filter(({ lines }) => lines > MOST_LINES_OF_FILE),
      [],
    );
  });

  it(`has no function of more than ${MOST_LINES_OF_FUNCTION} lines`, () => {
    const long = files.flatMap(functionsOf).filter(({ lines }) => lines > MOST_LINES_OF_FUNCTION);
    assert.deepEqual(long, []);
  });

  it("has no object literals that are spread to save lines", () => {
    const packed = files.filter(({ text }) => mentions(text, "...{"));
    assert.deepEqual(
      packed.map(({ path }) => path),
      [],
    );
  });
});

function roomOf(path: string): string {
  return path.includes("/") ? `${path.split("/")[0]}/` : path;
}

function isAllowed(path: string, imported: string): boolean {
  if (imported.startsWith("node:")) return true;
  const allowed = MAY_IMPORT[path] ?? MAY_IMPORT[roomOf(path)] ?? [];
  return [roomOf(path), ...allowed].some(
    (one) => imported === one || (one.endsWith("/") ? imported.startsWith(one) : imported.startsWith(`${one}/`)),
  );
}

/** What a file imports, packages by their name and own files by their path in src. */
function importsOf({ path, text }: Source): readonly string[] {
  const found = withoutComments(text).matchAll(
    /(?:^(?:import|export)\b[^"';]*?\sfrom\s+|^import\s+|\bimport\()"([^"]+)"/gm,
  );
  return [...found].map(([, name = ""]) => {
    if (!name.startsWith(".")) return name;
    const target = posix.join(posix.dirname(path), name);
    return target.startsWith("..") ? relative("../", target).replace(/^(\.\.\/)+/, "") : target;
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/(^|\s)\/\/.*$/gm, "");
}

function mentions(code: string, name: string): boolean {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![\\w.])${escaped}${/\w$/.test(name) ? "(?!\\w)" : ""}`).test(code);
}

type Span = { readonly path: string; readonly name: string; readonly lines: number };

/** Biome lays out every function so that it ends with a brace at the depth where it began. */
function functionsOf({ path, text }: Source): readonly Span[] {
  const lines = text.split("\n");
  return lines.flatMap((line, start) => {
    const match = /^(\s*)(?:export )?(?:async )?(?:function\*? )?(\w+)(?:<.*>)?\(/.exec(line);
    if (!match || /^\s*(?:if|for|while|switch|catch|return)\b/.test(line)) return [];
    const [, indent = "", name = ""] = match;
    const body = lines.findIndex(
      (one, at) => at >= start && one.endsWith("{") && (at === start || one.startsWith(`${indent})`)),
    );
    if (body < 0 || lines.slice(start, body).some((one) => one.endsWith(";"))) return [];
    const end = lines.findIndex((one, at) => at > body && one.startsWith(`${indent}}`));
    return end < 0 ? [] : [{ path, name, lines: end - start + 1 }];
  });
}
