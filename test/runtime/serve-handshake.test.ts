import assert from "node:assert/strict";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { closed } from "./receiver.ts";
import { ask, askOnce, fixture, GET, openPlain, openTls, startScript } from "./tls-client.ts";

/** An HTTPS listener in a process of its own, whose error output a test can read. */
async function startServing() {
  const child = startScript("serve.ts");
  const errors = text(child.stderr);
  const [address] = (await once(child.stdout, "data")) as [Buffer];
  return {
    address: address.toString().trim(),
    /** Resolves with all that it wrote to its error output. */
    async stop(): Promise<string> {
      child.stdin.end();
      return await errors;
    },
  };
}

describe("a handshake that fails", () => {
  it("disturbs nobody, and is not reported", async () => {
    const server = await startServing();
    const other = await openTls(server);
    await ask(other, { end: "done" });

    // A client that trusts another authority; only its side tells.
    await assert.rejects(openTls(server, { ca: fixture("self-signed.crt") }));
    for (const bytes of [GET, "\x16\x03\x01\x00\x05hello", "\0".repeat(2000)]) {
      const socket = await openPlain(server);
      socket.resume();
      socket.write(bytes);
      await closed(socket);
    }
    // One that says nothing, one that stops in the middle, and one that goes away there.
    const silent = [await openPlain(server), await openPlain(server), await openPlain(server)];
    for (const socket of silent.slice(1)) socket.write("\x16\x03\x01");
    silent.at(-1)?.destroy();

    await ask(other, { end: "done" });
    await askOnce(server, "done");
    for (const socket of [other, ...silent]) socket.destroy();
    assert.equal(await server.stop(), "");
  });
});
