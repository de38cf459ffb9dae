import process from "node:process";
import { run } from "./cli/program.ts";

// No `await` at the top: Bun would link the modules of the compiled binary more slowly. An error still ends the
// process.
run(process.argv.slice(2)).then((code) => process.exit(code));
