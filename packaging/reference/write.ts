// Writes the generated pages of docs/reference/. Usage: bun packaging/reference/write.ts
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cliPages } from "./cli.ts";
import { codesPage } from "./codes.ts";
import { configPages } from "./config.ts";
import { logPage } from "./log.ts";
import { isWritten } from "./markdown.ts";
import { metricsPage } from "./metrics.ts";
import { operatorApiPages } from "./operator-api.ts";

export const REFERENCE = fileURLToPath(new URL("../../docs/reference", import.meta.url));

/** Every generated page, by its path in docs/reference/. */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ...below("config", configPages()),
    ...(await cliPages()),
    ["metrics.md", metricsPage()],
    ["log.md", logPage()],
    ["codes.md", codesPage()],
    ...below("operator-api", await operatorApiPages()),
  ]);
}

function below(folder: string, pages: ReadonlyMap<string, string>): readonly (readonly [string, string])[] {
  return [...pages].map(([name, text]) => [`${folder}/${name}`, text]);
}

/** The generated pages that are there now. */
export function writtenPages(): readonly string[] {
  const all = readdirSync(REFERENCE, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md"));
  return all.filter((name) => isWritten(readFileSync(join(REFERENCE, name), "utf8")));
}

if (import.meta.main) {
  // All of them first: if one fails, the old ones stay.
  const pages = await referencePages();
  for (const name of writtenPages()) rmSync(join(REFERENCE, name));
  for (const [name, text] of pages) {
    mkdirSync(dirname(join(REFERENCE, name)), { recursive: true });
    writeFileSync(join(REFERENCE, name), text);
  }
}
