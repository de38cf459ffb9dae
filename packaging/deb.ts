/**
 * Makes the Debian packages of a release, and SHA256SUMS beside them.
 *
 * Usage: bun packaging/deb.ts <folder> [<architecture>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { compileFor } from "./compile.ts";
import { releasedAt, VERSION } from "./documents.ts";
import { ROOT, run } from "./run.ts";
import { DOC, fill, gzip, restartFunctions, systemEntries } from "./system-tree.ts";
import { architecturesNamed, type Target } from "./targets.ts";
import { type Entry, writeSums, writeTree } from "./tree.ts";

/** Heeds what the administrator allows scripts of packages to start. */
const RESTART = "deb-systemd-invoke try-restart fairlead.service >/dev/null";

/** More would take minutes, for a tenth of the size. */
const EFFORT = { xz: ["-z1"], none: [] } as const;
/** The bytes must not depend on how many cores the machine has. */
const ONE_THREAD = "--threads-max=1";

if (import.meta.main) {
  const [folder = "dist", ...names] = process.argv.slice(2);
  for (const target of architecturesNamed(names)) console.log(makeDeb(target, resolve(folder)));
  writeSums(folder, VERSION);
}

export type DebOptions = {
  /** Another version than this one, for tests of upgrades. */
  readonly version?: string;
  /** A program to be packed instead of one that is compiled now. */
  readonly binary?: string;
  /** `none` for a package that is not kept. */
  readonly compression?: "xz" | "none";
};

/** Answers the path of the package. */
export function makeDeb(target: Target, folder: string, options: DebOptions = {}): string {
  const { version = VERSION, compression = "xz" } = options;
  const { debian = "" } = target;
  const work = join(folder, `work-${debian}-${version}`);
  const tree = join(work, "tree");
  mkdirSync(work, { recursive: true });
  try {
    const binary = options.binary ?? join(work, "fairlead");
    if (options.binary === undefined) compileFor(target, binary);
    writeTree(tree, entries(binary, version));
    // The config may hold secrets; postinst gives both to the group.
    chmodSync(join(tree, "etc/fairlead"), 0o750);
    const size = String(Math.ceil(sizeOf(tree) / 1_024));
    const control = { VERSION: version, ARCHITECTURE: debian, SIZE: size };
    writeTree(join(tree, "DEBIAN"), controlEntries(control));
    const archive = join(folder, `fairlead_${version}_${debian}.deb`);
    run(
      "dpkg-deb",
      ["--root-owner-group", ONE_THREAD, `-Z${compression}`, ...EFFORT[compression], "--build", tree, archive],
      {
        env: { SOURCE_DATE_EPOCH: String(releasedAt()) },
      },
    );
    return archive;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function entries(binary: string, version: string): readonly Entry[] {
  const licence = indented(readFileSync(join(ROOT, "LICENSE"), "utf8"));
  return [
    ...systemEntries(binary, "usr/share/zsh/vendor-completions"),
    ["usr/share/lintian/overrides/fairlead", { copy: "packaging/debian/lintian-overrides" }],
    [`${DOC}/copyright`, { text: fill("debian/copyright", { LICENCE: licence }) }],
    [`${DOC}/changelog.gz`, gzip(debianChangelog(version))],
  ];
}

function controlEntries(control: Readonly<Record<string, string>>): readonly Entry[] {
  return [
    ["control", { text: fill("debian/control", control) }],
    ["conffiles", { copy: "packaging/debian/conffiles" }],
    ["postinst", { text: fill("debian/postinst", { FUNCTIONS: restartFunctions(RESTART) }) }, 0o755],
    ...["prerm", "postrm"].map((name): Entry => [name, { copy: `packaging/debian/${name}` }, 0o755]),
  ];
}

/** As a field of Debian's that goes over many lines. */
function indented(text: string): string {
  const lines = text.trim().split("\n");
  return lines.map((line) => (line.trim() === "" ? " ." : ` ${line}`)).join("\n");
}

/** In the form that Debian's tools read; what has changed is in CHANGELOG.md. */
function debianChangelog(version: string): string {
  const [, maintainer = ""] = /^Maintainer: (.*)$/m.exec(fill("debian/control", {})) ?? [];
  const date = new Date(releasedAt() * 1_000).toUTCString().replace("GMT", "+0000");
  return `fairlead (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${maintainer}  ${date}\n`;
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
