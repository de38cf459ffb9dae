import process from "node:process";
import { run } from "./run.ts";
import { fetchRuntime } from "./runtime.ts";
import { BUN_VERSION, type Target } from "./targets.ts";

/**
 * Compiles the binary for a target. The same sources give the same bytes, in whichever folder they are.
 * `compile` are the arguments that the Makefile compiles with.
 */
export function compileFor(target: Target, file: string, compile: string): void {
  if (Bun.version !== BUN_VERSION) throw new Error(`this is Bun ${Bun.version}; ${BUN_VERSION} is what is shipped`);
  const args = [
    ...compile.split(" "),
    ...["--target", `bun-${target.name}`, "--compile-executable-path", fetchRuntime(target)],
    ...(target.libc === "musl" ? ["--conditions=musl"] : []),
  ];
  run(process.execPath, [...args, "--outfile", file, "src/main.ts"]);
}
