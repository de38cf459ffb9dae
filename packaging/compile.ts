import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { run } from "./run.ts";
import { fetchRuntime } from "./runtime.ts";
import { signAdHoc } from "./sign-mac.ts";
import { BUN_VERSION, type Target } from "./targets.ts";

/**
 * Compiles the binary for a target. The same sources give the same bytes, in whichever folder they are.
 * The Makefile sets COMPILE to the arguments that it compiles with.
 */
export function compileFor(target: Target, file: string): void {
  if (Bun.version !== BUN_VERSION) throw new Error(`this is Bun ${Bun.version}; ${BUN_VERSION} is what is shipped`);
  const args = [
    ...(process.env.COMPILE ?? "").split(" "),
    ...["--target", `bun-${target.name}`, "--compile-executable-path", fetchRuntime(target)],
    ...(target.libc === "musl" ? ["--conditions=musl"] : []),
  ];
  run(process.execPath, [...args, "--outfile", file, "src/main.ts"]);
  // For arm64 Bun does so itself.
  if (target.name === "darwin-x64") writeFileSync(file, signAdHoc(readFileSync(file)));
}
