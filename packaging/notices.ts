import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./run.ts";

/** A package of npm that is in the binary, with what its licence asks to be handed on. */
export type Notice = {
  readonly name: string;
  readonly version: string;
  readonly licence: string;
  /** The licence's text, as the package brings it; empty if it brings none. */
  readonly text: string;
  /** The names of the packages that it depends on. */
  readonly dependencies: readonly string[];
};

type Manifest = {
  readonly version: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
};

/** The notices of all that is in the binary but Fairlead itself, as one text. Throws if a package has no licence. */
export function noticesText(): string {
  const notices = listNotices();
  const without = notices.filter(({ text }) => text === "");
  if (without.length > 0) throw new Error(`no licence comes with ${without.map(({ name }) => name).join(", ")}`);
  return [
    INTRODUCTION,
    head("Bun"),
    readFileSync(join(ROOT, "node_modules/bun-types/docs/project/license.mdx"), "utf8").trim(),
    head("SQLite, within better-sqlite3 and Bun"),
    "SQLite is in the public domain: https://sqlite.org/copyright.html",
    ...notices.flatMap(({ name, version, licence, text }) => [head(`${name} ${version}, ${licence}`), text]),
    ...LGPL.flatMap(([title, file]) => [
      head(title),
      readFileSync(join(ROOT, "packaging/licences", file), "utf8").trim(),
    ]),
    "",
  ].join("\n");
}

/** Of the packages that Fairlead depends on, and those that they depend on. */
export function listNotices(): readonly Notice[] {
  const found = new Map<string, Notice>();
  const pending = Object.keys(readManifest(ROOT).dependencies ?? {});
  for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
    if (found.has(name)) continue;
    const folder = join(ROOT, "node_modules", name);
    const { version, license = "", dependencies = {}, optionalDependencies = {} } = readManifest(folder);
    const optional = Object.keys(optionalDependencies).filter((one) => existsSync(join(ROOT, "node_modules", one)));
    const needed = [...Object.keys(dependencies), ...optional];
    found.set(name, { name, version, licence: license, text: readLicence(folder), dependencies: needed });
    pending.push(...needed);
  }
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

function readLicence(folder: string): string {
  const files = readdirSync(folder).filter((name) => /^(licen[cs]e|copying|notice)(\.\w+)?$/i.test(name));
  if (files.length === 0) return licenceIn(readFileSync(join(folder, "README.md"), "utf8"));
  return files
    .toSorted()
    .filter((name) => existsSync(join(folder, name)))
    .map((name) => readFileSync(join(folder, name), "utf8").trim())
    .join("\n\n");
}

/** The section of a README that is the licence, where it has no file of its own. */
function licenceIn(readme: string): string {
  const [, text = ""] = readme.split(/^#+ licen[cs]e\s*$/im);
  return text.split(/^#/m, 1).join("").trim();
}

function head(title: string): string {
  return `\n${"=".repeat(78)}\n${title}\n${"=".repeat(78)}\n`;
}

const LGPL = [
  ["GNU Library General Public License, version 2 (of JavaScriptCore and WebCore in Bun)", "LGPL-2.0.txt"],
  ["GNU Lesser General Public License, version 2.1 (of TinyCC in Bun)", "LGPL-2.1.txt"],
] as const;

const INTRODUCTION = `What is in the binary of Fairlead besides Fairlead itself, and under which licences.

The binary is Bun, as its makers publish it, with Fairlead's compiled sources, the packages of npm below, and the
native part of better-sqlite3, which holds SQLite, appended to it. To use another build of Bun, or of the parts of
it under the LGPL, compile Fairlead's sources with that: make build takes the Bun that it finds.`;
