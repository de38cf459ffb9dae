/**
 * Writes what is in the binaries of a release, as CycloneDX 1.6 has it.
 *
 * Usage: bun packaging/sbom.ts <folder>, by make, which sets SOURCE_DATE_EPOCH
 */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import Database from "better-sqlite3";
import { releasedAt, VERSION } from "./documents.ts";
import { listNotices, type Notice } from "./notices.ts";
import { ROOT } from "./run.ts";
import { BUN_VERSION, TARGETS } from "./targets.ts";

type Component = Readonly<Record<string, unknown>> & { readonly "bom-ref": string };

const FAIRLEAD = `pkg:github/fairlead/fairlead@v${VERSION}`;
const BUN = `pkg:github/oven-sh/bun@bun-v${BUN_VERSION}`;

/** What bun.lock has of each package; its last part is the hash of the archive. */
type Lock = { readonly packages: Readonly<Record<string, readonly unknown[]>> };
const { packages: LOCKED } = Bun.JSONC.parse(readFileSync(join(ROOT, "bun.lock"), "utf8")) as Lock;

/** What `process.versions` calls them, where Bun's list of licences has another name. */
const NAMES_OF_VERSIONS: Readonly<Record<string, string>> = {
  "c-ares": "ares",
  libicu: "icu",
  "lol-html": "lolhtml",
  "ls-hpack": "lshpack",
  picohttp: "picohttpparser",
  "zlib-ng": "zlib",
};

if (import.meta.main) console.log(writeSbom(resolve(process.argv[2] ?? "dist")));

/** Answers the path of the file. */
export function writeSbom(folder: string): string {
  const file = join(folder, `fairlead-${VERSION}.cdx.json`);
  writeFileSync(file, `${JSON.stringify(describeBinaries(), null, 2)}\n`);
  return file;
}

