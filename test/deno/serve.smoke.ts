// The same sources under Deno: run by `make test` with `deno test -A test/deno/serve.smoke.ts`.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { verify } from "../../src/webhook/signature.ts";
import { type Process, start } from "../binary/process.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const SECRET = "smoke-secret";

type Hook = { readonly signature: string; readonly body: string };

describe("deno run -A src/main.ts serve", () => {
  it("accepts a call, signs it, delivers it, tries again, serves the dashboard, and stops", {
    timeout: 120_000,
  }, async () => {
    await using receiver = await startReceiver((nth) => (nth === 1 ? 503 : 200));
    await using daemon = await startDaemon(receiver.url);
    const answer = await daemon.call({ userId: "u1", event: "Signed Up", messageId: "m1" });
    assert.deepEqual(answer, { success: true, accepted: 1, duplicate: 0 });
    const [first, second] = await receiver.hooks(2);
    assert.ok(first && second);
    assert.ok(verify(first.body, first.signature, SECRET));
    assert.deepEqual(second, first);
    await assertDashboard(daemon.admin);
    // Not through the child: Deno then reports that the signal has ended it, however it ended.
    process.kill(daemon.process.pid, "SIGTERM");
    assert.deepEqual(await daemon.process.exit, { code: 0, signal: null });
  });
});

/** The page and its files, which `make build` has made. */
async function assertDashboard(admin: string): Promise<void> {
  for (const [path, type, part] of [
    ["/", "text/html", '<div id="page">'],
    ["/deliveries/42-crm", "text/html", '<div id="page">'],
    ["/dashboard/page.js", "text/javascript", "sessionStorage"],
    ["/dashboard/page.css", "text/css", "prefers-color-scheme"],
  ] as const) {
    const response = await fetch(admin + path);
    assert.equal(response.status, 200, path);
    assert.ok(response.headers.get("content-type")?.startsWith(type), path);
    assert.match(response.headers.get("content-security-policy") ?? "", /require-trusted-types-for 'script'/);
    assert.ok((await response.text()).includes(part), path);
  }
}

type Receiver = AsyncDisposable & { readonly url: string; hooks(count: number): Promise<readonly Hook[]> };

async function startReceiver(statusOf: (nth: number) => number): Promise<Receiver> {
  const got: Hook[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer(async (request, response) => {
    got.push({ signature: String(request.headers["x-signature"]), body: await readBody(request) });
    response.writeHead(statusOf(got.length)).end();
    arrived.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async hooks(count) {
      for (; got.length < count; arrived = Promise.withResolvers<void>()) await arrived.promise;
      return got;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const chunk of request) body += chunk;
  return body;
}

type Daemon = AsyncDisposable & {
  readonly process: Process;
  readonly admin: string;
  call(body: object): Promise<unknown>;
};

async function startDaemon(url: string): Promise<Daemon> {
  const folder = await mkdtemp(join(tmpdir(), "fairlead-deno-"));
  const config = {
    ...{ ingest: { listen: "127.0.0.1:0" }, admin: { listen: "127.0.0.1:0" } },
    sources: { website: { writeKey: "key" } },
    destinations: { crm: { webhooks: [{ url }], sharedSecret: SECRET } },
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(config), { mode: 0o600 });
  // Under Deno, the program that runs this test.
  const daemon = start(process.execPath, ["run", "-A", MAIN, "serve"], { folder });
  const ingest = (await daemon.line(/^ingest /)).split(" ")[1];
  const admin = (await daemon.line(/^admin /)).split(/ +/)[1] ?? "";
  return {
    ...{ process: daemon, admin },
    async call(body) {
      const headers = { Authorization: `Basic ${btoa("key:")}` };
      const init = { method: "POST", body: JSON.stringify(body), headers };
      return (await fetch(`${ingest}/v1/track`, init)).json();
    },
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
