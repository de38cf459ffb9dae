import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { startPlace } from "./receiver.ts";
import { createWaiting, PATIENT } from "./waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "./world.ts";

function calls(name: string, count: number): readonly object[] {
  return Array.from({ length: count }, (_, nth) => {
    return { type: "track", userId: "u1", event: "E", messageId: `${name}${nth}` };
  });
}

async function run(w: World, daemon: Daemon, ...args: readonly string[]): Promise<string> {
  const process = w.run([...args, "--admin", daemon.admin]);
  assert.equal((await process.exit).code, 0, process.err.join("\n"));
  return process.out.join("\n");
}

/** A receiver that hangs up on each request, until it is told to take them. */
async function startHangUp() {
  const waiting = createWaiting();
  const open = new Set<Socket>();
  let [hungUp, taken, isMended] = [0, 0, false];
  const server = createServer((socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
    socket.on("error", () => {});
    socket.once("data", () => {
      if (isMended) {
        taken += 1;
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      } else {
        hungUp += 1;
        socket.destroy();
      }
      waiting.look();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    mend: () => {
      isMended = true;
    },
    hungUp: (count: number) =>
      waiting.until(
        () => hungUp >= count,
        () => `${hungUp} of ${count} were hung up on`,
      ),
    taken: (count: number) =>
      waiting.until(
        () => taken >= count,
        () => `${taken} of ${count} were taken`,
      ),
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

describe("a receiver that refuses some events", () => {
  it(
    "gets an event that comes behind forty of them, and is said to refuse in the log and the status",
    PATIENT,
    async () => {
      await using place = await startPlace(({ messageId }) => (messageId.startsWith("bad") ? 500 : 200));
      const { receiver, w, daemon } = place;
      await daemon.call("/v1/batch", { batch: calls("bad", 40) });
      await daemon.process.line(/lane\.slowed destination=crm .*reason=500/);
      assert.match(await run(w, daemon, "status"), /crm: \S+\/hooks refuses everything \(500\), 40 deliveries wait/);
      // Nothing else has happened: the lane is as it is, and the next probe of a closed one would be long in coming.
      await daemon.call("/v1/batch", { batch: calls("good", 1) });
      await receiver.all(["good0"]);
      const before = receiver.hooks.findIndex(({ messageId }) => messageId === "good0");
      assert.ok(before < 100, `${before} requests came before it`);
      await daemon.process.line(/lane\.opened destination=crm/);
    },
  );
});

describe("a receiver that does not answer", () => {
  it(
    "is said to be down, with its last answer and the next try, and is tried at once by command",
    PATIENT,
    async () => {
      await using receiver = await startHangUp();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url }));
      const daemon = await w.serve();
      await daemon.call("/v1/batch", { batch: calls("m", 30) });
      await daemon.process.line(/lane\.closed destination=crm /);
      // The probes come later and later: after the thirteenth failure the next one is eight seconds away.
      await receiver.hungUp(13);
      assert.match(
        await run(w, daemon, "status"),
        /^ {2}! .*crm: \S+\/hooks does not answer \(.+\), 30 deliveries wait/m,
      );
      assert.match(
        await run(w, daemon, "explain", "m7"),
        /^crm: \S+ does not answer for \S+, last answer: .+, next try in /m,
      );
      assert.match(await run(w, daemon, "deliveries"), /^crm: \S+ does not answer for .*, next try in /m);
      const metrics = await (await fetch(`${daemon.admin}/metrics`)).text();
      assert.match(metrics, /^fairlead_webhook_up\{destination="crm",webhook="1"\} 0$/m);
      assert.match(metrics, /^fairlead_webhook_next_try_seconds\{destination="crm",webhook="1"\} [1-9]/m);
      receiver.mend();
      assert.match(await run(w, daemon, "retry", "crm"), /^crm is retried now\. 30 deliveries are waiting for crm\.$/);
      await receiver.taken(30);
      assert.match(await run(w, daemon, "status"), /^crm +working /m);
    },
  );
});
