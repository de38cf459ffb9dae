import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { findBinary, ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { PATIENT } from "../binary/waiting.ts";
import { makeFolder } from "../folder.ts";
import { blocksOf, parseBlocks, terminalsOf } from "./commands.ts";
import { follow, verifiedWebhook } from "./reader.ts";

const PAGES = ["docs/quickstart.md", ...readdirSync(join(ROOT, "docs/install")).map((name) => `docs/install/${name}`)];

/** A network of its own, as long as the commands run: they name ports. All of them end with the first. */
const ALONE = ["--map-root-user", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc"];
const canBeAlone = spawnSync("unshare", [...ALONE, "ip link set lo up"]).status === 0;
const QUICKSTART = {
  ...PATIENT,
  skip:
    !canBeAlone && "this machine makes no network namespaces: it takes ip (apt install iproute2), and user namespaces",
};

describe("the commands of a page", () => {
  const page = [
    "# A",
    "```sh",
    "cd there",
    "```",
    "",
    "```text",
    "said",
    "```",
    "## B",
    "```sh background",
    "serve",
    "```",
    "```sh notest",
    "other",
    "```",
    "```sh",
    "send",
    "```",
    "",
  ].join("\n");

  it("are its blocks of sh, with their headings and marks", () => {
    assert.deepEqual(
      parseBlocks("a.md", page).map(({ heading, mark, line, text }) => [heading, mark, line, text]),
      [
        ["A", "", 2, "cd there\n"],
        ["B", "background", 10, "serve\n"],
        ["B", "notest", 13, "other\n"],
        ["B", "", 16, "send\n"],
      ],
    );
  });

  it("go into another terminal after one that keeps its own", () => {
    assert.deepEqual(terminalsOf(parseBlocks("a.md", page)), [
      { first: "cd there\n", staying: "serve\n" },
      { first: "send\n", staying: "" },
    ]);
  });

  it("have no mark that nothing is known of", () => {
    assert.throws(() => parseBlocks("a.md", "```sh notests\n```\n"), /a\.md:1: there is no mark notests/);
  });
});

describe("the pages that install", () => {
  for (const page of PAGES) {
    it(`have commands that a shell can read: ${page}`, () => {
      for (const { text, line } of blocksOf(page)) {
        const { status, stderr } = spawnSync("sh", ["-n"], { input: text, encoding: "utf8" });
        assert.equal(status, 0, `${page}:${line}: ${stderr}`);
      }
    });

    it(`name this version, and no other: ${page}`, () => {
      const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
      const named = [...readFileSync(join(ROOT, page), "utf8").matchAll(/(?:\/v|fairlead[-_:])(\d+\.\d+\.\d+)/g)];
      for (const [where, one] of named) assert.equal(one, version, where);
    });
  }
});

describe("docs/quickstart.md", () => {
  it("leads to a verified webhook, from its second step on", QUICKSTART, async () => {
    using home = makeFolder();
    mkdirSync(home.path("bin"));
    symlinkSync(findBinary(), home.path("bin/fairlead"));
    const env = { HOME: home.folder, TMPDIR: home.folder, PATH: `${home.path("bin")}:${process.env.PATH}` };
    const blocks = blocksOf("docs/quickstart.md").filter(({ heading }) => heading !== "1. Install");
    // Its processes end with the machine, which goes first.
    await using opened = new AsyncDisposableStack();
    await using machine = start("unshare", [...ALONE, "ip link set lo up; echo there; exec sleep infinity"], { env });
    await machine.line(/^there$/);
    const [child = ""] = readFileSync(`/proc/${machine.pid}/task/${machine.pid}/children`, "utf8").split(" ");
    const inside = ["--target", child, "--user", "--net", "--pid", "--preserve-credentials"];
    const open = (script: string): Process =>
      opened.use(start("nsenter", [...inside, "sh", "-c", script], { env, folder: home.folder }));
    await verifiedWebhook(await follow(terminalsOf(blocks), open));
  });
});
