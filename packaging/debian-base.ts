import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { run } from "./run.ts";

/** What the binary and its SQLite are linked to, and what these need. Certificates and time zones are in the binary. */
const PACKAGES = ["libc6", "libgcc-s1", "libstdc++6", "gcc-12-base"] as const;
/** glibc 2.36. */
const SUITE = "bookworm";
/** Not needed to run: character sets, what debuggers read, changelogs. */
const LEFT_OUT = ["usr/lib/*/gconv", "lib/*/gconv", "usr/share/gdb", "usr/share/lintian", "usr/share/doc/*/changelog*"];

/**
 * Unpacks the newest libraries of Debian that the binary needs into a folder, without changing the state of apt on this machine.
 * $DEBIAN_MIRROR names another mirror, such as a day of Debian's snapshots to make an old image again. Answers their versions.
 */
export function unpackBase(architecture: string, root: string): readonly string[] {
  const work = `${root}.apt`;
  mkdirSync(join(work, "lists/partial"), { recursive: true });
  mkdirSync(join(work, "archives/partial"), { recursive: true });
  try {
    writeFileSync(join(work, "sources.list"), sources());
    writeFileSync(join(work, "status"), "");
    const apt = (...args: readonly string[]): string =>
      run("apt-get", [...optionsFor(architecture, work), ...args], { cwd: work });
    apt("update");
    apt("download", ...PACKAGES);
    mkdirSync(join(root, "var/lib/dpkg/status.d"), { recursive: true });
    const debs = readdirSync(work).filter((name) => name.endsWith(".deb"));
    return debs.toSorted().map((deb) => unpack(join(work, deb), root));
  } finally {
    rmSync(work, { recursive: true });
  }
}

/** By which apt checks the signature, and where it keeps what it fetches. */
function optionsFor(architecture: string, work: string): readonly string[] {
  const options = [
    ...[`APT::Architecture=${architecture}`, `APT::Architectures=${architecture}`, "APT::Sandbox::User=root"],
    ...[`Dir::Etc::sourcelist=${work}/sources.list`, "Dir::Etc::sourceparts=/dev/null"],
    ...[`Dir::State::lists=${work}/lists`, `Dir::State::status=${work}/status`, `Dir::Cache=${work}`],
    ...["Acquire::Languages=none", "Acquire::Check-Valid-Until=false"],
  ];
  return options.flatMap((option) => ["-o", option]);
}

function sources(): string {
  const mirror = process.env.DEBIAN_MIRROR || "http://deb.debian.org";
  const signed = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]";
  return [
    `deb ${signed} ${mirror}/debian ${SUITE} main\n`,
    `deb ${signed} ${mirror}/debian-security ${SUITE}-security main\n`,
  ].join("");
}

/** Unpacks a package without its scripts. What it is stands in a folder where scanners of images look. */
function unpack(deb: string, root: string): string {
  run("dpkg-deb", ["--extract", deb, root]);
  const control = run("dpkg-deb", ["--field", deb]);
  const [name, version] = ["Package", "Version"].map((field) => run("dpkg-deb", ["--field", deb, field]).trim());
  writeFileSync(join(root, "var/lib/dpkg/status.d", `${name}`), control);
  run("sh", ["-euc", `cd "$0"; rm -rf ${LEFT_OUT.join(" ")}`, root]);
  return `${name} ${version}`;
}
