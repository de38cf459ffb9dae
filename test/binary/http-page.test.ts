// The commands of docs/send/http.md, run as they stand there, in their order, against the compiled binary.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { ROOT } from "./binary.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

const PAGE = readFileSync(join(ROOT, "docs/send/http.md"), "utf8");

/** Each block of commands, with the output below it. */
const EXAMPLES = [...PAGE.matchAll(/^```sh\n([\s\S]*?)^```\n\n```text\n([\s\S]*?)^```/gm)].map(
  ([, commands = "", output = ""]) => ({ commands, output }),
);

describe("the commands of docs/send/http.md", () => {
  it("all show what they print", () => {
    assert.ok(EXAMPLES.length > 5);
    assert.equal([...PAGE.matchAll(/^```sh/gm)].length, EXAMPLES.length);
  });

  it("print what the page says", { ...PATIENT, skip: Bun.which("curl") === null }, async () => {
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9", writeKey: "WRITE_KEY" }));
    const daemon = await w.serve();
    for (const { commands, output } of EXAMPLES) {
      const script = commands.replaceAll("http://127.0.0.1:8080", daemon.ingest);
      const shell = Bun.spawn(["sh", "-e"], {
        cwd: w.folder,
        env: { PATH: process.env.PATH, HOME: w.folder },
        stdin: new Blob([script]),
        stderr: "inherit",
      });
      // The answers of curl end without a newline.
      const printed = (await new Response(shell.stdout).text()).replaceAll("}{", "}\n{");
      assert.equal(`${printed.trimEnd()}\n`, output, commands);
      assert.equal(await shell.exited, 0);
    }
  });
});
