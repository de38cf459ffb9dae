// `make prose`: reads the project's texts for what makes them hard to read, and prints file:line, what is wrong, and what
// to write instead. Ends with 1 if there is anything.
import { allBlocks } from "./blocks.ts";
import { check } from "./rules.ts";

const only = process.argv.slice(2);
const blocks = allBlocks().filter(({ path }) => only.length === 0 || only.some((start) => path.startsWith(start)));
const problems = blocks.flatMap(check);
for (const { path, line, problem } of problems) console.log(`${path}:${line}: ${problem}`);
if (problems.length > 0) {
  console.error(`\n${problems.length} to reword. The rules are in test/prose/.`);
  process.exit(1);
}
