import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type NetConnectOpts, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Handle, Listener } from "../../src/model/ports.ts";
import { createServe } from "../../src/runtime/serve.ts";
import { closed } from "./receiver.ts";

const LOOPBACK = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const serve = createServe();

async function start(handle: Handle): Promise<Listener & AsyncDisposable> {
  return disposable(await serve(LOOPBACK, handle));
}

function disposable(listener: Listener): Listener & AsyncDisposable {
  return { ...listener, [Symbol.asyncDispose]: () => listener.stop() };
}

async function open({ address }: Listener, sent = ""): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(sent);
  return socket;
}

/** Sends these bytes, and answers all that comes back until the server hangs up. */
async function exchange(place: NetConnectOpts, bytes: string): Promise<string> {
  const socket = connect(place);
  socket.write(bytes);
  return text(socket);
}

const GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

describe("a listener", () => {
  it("answers requests, and knows who asks", async () => {
    await using listener = await start(async (request, peer) => {
      // Looked up late, when the body has been read.
      const body = await request.text();
      return new Response(`${request.method} ${body} from ${peer.address}`, { status: 201 });
    });
    const response = await fetch(listener.address, { method: "POST", body: "hello" });
    assert.equal(response.status, 201);
    assert.equal(await response.text(), "POST hello from 127.0.0.1");
  });

  it("says which port the system gave it", async () => {
    await using listener = await start(() => new Response());
    assert.match(listener.address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  });

  it("writes IPv6 addresses in brackets, and IPv4 peers as IPv4", async () => {
    const answer: Handle = (_, peer) => new Response(peer.address);
    const all = await serve({ kind: "tcp", host: "::", port: 0 }, answer).catch((error: Error) => error);
    // A machine without IPv6 has to say so, in brackets too.
    if (all instanceof Error) return assert.match(all.message, /^cannot listen on http:\/\/\[::\]:0: ./);
    await using listener = disposable(all);
    assert.match(listener.address, /^http:\/\/\[::\]:\d+$/);
    const { port } = new URL(listener.address);
    assert.equal(await (await fetch(`http://127.0.0.1:${port}`)).text(), "127.0.0.1");
    assert.equal(await (await fetch(`http://[::1]:${port}`)).text(), "::1");
  });

  it("leaves the size of a body to whoever reads it", async () => {
    await using listener = await start(async (request) => new Response(`${(await request.arrayBuffer()).byteLength}`));
    // More than the 128 MB that Bun takes when nothing else is said.
    const response = await fetch(listener.address, { method: "POST", body: new Uint8Array(140_000_000) });
    assert.equal(await response.text(), "140000000");
  });

  it("gives a handler a whole URL, also where the client names no host, or none that can be read", async () => {
    await using listener = await start(async (request, peer) => {
      const { pathname } = new URL(request.url);
      const { headers, method } = request;
      return new Response(`${method} ${pathname} ${headers.get("x-a")} ${await request.text()} ${peer.address}`);
    });
    const rest = "X-A: b\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    for (const head of ["POST /v1/track HTTP/1.0\r\n", "POST /v1/track HTTP/1.1\r\nHost: \r\n"]) {
      const answer = await text(await open(listener, head + rest));
      assert.match(answer, /^HTTP\/1\.[01] 200 /);
      assert.match(answer, /\r\n\r\nPOST \/v1\/track b hello 127\.0\.0\.1$/);
    }
  });

  it("answers 400 to a second Host header before any handler sees the request, over TCP and a Unix socket", async () => {
    const folder = await mkdtemp(join(tmpdir(), "fairlead-serve-"));
    const path = join(folder, "door.sock");
    const asked: string[] = [];
    const handle: Handle = (request) => {
      asked.push(request.headers.get("host") ?? "");
      return new Response("served");
    };
    try {
      await using listener = await start(handle);
      await using _overSocket = disposable(await serve({ kind: "unix", path }, handle));
      const places: readonly NetConnectOpts[] = [{ port: Number(new URL(listener.address).port) }, { path }];
      const second = ["evil.example.com", "localhost", ""];
      for (const place of places) {
        for (const host of second) {
          const hosts = `Host: localhost\r\nHost: ${host}\r\n`;
          assert.match(await exchange(place, `GET / HTTP/1.1\r\n${hosts}\r\n`), /^HTTP\/1\.1 400 /, hosts);
        }
        const one = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        assert.match(await exchange(place, one), /^HTTP\/1\.1 200 .*served/s);
      }
      assert.deepEqual(asked, ["localhost", "localhost"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  for (const length of ["Content-Length: 9", "Transfer-Encoding: chunked"]) {
    it(`lets go of a body that is still coming when it has been answered: ${length}`, async () => {
      const read = Promise.withResolvers<string>();
      await using listener = await start((request) => {
        request.arrayBuffer().then(
          () => read.resolve("complete"),
          () => read.resolve("broken off"),
        );
        return new Response("too slow", { status: 408 });
      });
      const socket = await open(listener, `POST / HTTP/1.1\r\nHost: localhost\r\n${length}\r\n\r\n`);
      await once(socket, "data");
      // Deno goes on reading until the client has gone.
      if (typeof Bun === "undefined") socket.destroy();
      assert.equal(await read.promise, "broken off");
      socket.destroy();
    });
  }

  it("answers 500 without details when a handler throws, and reports what it was", async () => {
    for (const handle of [() => Promise.reject(new Error("key 5ec4e7")), throwing]) {
      const reported: unknown[] = [];
      const report = { unexpected: (doing: string, error: unknown) => void reported.push([doing, String(error)]) };
      await using listener = disposable(await createServe({ report })(LOOPBACK, handle));
      const response = await fetch(listener.address);
      assert.equal(response.status, 500);
      const message = "the server could not handle this request; its log says why";
      assert.deepEqual(await response.json(), { success: false, code: "internal", message, error: message });
      assert.deepEqual(reported, [["answer a request", "Error: key 5ec4e7"]]);
    }
  });
});

function throwing(): never {
  throw new Error("key 5ec4e7");
}

describe("an address that cannot be had", () => {
  it("shares its port with another one if both allow that, and each answers", async () => {
    await using one = disposable(await serve({ ...LOOPBACK, shared: true }, () => new Response("one")));
    const place = { ...LOOPBACK, port: Number(new URL(one.address).port) };
    await using other = disposable(await serve({ ...place, shared: true }, () => new Response("other")));
    assert.equal(other.address, one.address);
    const ending = GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    const bodies = new Set<string>();
    for (let nth = 0; nth < 100 && bodies.size < 2; nth++) {
      bodies.add((await exchange(place, ending)).split("\r\n\r\n")[1] ?? "");
    }
    assert.deepEqual([...bodies].sort(), ["one", "other"]);
    await assert.rejects(
      serve(place, () => new Response()),
      /the port is in use/,
    );
  });

  it("says that the port is in use, also by another listener like it", async () => {
    await using listener = await start(() => new Response());
    const port = Number(new URL(listener.address).port);
    await assert.rejects(
      serve({ ...LOOPBACK, port }, () => new Response()),
      {
        message: `cannot listen on http://127.0.0.1:${port}: the port is in use; stop the program that has it (\`ss -ltnp\` names it) or choose another port`,
      },
    );
  });

  it("says that the machine does not have it", async () => {
    await assert.rejects(
      serve({ kind: "tcp", host: "192.0.2.1", port: 8080 }, () => new Response()),
      {
        message:
          "cannot listen on http://192.0.2.1:8080: this machine does not have that address; list its addresses with `ip address` for those it has",
      },
    );
  });
});

describe("stopping a listener", () => {
  it("refuses new connections, and lets running requests finish", async () => {
    const running = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const listener = await start(async () => {
      running.resolve();
      await gate.promise;
      return new Response("done");
    });
    const response = fetch(listener.address);
    await running.promise;
    const stopped = listener.stop();
    await assert.rejects(open(listener), { code: "ECONNREFUSED" });
    gate.resolve();
    assert.equal(await (await response).text(), "done");
    await stopped;
  });

  it("closes connections on which nothing runs", async () => {
    const listener = await start(() => new Response("done"));
    const idle = await open(listener, GET);
    await once(idle, "data");
    await listener.stop();
    idle.resume();
    await closed(idle);
  });

  it("cuts off requests that do not end within the grace", async () => {
    const running = Promise.withResolvers<void>();
    const listener = await createServe({ grace: 20 })(LOOPBACK, () => {
      running.resolve();
      return new Promise<Response>(() => {});
    });
    const hung = await open(listener, GET);
    await running.promise;
    await listener.stop();
    // On Deno the connection goes with the process.
    if (typeof Bun === "undefined") hung.destroy();
    else assert.equal(await text(hung), "");
  });

  it("may be asked for twice", async () => {
    const listener = await start(() => new Response());
    await Promise.all([listener.stop(), listener.stop()]);
    await listener.stop();
  });

  it("frees the port", async () => {
    const listener = await start(() => new Response("first"));
    const socket = await open(listener, GET);
    await once(socket, "data");
    await listener.stop();
    const port = Number(new URL(listener.address).port);
    await using again = disposable(await serve({ ...LOOPBACK, port }, () => new Response("second")));
    assert.equal(await (await fetch(again.address)).text(), "second");
    socket.destroy();
  });
});
