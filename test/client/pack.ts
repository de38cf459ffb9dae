/**
 * Writes the client library as a package of its own: modules, types, manifest, README and licence.
 *
 * Usage: bun test/client/pack.ts <folder>
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

if (import.meta.main) pack(process.argv[2] ?? join(ROOT, "dist/client"));

/** Replaces what is in the folder. Throws with what the compiler says. */
export function pack(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  compile(join(folder, "lib"), "esnext");
  compile(join(folder, "cjs"), "commonjs");
  writeJson(join(folder, "cjs/package.json"), { type: "commonjs" });
  bundle("src/client/browser/analytics.ts", join(folder, "browser/fairlead.min.js"));
  const { version, license } = readJson("package.json");
  const { name, ...manifest } = readJson("src/client/manifest.json");
  const made = { name, version, license, ...manifest, ...entries(manifest.exports as Exports) };
  writeJson(join(folder, "package.json"), made);
  copyFileSync(join(ROOT, "src/client/README.md"), join(folder, "README.md"));
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
}

function compile(folder: string, module: "esnext" | "commonjs"): void {
  const options = ["-p", "tsconfig.client.json", "--outDir", folder, "--module", module];
  // Else the compiler refuses `import` in what is to become CommonJS.
  if (module === "commonjs") options.push("--verbatimModuleSyntax", "false");
  const args = ["x", "--bun", "--no-install", "tsc", ...options];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot compile the client library:\n${stdout}${stderr}`);
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".d.ts")) nameModules(join(folder, name));
  }
}

/** For pages without a build of their own: one file, an ES module. */
function bundle(entry: string, file: string): void {
  const args = ["build", entry, "--minify", "--target", "browser", "--outfile", file];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot bundle ${entry}:\n${stdout}${stderr}`);
}

type Exports = Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;

/**
 * The manifest names the modules of each entry. `require` gets the same ones as CommonJS; `main`, `types` and `typesVersions` are
 * for tools that know no `exports`, as TypeScript's node10 resolution.
 */
function entries(modules: Exports): object {
  const exports: Record<string, unknown> = {};
  const types: Record<string, readonly string[]> = {};
  for (const [entry, target] of Object.entries(modules)) {
    if (typeof target === "string") {
      exports[entry] = target;
      continue;
    }
    const twin = {
      types: target.types.replace("./lib/", "./cjs/"),
      default: target.default.replace("./lib/", "./cjs/"),
    };
    exports[entry] = { import: target, require: twin };
    if (entry !== ".") types[entry.slice("./".length)] = [twin.types];
  }
  const root = modules["."];
  const main = typeof root === "object" ? root.default.replace("./lib/", "./cjs/") : "";
  return { main, types: main.replace(/\.js$/, ".d.ts"), typesVersions: { "*": types }, exports };
}

/** The compiler changes `.ts` into `.js` in the modules that it writes, and not in their types. */
function nameModules(path: string): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/"(\.\.?\/[^"]+)\.ts"/g, '"$1.js"'));
}

function writeJson(path: string, value: object): void {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`);
}

function readJson(path: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}
