// The receivers of docs/receive/verify.md, run as they stand there, each by its runtime, with the daemon as their sender.
import assert from "node:assert/strict";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { pack } from "../client/pack.ts";
import { ROOT } from "./binary.ts";
import { type Process, start } from "./process.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, SECRET, type World } from "./world.ts";

const PAGE = await readFile(join(ROOT, "docs/receive/verify.md"), "utf8");

type Example = {
  readonly command: readonly [file: string, ...args: string[]];
  /** What it prints for an identify call of u1 and the deletion of that user. */
  readonly printed: readonly RegExp[];
};

const EXAMPLES: Readonly<Record<string, Example>> = {
  "receiver.bun.ts": {
    command: [process.execPath],
    printed: [/^identify is stored$/, /^delete is stored$/, /^track came before$/],
  },
  "receiver.deno.ts": {
    command: ["deno", "run", "--no-check", "--node-modules-dir=manual", "--allow-net", "--allow-env"],
    printed: [/^identify u1 \{ plan: "pro" \}$/, /^delete u1$/],
  },
  "receiver.node.mjs": { command: ["node"], printed: [/^identify u1$/, /^delete u1$/, /^track u1$/] },
  "receiver.express.mjs": {
    command: ["node"],
    printed: [/^identify true \/hooks$/, /^delete u1 \/hooks$/, /^track true \/hooks$/],
  },
  "receiver.hono.ts": {
    command: [process.execPath],
    printed: [/^identify Fairlead\/1\.0$/, /^delete Fairlead\/1\.0$/],
  },
};

/** Deno may be the one that make has installed; without make there may be none. */
const RUNTIMES = `${process.env.PATH}:${join(ROOT, ".tools/deno/node_modules/.bin")}`;

describe("the receivers of docs/receive/verify.md", () => {
  it("are those that are tried here", () => {
    assert.deepEqual(
      [...PAGE.matchAll(/^<!-- (receiver\.\S+) -->$/gm)].map(([, name]) => name),
      Object.keys(EXAMPLES),
    );
  });

  for (const [name, { command, printed }] of Object.entries(EXAMPLES)) {
    const options = { ...PATIENT, skip: Bun.which(command[0], { PATH: RUNTIMES }) === null };
    it(`${name} takes what Fairlead sends, and refuses what another signs`, options, async () => {
      await using w = await makeWorld();
      await install(w);
      await w.write(name, codeOf(name));
      await using receiver = run(w, name, command);
      const url = await listening(receiver);
      await w.write("config.yaml", makeConfig({ url }));
      const daemon = await w.serve();
      await daemon.call("/v1/identify", { userId: "u1", traits: { plan: "pro" } });
      await receiver.line(printed[0] ?? /^$/);
      await fetch(`${daemon.admin}/api/deletions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ userIds: ["u1"] }),
      });
      await receiver.line(printed[1] ?? /^$/);
      await tryByHand(url);
      if (printed[2]) await receiver.line(printed[2]);
    });
  }
});

/** The code that follows a name on the page, on a port from the system. */
function codeOf(name: string): string {
  const [, code] = new RegExp(`<!-- ${name} -->\n\`\`\`[jt]s\n([^]*?)\`\`\``).exec(PAGE) ?? [];
  assert.match(code ?? "", /\b9000\b/, `the page has no code after ${name}`);
  return (code ?? "").replace(/\b9000\b/, "0");
}

/** Puts `fairlead/receive` where the receiver finds it, as `make client` writes it. */
async function install(w: World): Promise<void> {
  await mkdir(w.path("node_modules"), { recursive: true });
  for (const name of ["express", "hono"]) {
    await symlink(join(ROOT, "node_modules", name), w.path(`node_modules/${name}`));
  }
  await w.write("package.json", JSON.stringify({ type: "module" }));
  pack(w.path("node_modules/fairlead"));
}

function run(w: World, name: string, [file, ...args]: Example["command"]): Process {
  const env = { PATH: RUNTIMES, HOME: w.folder, TMPDIR: w.folder, NO_COLOR: "1", CRM_SECRET: SECRET };
  return start(Bun.which(file, { PATH: RUNTIMES }) ?? file, [...args, w.path(name)], { folder: w.folder, env });
}

async function listening(receiver: Process): Promise<string> {
  const [, port] = /(\d+)\/?\D*$/.exec(await receiver.line(/listening|Listening/)) ?? [];
  return `http://127.0.0.1:${port}/hooks`;
}

const TRACK = {
  ...{ version: 1, type: "track", userId: "u1", event: "Forged", properties: {}, context: {} },
  ...{ timestamp: "2026-11-20T12:00:00.000Z", receivedAt: "2026-11-20T12:00:00.000Z", messageId: "m1" },
};

/** A forged call, no call at all, and twice one that is signed as Fairlead does. */
async function tryByHand(url: string): Promise<void> {
  const statuses: number[] = [];
  for (const [body, secret] of [
    [TRACK, "guessed"],
    [{}, SECRET],
    [TRACK, SECRET],
    [TRACK, SECRET],
  ] as const) {
    const text = JSON.stringify(body);
    const headers = { "X-Signature": new Bun.CryptoHasher("sha1", secret).update(text).digest("hex") };
    statuses.push((await fetch(url, { method: "POST", body: text, headers })).status);
  }
  assert.deepEqual(statuses, [401, 400, 204, 204]);
}
