// The commands of pages for callers and receivers, run as they stand there, in their order, against the compiled binary.
import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findBinary, ROOT } from "./binary.ts";
import { PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld } from "./world.ts";

/** What the pages take for granted. */
const TOOLS = ["sh", "curl", "gzip", "openssl", "sha256sum"];

/** The pages, and how many of their blocks of commands show their output. */
const PAGES = { "docs/send/http.md": 7, "docs/receive/verify.md": 1, "docs/audiences.md": 2, "docs/deletions.md": 0 };

type Example = { readonly commands: string; readonly output: string | null };

/** Each block of commands, with the output below it if the page shows some. A block with `notest` is not run. */
async function examplesOf(page: string): Promise<readonly Example[]> {
  const text = await readFile(join(ROOT, page), "utf8");
  const blocks = text.matchAll(/^( *)```sh\n([\s\S]*?)^ *```\n(?:\n```text\n([\s\S]*?)^```)?/gm);
  return [...blocks].map(([, indent = "", commands = "", output = null]) => {
    return { commands: commands.replaceAll(new RegExp(`^${indent}`, "gm"), ""), output };
  });
}

describe("the commands of a page", () => {
  const skip = TOOLS.some((tool) => Bun.which(tool) === null);
  for (const [page, shown] of Object.entries(PAGES)) {
    it(`do what it says: ${page}`, { ...PATIENT, skip }, async () => {
      const examples = await examplesOf(page);
      assert.equal(examples.filter(({ output }) => output !== null).length, shown);
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: "http://127.0.0.1:9", writeKey: "WRITE_KEY" }));
      const daemon = await w.serve();
      await mkdir(w.path("bin"));
      await symlink(findBinary(), w.path("bin/fairlead"));
      const env = { PATH: `${w.path("bin")}:${process.env.PATH}`, HOME: w.folder, TMPDIR: w.folder };
      for (const { commands, output } of examples) {
        const printed = await run(commands, { daemon, folder: w.folder, env });
        if (output === null) assert.doesNotMatch(printed, /"success": ?false/, commands);
        else assert.equal(timeless(printed), timeless(output), commands);
      }
    });
  }
});

type Where = { readonly daemon: Daemon; readonly folder: string; readonly env: Record<string, string> };

/** What the commands print, with the addresses of this daemon in place of those on the page. */
async function run(commands: string, { daemon, folder, env }: Where): Promise<string> {
  const script = commands
    .replaceAll("http://127.0.0.1:8080", daemon.ingest)
    .replaceAll("http://127.0.0.1:8081", daemon.admin)
    .replaceAll(/^fairlead (audience|traits) .*/gm, `$& --admin ${daemon.admin}`);
  const shell = Bun.spawn(["sh", "-e"], { cwd: folder, env, stdin: new Blob([script]), stderr: "pipe" });
  const printed = await new Response(shell.stdout).text();
  assert.equal(await shell.exited, 0, `${commands}\n${await new Response(shell.stderr).text()}`);
  // The answers of curl end without a newline.
  return printed.replaceAll("}{", "}\n{");
}

/** Without the ages and spaces that differ each time. */
function timeless(text: string): string {
  return `${text
    .trim()
    .replaceAll(/ +/g, " ")
    .replaceAll(/\d+(ms|s) ago/g, "a moment ago")}\n`;
}
