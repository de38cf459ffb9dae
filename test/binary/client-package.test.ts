// The client library as its users get it: packed, installed into a folder of its own, and run by Node, Bun and Deno.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { publint } from "publint";
import manifest from "../../package.json" with { type: "json" };
import sources from "../../src/client/manifest.json" with { type: "json" };
import { pack } from "../client/pack.ts";
import { ROOT } from "./binary.ts";
import { type Process, start } from "./process.ts";
import { PATIENT } from "./waiting.ts";

const DENO = Bun.which("deno") ?? join(ROOT, ".tools/deno/node_modules/.bin/deno");
/** Deno gets no permission but the network: nothing may ask for one. */
const RUNTIMES = [
  { name: "Node", run: ["node"] },
  { name: "Bun", run: [process.execPath] },
  { name: "Deno", run: [DENO, "run", "--no-prompt", "--allow-net"] },
].filter(({ run: [file = ""] }) => Bun.which(file) !== null || existsSync(file));

let folder = "";
let archive = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "fairlead-package-"));
  pack(join(folder, "made"));
  await finished(bun(["pm", "pack", "--destination", folder], "made"));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  archive = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  await finished(bun(["add", `./${archive}`], "."));
}, PATIENT);

after(() => rm(folder, { recursive: true, force: true }));

