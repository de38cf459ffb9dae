import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createFetch } from "../../../src/cli/send/sender.ts";
import type { FetchInit } from "../../../src/client/platform.ts";

const INIT: FetchInit = {
  ...{ method: "POST", headers: { Authorization: "Basic azo=" }, body: "hé", redirect: "manual" },
  signal: new AbortController().signal,
};

/** Answers with what came to it: at a free port, or at a socket. */
async function startEcho(path?: string) {
  const server = createServer(async (request, response) => {
    const body = (await Array.fromAsync(request as AsyncIterable<Uint8Array>)).map(String).join("");
    response.writeHead(503, { "Retry-After": "7" });
    response.end(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
  });
  await new Promise<void>((resolve) => (path ? server.listen(path, resolve) : server.listen(0, "127.0.0.1", resolve)));
  return {
    port: path ? 0 : (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

describe("the fetch of fairlead send", () => {
  it("goes over TCP, below the path of the address", async () => {
    await using echo = await startEcho();
    const base = `http://127.0.0.1:${echo.port}/events`;
    const { status, headers, text } = await createFetch(base, 5_000)(`${base}/v1/batch`, INIT);
    assert.deepEqual([status, headers.get("retry-after")], [503, "7"]);
    assert.equal(await text(), "POST /events/v1/batch Basic azo= hé");
  });

  it("goes over a Unix socket, whatever host the library has been told", async () => {
    const folder = mkdtempSync(join(tmpdir(), "fairlead-fetch-"));
    const path = join(folder, "i.sock");
    {
      await using _echo = await startEcho(path);
      const { text } = await createFetch(`unix:${path}`, 5_000)("http://localhost/v1/batch", INIT);
      assert.equal(await text(), "POST /v1/batch Basic azo= hé");
    }
    rmSync(folder, { recursive: true });
  });

  it("rejects with the reason, and the system's code", async () => {
    const asked = createFetch("unix:/none/i.sock", 5_000)("http://localhost/v1/batch", INIT);
    await assert.rejects(asked, { name: "UnreachableError", code: "ENOENT", message: "there is no such socket" });
  });
});
