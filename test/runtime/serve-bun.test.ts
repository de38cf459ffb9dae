import assert from "node:assert/strict";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Handle } from "../../src/model/ports.ts";
import { type RenewOptions, startTlsOnBun } from "../../src/runtime/serve-bun.ts";
import { createSteering } from "../../src/runtime/steering.ts";
import { closed } from "./receiver.ts";
import { ask, askOnce, GET, makeTls, openPlain, openTls } from "./tls.ts";

const LOOPBACK = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const GOOD = makeTls("good");
const RENEWED = makeTls("self-signed");
const GOOD_ISSUER = "Fairlead test CA";
const RENEWED_ISSUER = "localhost";

function start(options: RenewOptions, handle: Handle = () => new Response("done")) {
  const failed = () => new Response("failed", { status: 500 });
  const server = startTlsOnBun(LOOPBACK, { handle, failed, tls: GOOD }, options);
  const address = `https://127.0.0.1:${server.port}`;
  return { ...server, address, [Symbol.asyncDispose]: server.finish };
}

// Deno's server takes another certificate by itself.
if (typeof Bun !== "undefined") {
  describe("a server that was replaced", () => {
    it("ends each connection with the next answer", async () => {
      for (const handle of [() => new Response("done"), () => Promise.reject(new Error())]) {
        await using server = start({}, handle);
        const socket = await openTls(server);
        server.renew(RENEWED);
        socket.write(GET);
        assert.match(await text(socket), /\r\nconnection: close\r\n[\s\S]*(done|failed)$/i);
      }
    });

    it("leaves nothing open after a while, but for running requests", async () => {
      const gate = Promise.withResolvers<void>();
      const arrived = Promise.withResolvers<void>();
      await using server = start({ leaveAfter: 1 }, async ({ method }) => {
        if (method === "PUT") {
          arrived.resolve();
          await gate.promise;
        }
        return new Response("done");
      });
      const idle = await openTls(server);
      await ask(idle, { end: "done" });
      const running = await openTls(server);
      const answer = ask(running, { request: GET.replace("GET", "PUT"), end: "done" });
      await arrived.promise;
      server.renew(RENEWED);
      idle.resume();
      await closed(idle);
      gate.resolve();
      await answer;
      running.destroy();
      assert.equal(await askOnce(server, "done"), RENEWED_ISSUER);
    });

    it("has to go earlier when there are too many of them, the oldest first", async () => {
      await using server = start({ mostLeaving: 1 });
      const first = await openTls(server);
      await ask(first, { end: "done" });
      server.renew(RENEWED);
      const second = await openTls(server);
      server.renew(GOOD);
      first.resume();
      await closed(first);
      await ask(second, { end: "done" });
      second.destroy();
    });

    it("is finished at once where new connections cannot be led past it", async () => {
      await using server = start({ steering: createSteering(null) });
      const idle = await openTls(server);
      await ask(idle, { end: "done" });
      server.renew(RENEWED);
      idle.resume();
      await closed(idle);
      for (let connection = 0; connection < 20; connection++) {
        assert.equal(await askOnce(server, "done"), RENEWED_ISSUER);
      }
    });
  });

  describe("a port of several servers", () => {
    it("leads new connections to the newest, while others come and go", async () => {
      await using server = start({ mostLeaving: 2 });
      for (let renewal = 0; renewal < 8; renewal++) {
        server.renew(renewal % 2 === 0 ? RENEWED : GOOD);
        const issuers = await Promise.all(Array.from({ length: 16 }, () => askOnce(server, "done")));
        assert.deepEqual([...new Set(issuers)], [renewal % 2 === 0 ? RENEWED_ISSUER : GOOD_ISSUER]);
      }
    });

    it("is free when all of them have finished", async () => {
      const server = start({});
      for (let renewal = 0; renewal < 3; renewal++) server.renew(RENEWED);
      await server.finish();
      await assert.rejects(openPlain(server), { code: "ECONNREFUSED" });
    });
  });
}
