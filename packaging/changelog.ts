/**
 * Prints the notes of a release: what CHANGELOG.md says of its version.
 *
 * Usage: bun packaging/changelog.ts <version>
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { ROOT } from "./run.ts";

if (import.meta.main) {
  const [version = ""] = process.argv.slice(2);
  process.stdout.write(notesOf(version, readFileSync(join(ROOT, "CHANGELOG.md"), "utf8")));
}

/** The section of a version, without its head. Throws if there is none, or if it has no date: it is not released then. */
export function notesOf(version: string, changelog: string): string {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((one) => one.split(/\s/, 1)[0] === version);
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}": write it, with the date`);
  const [head = "", ...lines] = section.split("\n");
  if (!/ \d{4}-\d{2}-\d{2}$/.test(head))
    throw new Error(`CHANGELOG.md gives no date: "## ${head}" must end in one (2026-11-23)`);
  return `${lines.join("\n").trim()}\n`;
}
