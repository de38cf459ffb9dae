// Builds the dashboard into one module that the daemon loads when somebody opens the page: the script and the style sheet,
// compressed. It is a module because all of Bun, the compiled binary and Deno can load one.
//   bun packaging/page.ts dist/dashboard.js
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const SOURCES = fileURLToPath(new URL("../src/dashboard", import.meta.url));
const [target = "dist/dashboard.js"] = process.argv.slice(2);

const built = await Bun.build({
  entrypoints: [join(SOURCES, "main.tsx"), join(SOURCES, "page.css")],
  target: "browser",
  format: "iife",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
});
const texts = await Promise.all(built.outputs.map(async (one) => ({ path: one.path, text: await one.text() })));
const script = textOf(".js");
const style = textOf(".css");
const tag = createHash("sha256").update(script).update(style).digest("hex").slice(0, 16);
const page = { script: compress(script), style: compress(style), tag };
await mkdir(dirname(target), { recursive: true });
await writeFile(target, `export const page = ${JSON.stringify(page)};\n`);

function textOf(ending: string): string {
  const found = texts.filter(({ path }) => path.endsWith(ending));
  if (found.length !== 1) throw new Error(`the dashboard was built into ${found.length} files ${ending}`);
  return found[0]?.text ?? "";
}

function compress(text: string): string {
  return gzipSync(text, { level: 9 }).toString("base64");
}
