import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";
import { describe, it } from "node:test";
import type { Tls } from "../../src/model/config.ts";
import type { Handle, Listener } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import { createServe } from "../../src/runtime/serve.ts";
import { closed } from "./receiver.ts";
import { ask, askOnce, fixture, GET, makeTls, openPlain, openTls, startScript } from "./tls.ts";

const LOOPBACK = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;
const GOOD = makeTls("good");
const RENEWED = makeTls("self-signed");
const GOOD_ISSUER = "Fairlead test CA";
const RENEWED_ISSUER = "localhost";

type Started = Listener & AsyncDisposable;

async function start(handle: Handle, { grace, tls = GOOD }: { grace?: number; tls?: Tls } = {}): Promise<Started> {
  const listener = await createServe(grace === undefined ? {} : { grace })(LOOPBACK, handle, tls);
  return { ...listener, [Symbol.asyncDispose]: () => listener.stop() };
}

function done(): Response {
  return new Response("done");
}

/** A handler whose answers wait for `open`. */
function createGate() {
  const arrived = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const handle: Handle = async () => {
    arrived.resolve();
    await gate.promise;
    return new Response("done");
  };
  return { handle, arrived: arrived.promise, open: gate.resolve };
}

describe("an HTTPS listener", () => {
  it("answers clients that trust its certificate, and knows who asks", async () => {
    await using listener = await start(async (request, peer) => {
      const body = await request.text();
      const { protocol, pathname } = new URL(request.url);
      return new Response(`${request.method} ${protocol} ${pathname} ${body} from ${peer.address}.`, { status: 201 });
    });
    assert.match(listener.address, /^https:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const socket = await openTls(listener, { ca: fixture("ca.crt") });
    const request = "POST /v1/track?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello";
    const answer = await ask(socket, { request, end: "from 127.0.0.1." });
    assert.match(answer, /^HTTP\/1\.1 201 /);
    assert.match(answer, /POST https: \/v1\/track hello from/);
    socket.destroy();
  });

  it("answers 400 to a second Host header, and hands the request to no handler", async () => {
    await using listener = await start(() => assert.fail("the handler was asked"));
    const socket = await openTls(listener, { ca: fixture("ca.crt") });
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\n\r\n");
    assert.match(await text(socket), /^HTTP\/1\.1 400 /);
  });

  it("gives back status, headers and body as they are", async () => {
    await using listener = await start((request) => {
      const headers = new Headers({ "Content-Type": "text/plain", "X-Got": request.headers.get("x-sent") ?? "" });
      headers.append("Set-Cookie", "a=1");
      headers.append("Set-Cookie", "b=2");
      return new Response(request.method === "HEAD" ? null : "body", { status: 202, headers });
    });
    const socket = await openTls(listener);
    const request = "GET / HTTP/1.1\r\nHost: localhost\r\nX-Sent: sent\r\nConnection: close\r\n\r\n";
    socket.write(request);
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 202 /);
    for (const line of ["content-type: text/plain", "x-got: sent", "set-cookie: a=1", "set-cookie: b=2"]) {
      assert.match(answer, new RegExp(`\\r\\n${line}\\r\\n`, "i"));
    }
  });

  it("answers several requests on one connection, also such as have no body to answer", async () => {
    await using listener = await start(
      ({ method }) => new Response(method === "POST" ? "done" : null, { status: 200 }),
    );
    const socket = await openTls(listener);
    for (const method of ["GET", "HEAD", "DELETE", "GET"]) {
      const answer = await ask(socket, { request: GET.replace("GET", method), end: "\r\n\r\n" });
      assert.match(answer, /^HTTP\/1\.1 200 /);
    }
    await ask(socket, { request: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", end: "done" });
    socket.destroy();
  });

  it("takes a large body", async () => {
    await using listener = await start(async (request) => new Response(`${(await request.arrayBuffer()).byteLength}.`));
    const socket = await openTls(listener);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 20000000\r\n\r\n");
    await ask(socket, { request: "x".repeat(20_000_000), end: "20000000." });
    socket.destroy();
  });

  it("gives a handler a whole URL, also where the client names no host, or none that can be read", async () => {
    await using listener = await start((request) => new Response(new URL(request.url).pathname));
    for (const head of ["GET /v1/pixel HTTP/1.0\r\n", "GET /v1/pixel HTTP/1.1\r\nHost: \r\nConnection: close\r\n"]) {
      const socket = await openTls(listener);
      socket.write(`${head}\r\n`);
      assert.match(await text(socket), /^HTTP\/1\.[01] 200 [\s\S]*\/v1\/pixel/);
    }
  });

  it("survives requests that no handler can be given", async () => {
    await using listener = await start(done);
    for (const line of ["TRACE / HTTP/1.1", "GET http://[ HTTP/1.1", "GET * HTTP/1.1", "CONNECT a:1 HTTP/1.1"]) {
      const socket = await openTls(listener);
      socket.write(`${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      socket.resume();
      await closed(socket);
    }
    assert.equal(await askOnce(listener, "done"), GOOD_ISSUER);
  });

  it("breaks off the reading of a body whose client has gone", async () => {
    const read = Promise.withResolvers<string>();
    const arrived = Promise.withResolvers<void>();
    await using listener = await start(async (request) => {
      arrived.resolve();
      await request.arrayBuffer().then(
        () => read.resolve("complete"),
        () => read.resolve("broken off"),
      );
      return new Response();
    });
    const socket = await openTls(listener);
    socket.write("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n1234");
    await arrived.promise;
    socket.destroy();
    assert.equal(await read.promise, "broken off");
  });

  it("answers 500 without details when a handler throws, and reports what it was", async () => {
    const reported: unknown[] = [];
    const report = { unexpected: (doing: string, error: unknown) => void reported.push([doing, String(error)]) };
    const throwing: Handle = () => Promise.reject(new Error("key 5ec4e7"));
    const listener = await createServe({ report })(LOOPBACK, throwing, GOOD);
    const socket = await openTls(listener);
    socket.write(GET.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"));
    const answer = await text(socket);
    assert.match(answer, /^HTTP\/1\.1 500 [\s\S]*"code":"internal"/);
    assert.doesNotMatch(answer, /5ec4e7/);
    assert.deepEqual(reported, [["answer a request", "Error: key 5ec4e7"]]);
    await listener.stop();
  });

  it("speaks TLS 1.2, and nothing older", async () => {
    await using listener = await start(done);
    const HANDSHAKE = 0x16;
    const ALERT = 0x15;
    for (const [minor, answer] of [
      [3, HANDSHAKE],
      [2, ALERT],
      [1, ALERT],
    ] as const) {
      const socket = await openPlain(listener);
      socket.write(clientHello(minor));
      const [chunk] = (await once(socket, "data")) as [Buffer];
      assert.equal(chunk[0], answer, `TLS 1.${minor - 1}`);
      // 70: protocol_version.
      if (answer === ALERT) assert.equal(chunk[6], 70);
      socket.destroy();
    }
  });
});

/** The first message of a client that speaks TLS 1.(minor − 1) at most. */
function clientHello(minor: number): Buffer {
  const ciphers = [0x00, 0x04, 0xc0, 0x2b, 0xc0, 0x09];
  const extensions = [
    ...[0x00, 0x0a, 0x00, 0x04, 0x00, 0x02, 0x00, 0x17],
    ...[0x00, 0x0b, 0x00, 0x02, 0x01, 0x00],
    ...[0x00, 0x0d, 0x00, 0x04, 0x00, 0x02, 0x04, 0x03],
  ];
  const random = new Array<number>(32).fill(7);
  const hello = [0x03, minor, ...random, 0x00, ...ciphers, 0x01, 0x00, 0x00, extensions.length, ...extensions];
  const handshake = [0x01, 0x00, 0x00, hello.length, ...hello];
  return Buffer.from([0x16, 0x03, 0x01, 0x00, handshake.length, ...handshake]);
}

describe("an HTTPS address that cannot be had", () => {
  it("says that the port is in use, also by another HTTPS listener", async () => {
    await using listener = await start(done);
    const port = Number(new URL(listener.address).port);
    const message = `cannot listen on https://127.0.0.1:${port}: the port is in use; stop the program that has it (\`ss -ltnp\` names it) or choose another port`;
    await assert.rejects(createServe()({ ...LOOPBACK, port }, done, GOOD), { message });
    await assert.rejects(createServe()({ ...LOOPBACK, port }, done), { message: message.replace("https", "http") });
  });

  it("says that the machine does not have it", async () => {
    await assert.rejects(createServe()({ kind: "tcp", host: "192.0.2.1", port: 8443 }, done, GOOD), {
      message:
        "cannot listen on https://192.0.2.1:8443: this machine does not have that address; list its addresses with `ip address` for those it has",
    });
  });

  it("says that a Unix socket has no HTTPS", async () => {
    await assert.rejects(createServe()({ kind: "unix", path: "/run/fairlead/ingest.sock" }, done, GOOD), {
      message: "cannot listen on unix:/run/fairlead/ingest.sock: HTTPS needs an address of the form host:port",
    });
  });
});

const otherKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

const UNUSABLE: readonly { readonly what: string; readonly tls: Tls; readonly why: RegExp }[] = [
  {
    what: "a certificate that is no PEM",
    tls: { ...GOOD, cert: "nonsense" },
    why: /: \/etc\/good\.crt holds no certificate in PEM form$/,
  },
  {
    what: "a chain that breaks off",
    tls: { ...GOOD, cert: GOOD.cert + GOOD.cert.replace(/\n[^-]{20}/, "\nAAAA") },
    why: /: \/etc\/good\.crt \(certificate 2\) is damaged; copy the file again$/,
  },
  {
    what: "a key that is no PEM",
    tls: { ...GOOD, key: new Secret("nonsense") },
    why: /: \/etc\/server\.key holds no private key in PEM form that can be read without a passphrase$/,
  },
  {
    what: "the key of another certificate",
    tls: { ...GOOD, key: new Secret(String(otherKey)) },
    why: /: the key in \/etc\/server\.key does not belong to the certificate in \/etc\/good\.crt$/,
  },
  {
    what: "a chain that begins with its authority",
    tls: { ...GOOD, cert: fixture("ca.crt") + GOOD.cert },
    why: /in \/etc\/good\.crt; the server's own certificate must come first$/,
  },
];

describe("a certificate that cannot be served", () => {
  for (const { what, tls, why } of UNUSABLE) {
    it(`is refused at the start: ${what}`, async () => {
      await assert.rejects(start(done, { tls }), (error: Error) => {
        assert.match(error.message, /^cannot listen on https:\/\/127\.0\.0\.1:0: /);
        assert.match(error.message, why);
        return true;
      });
    });
  }

  it("is not renewed to, and the old one stays in use", async () => {
    await using listener = await start(done);
    for (const { tls, why } of UNUSABLE.slice(0, 2)) {
      await assert.rejects(listener.renew(tls), (error: Error) => {
        assert.ok(error.message.startsWith(`cannot renew the certificate of ${listener.address}: `), error.message);
        assert.match(error.message, why);
        return true;
      });
    }
    assert.equal(await askOnce(listener, "done"), GOOD_ISSUER);
  });
});

describe("renewing the certificate", () => {
  it("serves new connections with it, at the same address", async () => {
    await using listener = await start(done);
    assert.equal(await askOnce(listener, "done"), GOOD_ISSUER);
    await listener.renew(RENEWED);
    for (let connection = 0; connection < 20; connection++) {
      assert.equal(await askOnce(listener, "done"), RENEWED_ISSUER);
    }
    await listener.renew(GOOD);
    assert.equal(await askOnce(listener, "done"), GOOD_ISSUER);
  });

  it("lets connections that are open go on with theirs", async () => {
    const { handle, arrived, open } = createGate();
    await using listener = await start((request, peer) => (request.method === "PUT" ? handle(request, peer) : done()));
    const idle = await openTls(listener);
    await ask(idle, { end: "done" });
    const running = await openTls(listener);
    const answer = ask(running, { request: "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", end: "done" });
    await arrived;
    const fresh = await openTls(listener);
    await listener.renew(RENEWED);
    assert.equal(await askOnce(listener, "done"), RENEWED_ISSUER);
    await ask(idle, { end: "done" });
    await ask(fresh, { end: "done" });
    open();
    await answer;
    for (const socket of [idle, running, fresh]) socket.destroy();
  });

  it("loses no connection that begins while it happens", async () => {
    await using listener = await start(done);
    const client = startScript("connect.ts", listener.address);
    const outcomes = text(client.stdout);
    for (let renewal = 0; renewal < 50; renewal++) {
      await once(client.stdout, "data");
      await listener.renew(renewal % 2 === 0 ? RENEWED : GOOD);
    }
    client.stdin.end();
    const lines = (await outcomes).trimEnd().split("\n");
    assert.deepEqual(new Set(lines), new Set(["answered"]));
    assert.ok(lines.length >= 50);
  });

  it("may be asked for again before it is done: the last one is served", async () => {
    await using listener = await start(done);
    await Promise.all([RENEWED, GOOD, RENEWED].map((tls) => listener.renew(tls)));
    for (let connection = 0; connection < 20; connection++) {
      assert.equal(await askOnce(listener, "done"), RENEWED_ISSUER);
    }
  });

  it("is not there for a listener without one", async () => {
    const listener = await createServe()(LOOPBACK, done);
    await assert.rejects(listener.renew(GOOD), { message: "this listener has no certificate" });
    await listener.stop();
  });

  it("is refused once the listener is being stopped", async () => {
    const listener = await start(done);
    const stopped = listener.stop();
    const message = `cannot renew the certificate of ${listener.address}: it is being closed`;
    await assert.rejects(listener.renew(RENEWED), { message });
    await stopped;
    await assert.rejects(openPlain(listener), { code: "ECONNREFUSED" });
  });
});

describe("stopping an HTTPS listener", () => {
  for (const renewals of [0, 2]) {
    it(`refuses new connections, and lets running requests finish, after ${renewals} renewals`, async () => {
      const { handle, arrived, open } = createGate();
      const listener = await start(handle);
      const socket = await openTls(listener);
      const answer = ask(socket, { end: "done" });
      await arrived;
      for (let renewal = 0; renewal < renewals; renewal++) await listener.renew(RENEWED);
      const stopped = listener.stop();
      await assert.rejects(openPlain(listener), { code: "ECONNREFUSED" });
      open();
      await answer;
      await stopped;
      await closed(socket);
    });

    it(`closes connections on which nothing runs, after ${renewals} renewals`, async () => {
      const listener = await start(done);
      const idle = await openTls(listener);
      await ask(idle, { end: "done" });
      for (let renewal = 0; renewal < renewals; renewal++) await listener.renew(RENEWED);
      await listener.stop();
      idle.resume();
      await closed(idle);
    });

    it(`cuts off requests that do not end within the grace, after ${renewals} renewals`, async () => {
      const { handle, arrived } = createGate();
      const listener = await start(handle, { grace: 20 });
      const hung = await openTls(listener);
      hung.write(GET);
      await arrived;
      for (let renewal = 0; renewal < renewals; renewal++) await listener.renew(RENEWED);
      await listener.stop();
      assert.equal((await buffer(hung).catch(() => Buffer.alloc(0))).length, 0);
    });
  }

  it("frees the port", async () => {
    const listener = await start(done);
    await listener.renew(RENEWED);
    await askOnce(listener, "done");
    await listener.stop();
    const port = Number(new URL(listener.address).port);
    const again = await createServe()({ ...LOOPBACK, port }, done);
    await again.stop();
    await listener.stop();
  });
});

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
