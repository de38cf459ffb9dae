/**
 * Makes everything of a release: packages for all machines, container images, the client library, the list of what is in the
 * binaries, the script that installs, and the sums of them all. Each binary is compiled once.
 *
 * Usage: bun packaging/release.ts <folder> <version> [<target>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import process from "node:process";
import { pack as packClient } from "../test/client/pack.ts";
import { notesOf } from "./changelog.ts";
import { compileFor } from "./compile.ts";
import { makeDeb } from "./deb.ts";
import { makeTarball } from "./dist.ts";
import { VERSION, writtenDocuments } from "./documents.ts";
import { makeImage } from "./image.ts";
import { makeRpm } from "./rpm.ts";
import { ROOT, run } from "./run.ts";
import { writeSbom } from "./sbom.ts";
import { type Target, targetsNamed } from "./targets.ts";
import { sumsOf } from "./tree.ts";

if (import.meta.main) {
  const [folder = "dist/release", version = "", ...names] = process.argv.slice(2);
  makeRelease(resolve(folder), version, targetsNamed(names));
}

/** Replaces what is in the folder. Throws before it makes anything if the version is not ready to be released. */
export function makeRelease(folder: string, version: string, targets: readonly Target[]): void {
  if (version !== VERSION) throw new Error(`VERSION=${version} is asked for, and package.json says ${VERSION}`);
  const notes = notesOf(version, readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"));
  const key = publicKey();
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const target of targets) for (const file of makePackages(target, folder)) report(file);
  report(makeClient(folder));
  report(writeSbom(folder));
  for (const [name, text, mode] of [
    ["install.sh", installScript(key), 0o755],
    ["fairlead.1", writtenDocuments().man, 0o644],
  ] as const) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
    report(join(folder, name));
  }
  writeFileSync(join(folder, "SHA256SUMS"), sumsOf(folder));
  // Beside the folder, not in it: it is what the release says, not a file of it.
  writeFileSync(`${folder}-notes.md`, notes);
  if (key === "")
    console.warn(
      "There is no packaging/minisign.pub, so install.sh checks no signature. See docs/internals/releasing.md.",
    );
}

function makePackages(target: Target, folder: string): readonly string[] {
  const work = join(folder, "work");
  mkdirSync(work);
  try {
    const binary = join(work, "fairlead");
    compileFor(target, binary);
    const made = [makeTarball(target, folder, binary)];
    if (target.debian) made.push(makeDeb(target, folder, { binary }), makeImage(target, folder, binary));
    if (target.rpm) made.push(makeRpm(target, folder, { binary }));
    return made;
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** As npm takes it. */
function makeClient(folder: string): string {
  const work = join(folder, "work");
  packClient(work);
  run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", folder], { cwd: work });
  rmSync(work, { recursive: true });
  return join(folder, `fairlead-${VERSION}.tgz`);
}

/** Of the key that the release is signed with, if the project has one. */
function publicKey(): string {
  const file = join(ROOT, "packaging/minisign.pub");
  return existsSync(file) ? (readFileSync(file, "utf8").trim().split("\n").at(-1) ?? "") : "";
}

/** install.sh, with the key that it checks signatures with. */
function installScript(key: string): string {
  return readFileSync(join(ROOT, "install.sh"), "utf8").replace(/^PUBLIC_KEY=$/m, `PUBLIC_KEY=${key}`);
}

function report(file: string): void {
  console.log(`${String(statSync(file).size).padStart(10)}  ${relative(process.cwd(), file)}`);
}
