import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ROOT } from "./run.ts";

/** What a file of a package is made of: a text, bytes, or another file, by its path from the project's root or from /. */
export type Content = { readonly text: string } | { readonly bytes: Uint8Array } | { readonly copy: string };
export type Entry = readonly [path: string, content: Content, mode?: number];

/** Writes a folder from scratch. */
export function writeTree(folder: string, entries: readonly Entry[]): void {
  rmSync(folder, { recursive: true, force: true });
  for (const [path, content, mode = 0o644] of entries) {
    const place = join(folder, path);
    makeFolders(folder, dirname(path));
    if ("copy" in content) copyFileSync(resolve(ROOT, content.copy), place);
    else writeFileSync(place, "text" in content ? content.text : content.bytes);
    chmodSync(place, mode);
  }
}

/** Whatever the umask is: it must not show in a package. */
function makeFolders(root: string, path: string): void {
  if (path !== ".") makeFolders(root, dirname(path));
  mkdirSync(join(root, path), { recursive: true });
  chmodSync(join(root, path), 0o755);
}

/** Writes the sums of a version's files beside them. */
export function writeSums(folder: string, version: string): void {
  const isOfVersion = (name: string): boolean =>
    name === "install.sh" || (RELEASED.test(name) && name.includes(version));
  writeFileSync(join(folder, "SHA256SUMS"), sumsOf(folder, isOfVersion));
}

/** By the ends of their names. */
const RELEASED = /^fairlead[-_][^/]*\.(tar\.gz|deb|rpm|tar|tgz|cdx\.json)$/;

/** The sums of all files below a folder, as `sha256sum --check` reads them. */
export function sumsOf(folder: string, wanted: (name: string) => boolean = () => true): string {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
  const lines = files
    .filter(wanted)
    .toSorted()
    .map((name) => `${sha256(join(folder, name))}  ${name}\n`);
  return lines.join("");
}

function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
