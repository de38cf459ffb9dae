// A program with a spool, on any runtime. It makes calls and prints the id of each once the promise of the call has
// resolved; or, as `drain`, sends what there is and ends.
//
// Usage: node client-spool.mjs <module of the library> <url> <directory> <make|drain>
import { writeSync } from "node:fs";

const [module = "", endpoint = "", directory = "", act = ""] = process.argv.slice(2);
const { Analytics } = await import(module);
const analytics = new Analytics("website-key", {
  endpoint,
  spool: { directory, fsync: "always" },
  queue: { limit: 200 },
});

if (act === "drain") {
  await analytics.close({ timeout: 30_000 });
} else {
  for (;;) {
    const calls = Array.from({ length: 5 }, () => analytics.track({ userId: "u", event: "E" }));
    // In one piece, so that no line is torn. Not by console.log, which may keep it in memory.
    writeSync(1, (await Promise.all(calls)).map((id) => `kept ${id}\n`).join(""));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
