// The programs of docs/send/fairlead-ending.md that end or are frozen, run as they stand there, each by its runtime.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { pack } from "../client/pack.ts";
import { makeFolder } from "../folder.ts";
import { ROOT } from "./binary.ts";
import { type Process, start } from "./process.ts";
import { PATIENT } from "./waiting.ts";

const PAGE = readFileSync(join(ROOT, "docs/send/fairlead-ending.md"), "utf8");

type Example = {
  readonly command: readonly [file: string, ...args: string[]];
  /** A function is called by a program that stands for its platform; others are servers. */
  readonly caller?: string;
  /** How it ends by SIGTERM. Where it does not wait for that, each call is sent before the answer. */
  readonly ends?: { readonly code: number | null; readonly signal: string | null };
};

const EXAMPLES: Readonly<Record<string, Example>> = {
  "end.node.mjs": { command: ["node"], ends: { code: 0, signal: null } },
  "end.express.mjs": { command: ["node"], ends: { code: 0, signal: null } },
  "end.hono.ts": { command: [process.execPath], ends: { code: null, signal: "SIGTERM" } },
  "end.lambda.mjs": {
    command: ["node"],
    caller: `import { handler } from "./end.lambda.mjs";
      console.log((await handler({ userId: "user-42" })).statusCode);
      process.exit(0);`,
  },
  "end.deno.ts": { command: ["deno", "run", "--no-check", "--node-modules-dir=manual", "--allow-net", "--allow-env"] },
  "end.worker.mjs": {
    command: ["node"],
    caller: `import worker from "./end.worker.mjs";
      const waits = [];
      const context = { waitUntil: (promise) => waits.push(promise) };
      const response = await worker.fetch(new Request("http://x/"), {}, context);
      await Promise.all(waits);
      console.log(response.status);
      process.exit(0);`,
  },
};

const RUNTIMES = `${process.env.PATH}:${join(ROOT, ".tools/deno/node_modules/.bin")}`;

let folder: ReturnType<typeof makeFolder>;

before(() => {
  folder = makeFolder();
  mkdirSync(folder.path("node_modules"));
  for (const name of ["hono", "express"]) {
    symlinkSync(join(ROOT, "node_modules", name), folder.path(`node_modules/${name}`));
  }
  writeFileSync(folder.path("package.json"), JSON.stringify({ type: "module" }));
  pack(folder.path("node_modules/fairlead"));
});

after(() => folder[Symbol.dispose]());

describe("the programs of docs/send/fairlead-ending.md that end", () => {
  it("are those that are tried here", () => {
    assert.deepEqual(
      [...PAGE.matchAll(/^<!-- (end\.\S+) -->$/gm)].map(([, name]) => name),
      Object.keys(EXAMPLES),
    );
  });

  for (const [name, example] of Object.entries(EXAMPLES)) {
    const options = { ...PATIENT, skip: Bun.which(example.command[0], { PATH: RUNTIMES }) === null };
    it(`${name} loses no call`, options, async () => {
      await using fairlead = startFairlead();
      writeFileSync(folder.path(name), codeOf(name, fairlead.url));
      if (example.caller) writeFileSync(folder.path("caller.mjs"), example.caller);
      await using program = run(example.caller ? "caller.mjs" : name, example.command);
      if (example.caller) {
        await program.exit;
        assert.deepEqual([program.out, program.err], [["200"], []]);
      } else {
        const [, port] = /listening on (\d+)/.exec(await program.line(/listening/)) ?? [];
        assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), "ok");
        if (!example.ends) assert.equal(fairlead.events.length, 1);
        program.kill("SIGTERM");
        const exit = await program.exit;
        if (example.ends) assert.deepEqual(exit, example.ends);
        assert.deepEqual(program.err, []);
      }
      assert.equal(fairlead.events.length, 1);
    });
  }
});

/** The code that follows a name on the page, with the address of this Fairlead and a port from the system. */
function codeOf(name: string, url: string): string {
  const [, code = ""] = new RegExp(`<!-- ${name} -->\n\`\`\`[jt]s\n([^]*?)\`\`\``).exec(PAGE) ?? [];
  assert.match(code, /http:\/\/127\.0\.0\.1:8080/, `the page has no code after ${name}`);
  return code.replace("http://127.0.0.1:8080", url).replace(/\b3000\b/, "0");
}

function startFairlead() {
  const events: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    async fetch(request) {
      const { batch } = (await request.json()) as { batch: readonly { event: string }[] };
      events.push(...batch.map(({ event }) => event));
      return Response.json({ success: true });
    },
  });
  return { url: server.url.origin, events, [Symbol.asyncDispose]: () => server.stop(true) };
}

function run(name: string, [file, ...args]: Example["command"]): Process {
  const env = { PATH: RUNTIMES, HOME: folder.folder, TMPDIR: folder.folder, NO_COLOR: "1" };
  return start(Bun.which(file, { PATH: RUNTIMES }) ?? file, [...args, folder.path(name)], {
    folder: folder.folder,
    env,
  });
}
