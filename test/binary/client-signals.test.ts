// Programs with `closeOnSignal` on Node, Bun and Deno: what they send when they are told to end, and how they end.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { pack } from "../client/pack.ts";
import { makeFolder } from "../folder.ts";
import { ROOT } from "./binary.ts";
import { type Process, start } from "./process.ts";
import { PATIENT } from "./waiting.ts";

const DENO = Bun.which("deno") ?? `${ROOT}/.tools/deno/node_modules/.bin/deno`;
const RUNTIMES = [
  { name: "Node", run: ["node"] },
  { name: "Bun", run: [process.execPath] },
  { name: "Deno", run: [DENO, "run", "-A", "--no-check"] },
].map(({ name, run: [file = "", ...args] }) => ({ name, file: Bun.which(file) ?? file, args }));

let folder: ReturnType<typeof makeFolder>;

before(() => {
  folder = makeFolder();
  pack(folder.path("fairlead"));
});

after(() => folder[Symbol.dispose]());

function startServer(answer: () => Response | Promise<Response>) {
  const events: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    async fetch(request) {
      const { batch } = (await request.json()) as { batch: readonly { event: string }[] };
      events.push(...batch.map(({ event }) => event));
      return answer();
    },
  });
  return { url: server.url.origin, events, [Symbol.asyncDispose]: () => server.stop(true) };
}

const taken = (): Response => Response.json({ success: true });
const never = (): Promise<Response> => new Promise(() => {});

/** The program makes calls and then waits for ever. */
function program(url: string, options: string, rest = "", before = ""): string {
  return `
    import process from "node:process";
    ${before}
    import { Analytics } from ${JSON.stringify(pathToFileURL(folder.path("fairlead/lib/client/analytics.js")).href)};
    const analytics = new Analytics("key", { endpoint: ${JSON.stringify(url)}, ${options} });
    for (const event of ["1", "2", "3"]) void analytics.track({ userId: "u", event });
    const timer = setInterval(() => {}, 1_000);
    ${rest}
    console.log("ready");`;
}

for (const { name, file, args } of RUNTIMES) {
  describe(`a program with closeOnSignal on ${name}`, { skip: !existsSync(file) }, () => {
    function run(text: string): Process {
      writeFileSync(folder.path("program.mjs"), text);
      return start(file, [...args, folder.path("program.mjs")]);
    }

    it("sends its queue, and ends by the signal", PATIENT, async () => {
      for (const signal of ["SIGTERM", "SIGINT"] as const) {
        await using server = startServer(taken);
        await using p = run(program(server.url, "closeOnSignal: true"));
        await p.line(/^ready/);
        p.kill(signal);
        assert.deepEqual(await p.exit, { code: null, signal });
        assert.deepEqual([server.events, p.err], [["1", "2", "3"], []]);
      }
    });

    it("gives back what could not be sent in time", PATIENT, async () => {
      await using server = startServer(never);
      const back = "(calls) => console.log('back', calls.length)";
      await using p = run(program(server.url, `closeOnSignal: { timeout: 100, onUndelivered: ${back} }`));
      await p.line(/^ready/);
      p.kill("SIGTERM");
      assert.deepEqual(await p.exit, { code: null, signal: "SIGTERM" });
      assert.deepEqual(p.out, ["ready", "back 3"]);
    });

    it("throws nowhere while it ends, whatever it still does", PATIENT, async () => {
      await using server = startServer(never);
      const busy = "setInterval(() => void analytics.track({ userId: 'u', event: 'busy' }), 1);";
      await using p = run(program(server.url, "closeOnSignal: { timeout: 100, onUndelivered() {} }", busy));
      await p.line(/^ready/);
      p.kill("SIGTERM");
      assert.deepEqual(await p.exit, { code: null, signal: "SIGTERM" });
      assert.deepEqual(p.err, []);
    });

    it("leaves the end to the program if that listens, too", PATIENT, async () => {
      await using server = startServer(taken);
      const own = "process.on('SIGTERM', () => { process.exitCode = 7; clearInterval(timer); });";
      await using p = run(program(server.url, "closeOnSignal: true", own));
      await p.line(/^ready/);
      p.kill("SIGTERM");
      assert.deepEqual(await p.exit, { code: 7, signal: null });
      assert.deepEqual(server.events, ["1", "2", "3"]);
    });

    // Deno calls the listeners of a signal in the order in which they came, whatever that order was to be.
    if (name !== "Deno")
      it("leaves it so to one that listened before, and once", PATIENT, async () => {
        await using server = startServer(taken);
        const own = "process.once('SIGTERM', () => setTimeout(() => process.exit(7), 300));";
        await using p = run(program(server.url, "closeOnSignal: true", "", own));
        await p.line(/^ready/);
        p.kill("SIGTERM");
        assert.deepEqual(await p.exit, { code: 7, signal: null });
        assert.deepEqual(server.events, ["1", "2", "3"]);
      });

    it("leaves to the next start what is in its spool", PATIENT, async () => {
      await using down = startServer(never);
      using spool = makeFolder();
      const options = `spool: { directory: ${JSON.stringify(spool.folder)} }, closeOnSignal: { timeout: 100 }`;
      await using p = run(program(down.url, options));
      await p.line(/^ready/);
      p.kill("SIGTERM");
      assert.deepEqual([(await p.exit).signal, p.err], ["SIGTERM", []]);
      await using up = startServer(taken);
      await using next = run(program(up.url, options, "clearInterval(timer); await analytics.close();"));
      assert.deepEqual([(await next.exit).code, up.events.toSorted()], [0, ["1", "1", "2", "2", "3", "3"]]);
    });
  });
}