/** Of all targets: they differ only in the build of Bun and of the native part. */
export function describeBinaries(): object {
  const packages = listNotices();
  const natives = nativeParts();
  const components = [...packages.map(describePackage), ...natives, sqlite(), bun(), ...runtimes(), ...partsOfBun()];
  const author = { "bom-ref": FAIRLEAD, type: "application", name: "fairlead", version: VERSION, purl: FAIRLEAD };
  return {
    ...{ $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", bomFormat: "CycloneDX", specVersion: "1.6" },
    ...{ serialNumber: `urn:uuid:${uuidOf(JSON.stringify(components))}`, version: 1 },
    metadata: {
      timestamp: new Date(releasedAt() * 1_000).toISOString(),
      component: { ...author, licenses: [{ license: { id: "MIT" } }] },
    },
    components,
    dependencies: dependencies(packages, natives),
  };
}

function describePackage({ name, version, licence }: Notice): Component {
  const content = hexOf(String(LOCKED[name]?.at(-1)));
  const purl = purlOf({ name, version });
  return {
    ...{ "bom-ref": purl, type: "library", name, version, purl },
    licenses: [{ license: { id: licence } }],
    hashes: [{ alg: "SHA-512", content }],
  };
}

function purlOf({ name, version }: Pick<Notice, "name" | "version">): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

/** better-sqlite3's, as its package brings them: each binary has one. */
function nativeParts(): readonly Component[] {
  return [...new Set(TARGETS.map(({ sqlite }) => sqlite))].map((name) => {
    const path = `prebuilds/${name}.node`;
    const bytes = readFileSync(join(ROOT, "node_modules/better-sqlite3", path));
    const content = createHash("sha256").update(bytes).digest("hex");
    return {
      "bom-ref": `file:${path}`,
      type: "file",
      name: `better-sqlite3/${path}`,
      hashes: [{ alg: "SHA-256", content }],
    };
  });
}

function sqlite(): Component {
  const database = new Database(":memory:");
  const version = String(database.prepare("SELECT sqlite_version()").pluck().get());
  database.close();
  const purl = `pkg:generic/sqlite@${version}`;
  return {
    ...{ "bom-ref": purl, type: "library", name: "sqlite", version, purl },
    licenses: [{ license: { id: "blessing" } }],
  };
}

function bun(): Component {
  return {
    ...{ "bom-ref": BUN, type: "application", name: "bun", version: BUN_VERSION, purl: BUN },
    licenses: [{ license: { id: "MIT" } }],
  };
}

/** The builds of Bun that the binaries begin with. */
function runtimes(): readonly Component[] {
  return TARGETS.map(({ runtime, integrity }) => {
    const purl = purlOf({ name: runtime, version: BUN_VERSION });
    const content = hexOf(integrity);
    return {
      ...{ "bom-ref": purl, type: "application", name: runtime, version: BUN_VERSION, purl },
      licenses: [{ license: { id: "MIT" } }],
      hashes: [{ alg: "SHA-512", content }],
    };
  });
}

/**
 * What Bun's list of licences says is linked into it or embedded. Their versions, or commits, are those that Bun says of itself; it
 * does not say all.
 */
function partsOfBun(): readonly Component[] {
  const list = readFileSync(join(ROOT, "node_modules/bun-types/docs/project/license.mdx"), "utf8");
  const rows = [...list.matchAll(/^\| [^|]*?\[`([^`]+)`\]\(([^)]+)\)([^|]*)\| *([^|]+?) *\|$/gm)];
  const linked = rows.filter(([, , , remark = ""]) => !remark.includes("on Windows)") || remark.includes("Linux"));
  const parts = linked.map(([, name = "", url = "", , licence = ""]) => ({ name, url, licence }));
  return [{ name: "webkit", url: "https://github.com/oven-sh/webkit", licence: "LGPL-2.0-only" }, ...parts].map(
    ({ name, url, licence }) => ({
      ...{ "bom-ref": `bun/${name}`, type: "library", name },
      ...versionOf(name),
      licenses: [{ license: nameLicence(licence) }],
      externalReferences: [{ type: "website", url }],
    }),
  );
}

function versionOf(name: string): { readonly version?: string } {
  const version = process.versions[NAMES_OF_VERSIONS[name] ?? name.toLowerCase()];
  return version === undefined ? {} : { version };
}

/** By its identifier if it is one of the usual ones, else in Bun's words. */
function nameLicence(text: string): { readonly id: string } | { readonly name: string } {
  const words = text.replace(/\[([^\]]+)\]\([^)]*\)/g, "$1").replace(/ licensed$/, "");
  const id = words
    .replace("Apache 2.0", "Apache-2.0")
    .replace("LGPL v2.1", "LGPL-2.1-only")
    .replace(/^BSD (\d)-/, "BSD-$1-");
  return /^(MIT|Apache-2\.0|BSD-[23]-Clause|LGPL-2\.[01]-only)$/.test(id) ? { id } : { name: words };
}

function dependencies(packages: readonly Notice[], natives: readonly Component[]): readonly object[] {
  const references = (components: readonly Component[]): readonly string[] => components.map((one) => one["bom-ref"]);
  const names = new Map(packages.map((one) => [one.name, purlOf(one)]));
  const ofPackages = packages.map((one) => {
    const known = one.dependencies.flatMap((name) => names.get(name) ?? []);
    return { ref: purlOf(one), dependsOn: one.name === "better-sqlite3" ? [...known, ...references(natives)] : known };
  });
  return [
    { ref: FAIRLEAD, dependsOn: [...packages.map(purlOf), BUN] },
    ...ofPackages,
    ...references(natives).map((ref) => ({ ref, dependsOn: references([sqlite()]) })),
    { ref: BUN, dependsOn: [...references(runtimes()), ...references(partsOfBun())] },
  ];
}

/** Of a hash as npm states it. */
function hexOf(integrity: string): string {
  return Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
}

/** The same for the same text. */
function uuidOf(text: string): string {
  const digits = createHash("sha256").update(text).digest("hex");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `8${digits.slice(13, 16)}`,
    `8${digits.slice(17, 20)}`,
    digits.slice(20, 32),
  ].join("-");
}
