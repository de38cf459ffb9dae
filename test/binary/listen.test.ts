import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { describe, it } from "node:test";
import type { Process } from "./process.ts";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld, SECRET, type World } from "./world.ts";

const BODY = '{"version":1,"type":"track","event":"Signed Up"}';

type Listening = { readonly process: Process; readonly url: string };

async function startListen(w: World, ...options: readonly string[]): Promise<Listening> {
  const process = w.run(["listen", "--listen", "127.0.0.1:0", ...options]);
  const line = await process.line(/^listening at /);
  return { process, url: `${/http:[^,]+/.exec(line)?.[0]}/hooks` };
}

async function post(url: string, secret: string | null = SECRET): Promise<number> {
  const signature = secret === null ? null : createHmac("sha1", secret).update(BODY).digest("hex");
  const headers = signature === null ? {} : { "X-Signature": signature };
  const answer = await fetch(url, { method: "POST", body: BODY, headers });
  return answer.status;
}

describe("fairlead listen", () => {
  it("prints what it gets with its signature checked, and ends on SIGTERM with 0", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("secret", `${SECRET}\n`);
    const { process, url } = await startListen(w, "--secret-file", "secret");
    assert.equal(await post(url), 200);
    assert.match(await process.line(/^#1/), /^#1 [\d:.]{12} track at \/hooks, signature ok, answered 200$/);
    assert.equal(process.out[1], `   ${BODY}`);
    process.kill("SIGTERM");
    assert.deepEqual(await process.exit, { code: 0, signal: null });
  });

  it("calls a signature by another secret wrong, and a missing one absent", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("secret", SECRET);
    const { process, url } = await startListen(w, "--secret-file", "secret");
    await post(url, "another-secret");
    assert.match(await process.line(/^#1/), /signature wrong, answered 200/);
    await post(url, null);
    assert.match(await process.line(/^#2/), /signature absent, answered 200/);
  });

  it("takes the secret from the environment, so that no list of processes shows it", PATIENT, async () => {
    await using w = await makeWorld();
    const process = w.run(["listen", "--listen", "127.0.0.1:0"], { env: { FAIRLEAD_SECRET: SECRET } });
    const line = await process.line(/^listening at .*, signatures are checked$/);
    await post(/http:[^,]+/.exec(line)?.[0] ?? "");
    await process.line(/signature ok/);
  });

  it("leaves signatures unchecked without a secret, and says so", PATIENT, async () => {
    await using w = await makeWorld();
    const { process, url } = await startListen(w);
    assert.match(await process.line(/^listening/), /signatures are not checked$/);
    await post(url);
    assert.match(await process.line(/^#1/), /signature unchecked/);
  });

  it("exits 1 if the secret cannot be read, and says why", PATIENT, async () => {
    await using w = await makeWorld();
    const process = w.run(["listen", "--secret-file", "secret"]);
    assert.equal((await process.exit).code, 1);
    assert.deepEqual(process.err, ["fairlead: cannot read --secret-file secret: no such file"]);
  });

  it("exits 2 on a status that is none", PATIENT, async () => {
    await using w = await makeWorld();
    const process = w.run(["listen", "--status", "99"]);
    assert.equal((await process.exit).code, 2);
    assert.match(process.err.join("\n"), /It must be a status from 200 to 599/);
  });

  it("answers --status to each request", PATIENT, async () => {
    await using w = await makeWorld();
    const { url } = await startListen(w, "--status", "503");
    assert.deepEqual([await post(url), await post(url)], [503, 503]);
  });

  it("answers only after --delay", PATIENT, async () => {
    await using w = await makeWorld();
    const { url } = await startListen(w, "--delay", "300ms");
    const startedAt = performance.now();
    assert.equal(await post(url), 200);
    assert.ok(performance.now() - startedAt >= 295);
  });

  it("fails the first requests with --fail-first, and the daemon delivers after as many retries", PATIENT, async () => {
    await using w = await makeWorld();
    await w.write("secret", SECRET);
    const { process, url } = await startListen(w, "--secret-file", "secret", "--fail-first", "2", "--json");
    await w.write("config.yaml", makeConfig({ url, level: "debug" }));
    const daemon = await w.serve();
    await daemon.call("/v1/track", { userId: "u1", event: "Stubborn" });

    const received = (await process.lines(/^{/, 3)).map((line) => JSON.parse(line));
    assert.deepEqual(
      received.map(({ status }) => status),
      [503, 503, 200],
    );
    assert.deepEqual(new Set(received.map(({ signature }) => signature)), new Set(["ok"]));
    assert.equal(new Set(received.map(({ body }) => body)).size, 1);
    await daemon.process.line(/delivery\.delivered/);
    assert.partialDeepStrictEqual(await w.rows(), [{ state: "delivered", attempts: 3 }]);
  });
});
