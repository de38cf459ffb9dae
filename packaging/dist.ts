/**
 * Makes the tarballs of a release, one for each target, and SHA256SUMS beside them.
 *
 * Usage: bun packaging/dist.ts <folder> [<target>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { compileFor } from "./compile.ts";
import { EXAMPLES, MANUAL, releasedAt, VERSION, writtenDocuments } from "./documents.ts";
import { run } from "./run.ts";
import { type Target, targetsNamed } from "./targets.ts";
import { type Entry, sumsOf, writeSums, writeTree } from "./tree.ts";

const FOR_SYSTEMD: readonly Entry[] = [
  ["fairlead.service", { copy: "packaging/systemd/fairlead.service" }],
  ["fairlead.sysusers.conf", { copy: "packaging/systemd/fairlead.sysusers.conf" }],
];

if (import.meta.main) {
  const [folder = "dist", ...names] = process.argv.slice(2);
  for (const target of targetsNamed(names)) console.log(makeTarball(target, resolve(folder)));
  writeSums(folder, VERSION);
}

/** Answers the path of the tarball. `given`: a program to be packed instead of one that is compiled now. */
export function makeTarball(target: Target, folder: string, given?: string): string {
  const work = join(folder, `work-${target.name}`);
  const name = `fairlead-${VERSION}-${target.name}`;
  mkdirSync(work, { recursive: true });
  try {
    const binary = given ?? join(work, "fairlead");
    if (given === undefined) compileFor(target, binary);
    writeTree(join(work, name), entries(target, binary));
    writeFileSync(join(work, name, "SHA256SUMS"), sumsOf(join(work, name)), { mode: 0o644 });
    return pack(work, name, join(folder, `${name}.tar.gz`));
  } finally {
    rmSync(work, { recursive: true });
  }
}

function entries({ system }: Target, binary: string): readonly Entry[] {
  const { man, bash, zsh, fish, notices } = writtenDocuments();
  return [
    ["fairlead", { copy: binary }, 0o755],
    ...(system === "linux" ? FOR_SYSTEMD : []),
    ["config.example.yaml", { copy: "config.example.yaml" }],
    ["fairlead.1", { text: man }],
    ["completions/fairlead.bash", { text: bash }],
    ["completions/_fairlead", { text: zsh }],
    ["completions/fairlead.fish", { text: fish }],
    ["LICENSE", { copy: "LICENSE" }],
    ["THIRD-PARTY-NOTICES.txt", { text: notices }],
    ["README.md", { copy: "README.md" }],
    ["CHANGELOG.md", { copy: "CHANGELOG.md" }],
    ["SECURITY.md", { copy: "SECURITY.md" }],
    ["CONTRIBUTING.md", { copy: "CONTRIBUTING.md" }],
    ...EXAMPLES.map((path): Entry => [path, { copy: path }]),
    ...MANUAL.map((name): Entry => [`docs/${name}`, { copy: `docs/${name}` }]),
  ];
}

/** The same bytes whenever it is made, and by whomever. */
function pack(folder: string, name: string, archive: string): string {
  const owner = ["--owner=0", "--group=0", "--numeric-owner"];
  const order = ["--sort=name", `--mtime=@${releasedAt()}`, "--format=gnu"];
  run("tar", [...owner, ...order, "--use-compress-program=gzip -n", "-cf", archive, "-C", folder, name]);
  return archive;
}
