/**
 * Makes the RPM packages of a release, and SHA256SUMS beside them.
 *
 * Usage: bun packaging/rpm.ts <folder> [<architecture>…], by make, which sets COMPILE and SOURCE_DATE_EPOCH
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import process from "node:process";
import { compileFor } from "./compile.ts";
import { releasedAt, VERSION } from "./documents.ts";
import { run } from "./run.ts";
import { fill, restartFunctions, systemEntries } from "./system-tree.ts";
import { architecturesNamed, type Target } from "./targets.ts";
import { type Entry, writeSums, writeTree } from "./tree.ts";

/** In one thread, so that the bytes do not depend on the cores. xz would save 2 % and take twice as long. */
const EFFORT = { good: "w12.zstdio", fast: "w1.zstdio" } as const;

export type RpmOptions = {
  /** Another version than this one, for tests of upgrades. */
  readonly version?: string;
  /** A program to be packed instead of one that is compiled now. */
  readonly binary?: string;
  /** `fast` for a package that is not kept. */
  readonly compression?: keyof typeof EFFORT;
};

if (import.meta.main) {
  const [folder = "dist", ...names] = process.argv.slice(2);
  for (const target of architecturesNamed(names, "rpm")) console.log(makeRpm(target, resolve(folder)));
  writeSums(folder, VERSION);
}

/** Answers the path of the package. */
export function makeRpm(target: Target, folder: string, { version = VERSION, ...given }: RpmOptions = {}): string {
  const { rpm = "" } = target;
  const work = join(folder, `work-${rpm}-${version}`);
  const tree = join(work, "tree");
  mkdirSync(work, { recursive: true });
  try {
    const binary = given.binary ?? join(work, "fairlead");
    if (given.binary === undefined) compileFor(target, binary);
    writeTree(tree, entries(binary));
    const spec = join(work, "fairlead.spec");
    const functions = restartFunctions("systemctl try-restart fairlead.service");
    const sysusers = fill("systemd/fairlead.sysusers.conf", {}).trim();
    const values = { VERSION: version, TREE: tree, FUNCTIONS: functions, SYSUSERS: sysusers };
    writeFileSync(spec, fill("rpm/fairlead.spec", values));
    const name = "%{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm";
    const places = { _topdir: join(work, "build"), _rpmdir: folder, _tmppath: work, _build_name_fmt: name };
    const payload = { _binary_payload: EFFORT[given.compression ?? "good"] };
    const defines = Object.entries({ ...places, ...payload }).flatMap(([key, value]) => [
      "--define",
      `${key} ${value}`,
    ]);
    run("rpmbuild", ["-bb", "--quiet", "--target", `${rpm}-linux`, ...defines, spec], {
      env: { SOURCE_DATE_EPOCH: String(releasedAt()), LC_ALL: "C" },
    });
    return join(folder, `fairlead-${version}-1.${rpm}.rpm`);
  } finally {
    rmSync(work, { recursive: true });
  }
}

function entries(binary: string): readonly Entry[] {
  return [
    ...systemEntries(binary, "usr/share/zsh/site-functions"),
    ["usr/share/licenses/fairlead/LICENSE", { copy: "LICENSE" }],
  ];
}
