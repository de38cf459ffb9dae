/**
 * Makes the Debian packages of a release, and SHA256SUMS beside them.
 *
 * Usage: bun packaging/deb.ts <folder> [<architecture>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { compileFor } from "./compile.ts";
import { EXAMPLES, MANUAL, releasedAt, VERSION, writtenDocuments } from "./documents.ts";
import { ROOT, run } from "./run.ts";
import { architecturesNamed, type Target } from "./targets.ts";
import { type Entry, writeSums, writeTree } from "./tree.ts";

const DOC = "usr/share/doc/fairlead";

/** More would take minutes, for a tenth of the size. */
const EFFORT = { xz: ["-z1"], none: [] } as const;

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
    if (options.binary === undefined) compileFor(target, binary, process.env.COMPILE ?? "");
    writeTree(tree, entries(binary, version));
    // The config may hold secrets; postinst gives both to the group.
    chmodSync(join(tree, "etc/fairlead"), 0o750);
    const size = String(Math.ceil(sizeOf(tree) / 1_024));
    const control = { VERSION: version, ARCHITECTURE: debian, SIZE: size };
    writeTree(join(tree, "DEBIAN"), controlEntries(control));
    const archive = join(folder, `fairlead_${version}_${debian}.deb`);
    run("dpkg-deb", ["--root-owner-group", `-Z${compression}`, ...EFFORT[compression], "--build", tree, archive], {
      env: { SOURCE_DATE_EPOCH: String(releasedAt()) },
    });
    return archive;
  } finally {
    rmSync(work, { recursive: true });
  }
}

function entries(binary: string, version: string): readonly Entry[] {
  const { man, bash, zsh, fish, notices } = writtenDocuments();
  return [
    ["usr/bin/fairlead", { copy: binary }, 0o755],
    ["usr/lib/systemd/system/fairlead.service", { copy: "packaging/systemd/fairlead.service" }],
    ["usr/lib/sysusers.d/fairlead.conf", { copy: "packaging/systemd/fairlead.sysusers.conf" }],
    ["etc/fairlead/config.yaml", { copy: "packaging/debian/config.yaml" }, 0o640],
    ["usr/share/man/man1/fairlead.1.gz", gzip(man)],
    ["usr/share/bash-completion/completions/fairlead", { text: bash }],
    ["usr/share/zsh/vendor-completions/_fairlead", { text: zsh }],
    ["usr/share/fish/vendor_completions.d/fairlead.fish", { text: fish }],
    ["usr/share/lintian/overrides/fairlead", { copy: "packaging/debian/lintian-overrides" }],
    [
      `${DOC}/copyright`,
      { text: fill("copyright", { LICENCE: indented(readFileSync(join(ROOT, "LICENSE"), "utf8")) }) },
    ],
    [`${DOC}/changelog.gz`, gzip(debianChangelog(version))],
    [`${DOC}/CHANGELOG.md.gz`, gzip(readFileSync(join(ROOT, "CHANGELOG.md"), "utf8"))],
    [`${DOC}/THIRD-PARTY-NOTICES.txt.gz`, gzip(notices)],
    [`${DOC}/config.example.yaml`, { copy: "config.example.yaml" }],
    [`${DOC}/README.md`, { copy: "README.md" }],
    [`${DOC}/SECURITY.md`, { copy: "SECURITY.md" }],
    ...EXAMPLES.map((path): Entry => [path.replace("packaging", `${DOC}/examples`), { copy: path }]),
    ...MANUAL.map((name): Entry => [`${DOC}/${name}`, { copy: `docs/${name}` }]),
  ];
}

function controlEntries(control: Readonly<Record<string, string>>): readonly Entry[] {
  return [
    ["control", { text: fill("control", control) }],
    ["conffiles", { copy: "packaging/debian/conffiles" }],
    ...["postinst", "prerm", "postrm"].map((name): Entry => [name, { copy: `packaging/debian/${name}` }, 0o755]),
  ];
}

/** A file of packaging/debian, with what stands between @ put in. */
function fill(name: string, values: Readonly<Record<string, string>>): string {
  const text = readFileSync(join(ROOT, "packaging/debian", name), "utf8");
  return text.replace(/@([A-Z]+)@/g, (_, key: string) => values[key] ?? "");
}

/** As a field of Debian's that goes over many lines. */
function indented(text: string): string {
  const lines = text.trim().split("\n");
  return lines.map((line) => (line.trim() === "" ? " ." : ` ${line}`)).join("\n");
}

/** In the form that Debian's tools read; what has changed is in CHANGELOG.md. */
function debianChangelog(version: string): string {
  const [, maintainer = ""] = /^Maintainer: (.*)$/m.exec(fill("control", {})) ?? [];
  const date = new Date(releasedAt() * 1_000).toUTCString().replace("GMT", "+0000");
  return `fairlead (${version}) stable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- ${maintainer}  ${date}\n`;
}

/** Without the time, which would be another one each time. */
function gzip(text: string): { readonly bytes: Uint8Array } {
  return { bytes: gzipSync(text, { level: 9 }) };
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}
