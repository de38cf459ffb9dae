import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import process from "node:process";

/** The oldest that the package is for. */
const SUITE = "bookworm";

/**
 * The root of a small Debian with systemd, made there by debootstrap; $DEBIAN_TREE names one that is there already. Where none can
 * be made, this machine's own root: what is written goes into a layer above it all the same.
 */
export function makeDebianTree(path: string): string {
  const given = process.env.DEBIAN_TREE;
  if (given) return given;
  const why = bootstrap(SUITE, path);
  if (why === null) return path;
  console.warn(
    `debootstrap has made no Debian (${why}); the package is installed into this machine's own tree instead`,
  );
  return "/";
}

/** Makes the root of a small Debian with systemd. Answers why it could not, or null. */
export function bootstrap(suite: string, path: string): string | null {
  const args = ["--variant=minbase", "--include=systemd", suite, path];
  const { status, stdout, error } = spawnSync("debootstrap", args, { encoding: "utf8" });
  if (status === 0) return null;
  rmSync(path, { recursive: true, force: true });
  return error ? error.message : (stdout.trim().split("\n").at(-1) ?? "it has said nothing");
}