describe("the package of the client library", () => {
  it("has version, licence, types and README, and depends on nothing", async () => {
    const installed = join(folder, "node_modules/fairlead");
    const made = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
    assert.deepEqual(
      [made.name, made.version, made.license, made.dependencies],
      ["fairlead", manifest.version, "MIT", undefined],
    );
    const files = (await readdir(installed)).filter((name) => !name.startsWith("."));
    assert.deepEqual(files.toSorted(), ["LICENSE", "README.md", "browser", "cjs", "lib", "package.json"]);
    const targets = Object.values<Targets>(made.exports).flatMap(pathsOf);
    assert.ok(targets.length > 0);
    for (const path of targets) assert.ok(existsSync(join(installed, path)), path);
  });

  it("has its types found under node10, node16 and bundler resolution, by import and by require", PATIENT, async () => {
    const data = new Uint8Array(await readFile(join(folder, archive)));
    const checked = await checkPackage(createPackageFromTarballData(data));
    assert.ok(checked.types);
    assert.deepEqual(checked.problems, []);
    assert.deepEqual(Object.keys(checked.entrypoints).toSorted(), ENTRIES);
  });

  it("has a manifest in which publint finds nothing", PATIENT, async () => {
    const { buffer } = new Uint8Array(await readFile(join(folder, archive)));
    const { messages } = await publint({ strict: true, pack: { tarball: buffer } });
    assert.deepEqual(messages, []);
  });

  it("has a bundle for pages of at most 6 KB as they get it", async () => {
    const bundle = await readFile(join(folder, "node_modules/fairlead/browser/fairlead.min.js"));
    const bytes = gzipSync(bundle, { level: 9 }).length;
    assert.ok(bytes <= 6 * 1_024, `${bytes} bytes`);
    assert.doesNotMatch(bundle.toString(), /\b(?:node:|require\(|import\b)/);
  });

  it("leaves out of a bundle what the program does not use", PATIENT, async () => {
    const sizes: number[] = [];
    for (const name of ["callKey", "Analytics"]) {
      const path = join(folder, `${name}.mjs`);
      await writeFile(path, `import { ${name} } from "fairlead"; console.log(${name});`);
      const { outputs } = await Bun.build({ entrypoints: [path], target: "node", minify: true });
      sizes.push(outputs[0]?.size ?? 0);
    }
    const [small = 0, whole = 0] = sizes;
    assert.ok(small > 0 && small < 1_000, `${small} bytes for one small function`);
    assert.ok(whole > 10_000, `${whole} bytes for the client`);
  });

  it("has types that stand by themselves, and find what is wrong", PATIENT, async () => {
    await writeFile(join(folder, "typed.mts"), TYPED);
    const options = [
      "--strict",
      "--noEmit",
      "--module",
      "nodenext",
      "--lib",
      "es2023,dom",
      "--types",
      "",
      "--ignoreConfig",
    ];
    const { out } = await finished(
      bun(["x", "--bun", "--no-install", "tsc", ...options, join(folder, "typed.mts")], ROOT),
    );
    assert.deepEqual(out, []);
  });
});

for (const { name, run } of RUNTIMES) {
  describe(`the client library on ${name}`, () => {
    it("is found by import and by require, by all of its names", PATIENT, async () => {
      const [file = "", ...args] = run;
      for (const [ending, load] of [
        ["mjs", (entry: string) => `await import("${entry}")`],
        ["cjs", (entry: string) => `require("${entry}")`],
      ] as const) {
        const path = join(folder, `found.${ending}`);
        await writeFile(path, NAMES.map((name) => `console.log("receiver" in ${load(name)});`).join("\n"));
        const env = { PATH: process.env.PATH ?? "", NO_COLOR: "1" };
        const { out, err } = await finished(start(file, [...args, path], { folder, env }));
        assert.deepEqual([out, err], [["true", "true", "true"], []]);
      }
    });

    if (name === "Deno") {
      it("is found by its npm specifier, with its types", PATIENT, async () => {
        const [file = "", ...args] = run;
        const path = join(folder, "specifier.ts");
        await writeFile(path, SPECIFIER);
        const env = { PATH: process.env.PATH ?? "", NO_COLOR: "1" };
        const { out } = await finished(start(file, [...args, "--check", path], { folder, env }));
        assert.deepEqual(out, ["function"]);
      });
    }

    it("delivers what a program has queued that ends without close, and does not hold it up", PATIENT, async () => {
      await using server = await startServer();
      const began = performance.now();
      await program(run, `for (const event of ["1", "2", "3"]) analytics.track({ userId: "u", event });`, server);
      assert.deepEqual(server.events, ["1", "2", "3"]);
      // The interval is an hour, and a minute the time for an answer.
      assert.ok(performance.now() - began < 30_000);
    });

    it("ends with its program when all is sent, whatever timers it had", PATIENT, async () => {
      await using server = await startServer();
      const { out } = await program(
        run,
        'analytics.track({ userId: "u", event: "1" }); console.log((await analytics.flush()).delivered.length);',
        server,
      );
      assert.deepEqual([out, server.events], [["1"], ["1"]]);
    });

    it("keeps a program that waits for flush through an outage, and is sent to the end", PATIENT, async () => {
      await using server = await startServer((nth) => (nth <= 2 ? 503 : 200));
      const { out } = await program(
        run,
        'analytics.track({ userId: "u", event: "1" }); console.log((await analytics.flush()).delivered.length);',
        server,
      );
      assert.deepEqual([out, server.events, server.retries], [["1"], ["1"], [undefined, "1", "2"]]);
    });

    it("tells a program that calls process.exit what it has lost by that", PATIENT, async () => {
      await using server = await startServer();
      const { err } = await program(run, 'analytics.track({ userId: "u", event: "1" }); process.exit(0);', server);
      assert.match(err.join("\n"), /^analytics: track \S+ is lost: the program ended first/);
      assert.deepEqual(server.events, []);
    });

    it("leaves no rejection unhandled when nobody answers, and says what is lost", PATIENT, async () => {
      const server = { url: "http://127.0.0.1:1", retries: 0 };
      const { err } = await program(
        run,
        'analytics.track({ userId: "u", event: "1" }); setTimeout(() => {}, 50); void analytics.flush();',
        server,
      );
      assert.match(
        err.join("\n"),
        /^analytics: track \S+ is lost: no success in one attempt; the last: no answer: .+$/,
      );
    });

    it("is destroyed by no function of its program that throws", PATIENT, async () => {
      await using server = await startServer((nth) => (nth === 1 ? 400 : 200));
      const code = `
        const own = new Analytics("key", { endpoint, flushAt: 1, onError() { throw new Error("mine"); } });
        own.track({ userId: "u", event: "1" });
        own.track({ userId: "u", event: "2" });
        const { delivered, lost } = await own.close();
        console.log(delivered.length, lost.length);`;
      const { out, err } = await program(run, code, server);
      assert.deepEqual([out, server.events], [["1 1"], ["2"]]);
      assert.match(err.join("\n"), /a callback threw: Error: mine/);
    });
  });
}

const ENTRIES = Object.keys(sources.exports).toSorted();

/** Those that have a receiver. That for Hono has another name. */
const NAMES = ["fairlead", "fairlead/client", "fairlead/receive"];

type Targets = string | { readonly [condition: string]: Targets };

function pathsOf(targets: Targets): readonly string[] {
  return typeof targets === "string" ? [targets] : Object.values(targets).flatMap(pathsOf);
}

const SPECIFIER = `
import { Analytics, memoryTransport } from "npm:fairlead";
import { type ReceivedCall, receiver } from "npm:fairlead/receive";
const analytics = new Analytics<{ Bought: { total: number } }>("key", { fetch: memoryTransport().fetch });
void analytics.track({ userId: "u", event: "Bought", properties: { total: 1 } });
// @ts-expect-error
void analytics.track({ userId: "u", event: "Sold" });
export const receive = receiver("secret", (call: ReceivedCall) => call.type);
console.log(typeof receive);
`;

const TYPED = `
import { Analytics, memoryTransport, type Options } from "fairlead/client";
const options: Options = { fetch: memoryTransport().fetch };
export const own: Options = { fetch };
const analytics = new Analytics<{ Bought: { total: number } }>("key", options);
void analytics.track({ userId: "u", event: "Bought", properties: { total: 1 } });
// @ts-expect-error
void analytics.track({ userId: "u", event: "Bought", properties: { total: "1" } });
// @ts-expect-error
void analytics.track({ userId: "u", event: "Sold" });
`;

function bun(args: readonly string[], where: string): Process {
  return start(process.execPath, args, { folder: join(where === ROOT ? ROOT : folder, where === ROOT ? "" : where) });
}

async function finished(running: Process): Promise<Process> {
  await using one = running;
  assert.deepEqual(await one.exit, { code: 0, signal: null }, [...one.out, ...one.err].join("\n"));
  return one;
}

/** Runs a program that has a client, and waits for its end. */
async function program(
  run: readonly string[],
  code: string,
  server: { url: string; retries?: unknown },
): Promise<Process> {
  const retries = typeof server.retries === "number" ? `, retries: ${server.retries}` : "";
  const head = `import { Analytics } from "fairlead/client";
    import process from "node:process";
    const endpoint = ${JSON.stringify(server.url)};
    const analytics = new Analytics("key", { endpoint, flushAfter: 3_600_000, timeout: 60_000${retries} });\n`;
  const path = join(folder, `${crypto.randomUUID()}.mjs`);
  await writeFile(path, head + code);
  const [file = "", ...args] = run;
  // A proxy that the machine has set would come between.
  return finished(start(file, [...args, path], { folder, env: { PATH: process.env.PATH ?? "", NO_COLOR: "1" } }));
}

type Server = AsyncDisposable & {
  readonly url: string;
  /** Of the calls that were answered 200. */
  readonly events: readonly string[];
  readonly retries: readonly (string | undefined)[];
};

async function startServer(statusOf: (nth: number) => number = () => 200): Promise<Server> {
  const events: string[] = [];
  const retries: (string | undefined)[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const status = statusOf(retries.push(request.headers["x-retry-count"]?.toString()));
    if (status === 200) events.push(...JSON.parse(text).batch.map(({ event }: { event: string }) => event));
    response.writeHead(status, { "Content-Type": "application/json" }).end('{"success":true}');
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, events, retries },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
