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
  const lib = join(folder, "lib");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  compile(lib);
  for (const name of readdirSync(lib, { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".d.ts")) nameModules(join(lib, name));
  }
  const { version, license } = readJson("package.json");
  const { name, ...manifest } = readJson("src/client/manifest.json");
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ name, version, license, ...manifest }, null, 2)}\n`);
  copyFileSync(join(ROOT, "src/client/README.md"), join(folder, "README.md"));
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
}

function compile(lib: string): void {
  const args = ["x", "--bun", "--no-install", "tsc", "-p", "tsconfig.client.json", "--outDir", lib];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  if (status !== 0) throw new Error(`cannot compile the client library:\n${stdout}${stderr}`);
}

/** The compiler changes `.ts` into `.js` in the modules that it writes, and not in their types. */
function nameModules(path: string): void {
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/"(\.\.?\/[^"]+)\.ts"/g, '"$1.js"'));
}

function readJson(path: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(ROOT, path), "utf8"));
}
