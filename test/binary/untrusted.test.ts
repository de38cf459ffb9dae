import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { PATIENT } from "./waiting.ts";
import { makeConfig, makeWorld } from "./world.ts";

function fixture(name: string): string {
  return readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url), "utf8");
}

describe("an HTTPS receiver with a self-signed certificate (SPEC.md 7)", () => {
  it("gets no request, and the operator is told", PATIENT, () => isRefused({}));

  it("gets none even if the environment says not to look", PATIENT, () => {
    return isRefused({ NODE_TLS_REJECT_UNAUTHORIZED: "0" });
  });

  async function isRefused(env: Readonly<Record<string, string>>): Promise<void> {
    let requests = 0;
    const receiver = Bun.serve({
      port: 0,
      tls: { cert: fixture("self-signed.crt"), key: fixture("server.key") },
      fetch() {
        requests += 1;
        return new Response("");
      },
    });
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: `https://localhost:${receiver.port}/hooks`, level: "debug" }));
    const daemon = await w.serve({ env });
    await daemon.call("/v1/track", { userId: "u1", event: "Secret" });
    await daemon.process.lines(/delivery\.retrying/, 2);
    await receiver.stop(true);
    const line = await daemon.process.line(/attempt\.failed/);
    assert.match(
      line,
      /level=error .*outcome=untrusted .*the certificate of localhost is self-signed: .*set ca: to its file/,
    );
    assert.equal(requests, 0);
    assert.partialDeepStrictEqual(await w.rows(), [{ state: "waiting" }]);
  }
});
