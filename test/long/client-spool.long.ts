// The client library with a spool, killed again and again on each runtime, two processes at a time on one directory.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "../binary/binary.ts";
import { type Process, start } from "../binary/process.ts";
import { PATIENCE } from "../binary/waiting.ts";
import { pack } from "../client/pack.ts";
import { makeFolder } from "../folder.ts";

const DENO = Bun.which("deno") ?? `${ROOT}/.tools/deno/node_modules/.bin/deno`;
const RUNTIMES = [
  { name: "Node", run: ["node"] },
  { name: "Bun", run: [process.execPath] },
  { name: "Deno", run: [DENO, "run", "-A", "--no-check"] },
].map(({ name, run: [file = "", ...args] }) => ({ name, file: Bun.which(file) ?? file, args }));

const KILLS = 50;

let library: ReturnType<typeof makeFolder>;

before(() => {
  library = makeFolder();
  pack(library.folder);
});

after(() => library[Symbol.dispose]());

/** A server that is down now and then, cuts answers that it has taken calls with, and counts what it got. */
function startServer() {
  const taken = new Map<string, number>();
  let nth = 0;
  let isSick = true;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    async fetch(request) {
      nth += 1;
      if (isSick && nth % 3 === 0) return new Response("", { status: 503 });
      const { batch } = (await request.json()) as { batch: readonly { messageId: string }[] };
      for (const { messageId } of batch) taken.set(messageId, (taken.get(messageId) ?? 0) + 1);
      if (isSick && nth % 3 === 1) return new Response("", { status: 502 });
      return Response.json({ success: true });
    },
  });
  return {
    url: server.url.origin,
    taken,
    heal() {
      isSick = false;
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

for (const { name, file, args } of RUNTIMES) {
  describe(`the spool on ${name}`, { skip: !existsSync(file) }, () => {
    it(`loses none of what calls returned from in ${KILLS} kills`, { timeout: 4 * PATIENCE }, async () => {
      using spool = makeFolder();
      await using server = startServer();
      const module = pathToFileURL(`${library.folder}/lib/client/analytics.js`).href;
      const run = (act: string): Process =>
        start(file, [...args, `${ROOT}/test/long/client-spool.mjs`, module, server.url, spool.folder, act]);
      const kept: string[] = [];
      const killOnce = async (nth: number): Promise<void> => {
        await using program = run("make");
        await program.lines(/^kept/, 1 + ((nth * 37) % 90));
        program.kill("SIGKILL");
        await program.exit;
        assert.deepEqual(program.err, []);
        kept.push(...program.out.map((line) => line.replace("kept ", "")));
      };
      for (let nth = 0; nth < KILLS; nth += 2) await Promise.all([killOnce(nth), killOnce(nth + 1)]);
      server.heal();
      await using last = run("drain");
      assert.deepEqual([(await last.exit).code, last.err], [0, []]);
      assert.ok(kept.length > 10 * KILLS, `${kept.length} calls`);
      assert.deepEqual(
        kept.filter((id) => !server.taken.has(id)),
        [],
      );
      assert.deepEqual(readdirSync(spool.folder, { recursive: true }).length, 1);
    });
  });
}
