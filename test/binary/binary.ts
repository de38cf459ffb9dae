import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MADE_BY_MAKE = join(ROOT, "dist/fairlead");
/** For those who run the tests without make. */
const MADE_HERE = join(ROOT, "dist/test/fairlead");
/** What the binary is made from; the Makefile says the same. */
const SOURCES = ["src", "packaging/page.ts", "package.json", "bun.lock", "tsconfig.json", "Makefile"];

let path: string | undefined;

/**
 * The compiled binary: the one that $FAIRLEAD_BINARY names, such as one for another machine behind an emulator, else
 * the one that make has built if it is up to date, else one that is built now.
 */
export function findBinary(): string {
  path ??= process.env.FAIRLEAD_BINARY || (findUpToDate() ?? build());
  return path;
}

function findUpToDate(): string | undefined {
  const newest = Math.max(...SOURCES.map((source) => newestIn(join(ROOT, source))));
  return [MADE_BY_MAKE, MADE_HERE].find((binary) => modifiedAt(binary) > newest);
}

/** Folders count too: theirs is the time at which a file was removed. */
function newestIn(path: string): number {
  const all = statSync(path).isDirectory() ? readdirSync(path, { recursive: true, encoding: "utf8" }) : [];
  return Math.max(modifiedAt(path), ...all.map((name) => modifiedAt(join(path, name))));
}

function modifiedAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/** Under a name of its own first: another test run may be doing the same at this moment. */
function build(): string {
  mkdirSync(join(ROOT, "dist/test"), { recursive: true });
  const made = join(ROOT, `dist/test/fairlead-${process.pid}`);
  runBun("packaging/page.ts", "dist/dashboard.js");
  runBun(...compileArguments(), "--outfile", made, "src/main.ts");
  renameSync(made, MADE_HERE);
  return MADE_HERE;
}

function runBun(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(process.execPath, args, { cwd: ROOT });
  if (status !== 0) throw new Error(`cannot compile the binary: ${stderr}`);
}

/** They stand in the Makefile, and only there: what is tested is what ships. */
export function compileArguments(): readonly string[] {
  const [, text] = /^COMPILE := (.+)$/m.exec(readFileSync(join(ROOT, "Makefile"), "utf8")) ?? [];
  if (text === undefined) throw new Error("the Makefile has no line that begins with COMPILE :=");
  return text.split(" ");
}
