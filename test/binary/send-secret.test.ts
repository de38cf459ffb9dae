import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { PATIENT } from "./waiting.ts";
import { makeWorld } from "./world.ts";

describe("the write key of fairlead send", () => {
  it("is seen neither in the list of processes nor in what is printed", PATIENT, async () => {
    await using w = await makeWorld();
    const key = `key-${crypto.randomUUID()}`;
    await w.write("key", key);
    // It takes a call and never answers, so that the command can be looked at.
    const server = createServer().listen(0, "127.0.0.1");
    const asked = once(server, "connection");
    const url = `http://127.0.0.1:${await portOf(server)}`;
    const process = w.run(["send", "track", "--url", url, "--write-key-file", "key"]);
    const [socket] = await asked;
    const [request] = await once(socket, "data");
    assert.match(String(request), new RegExp(`^Authorization: Basic ${btoa(`${key}:`)}\\r$`, "m"));
    const seen = commandLines();
    assert.ok(seen.some((line) => line.includes(url)));
    assert.deepEqual(
      seen.filter((line) => line.includes(key)),
      [],
    );
    socket.destroy();
    assert.equal((await process.exit).code, 1);
    assert.match(process.err.join(), /cannot reach http:\/\/127\.0\.0\.1:\d+: connection closed before an answer/);
    assert.ok(![...process.out, ...process.err].join().includes(key));
    server.close();
  });
});

async function portOf(server: ReturnType<typeof createServer>): Promise<number> {
  if (!server.listening) await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Those of all processes, as everybody can read them. */
function commandLines(): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}
