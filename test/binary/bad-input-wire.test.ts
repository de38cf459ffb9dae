import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertWell, type Door, doorForAll, headOf, type OpenConnection } from "./bad-input-door.ts";
import { residentBytes } from "./resident.ts";
import { PATIENCE, PATIENT } from "./waiting.ts";

const CALL = '{"userId":"u1","event":"E"}';
const LENGTH = `Content-Length: ${CALL.length}`;
const POST = "POST /v1/track HTTP/1.1";

const door = doorForAll();

/** One request that is the last on its connection. */
function lastOf(requestLine: string, ...headers: readonly string[]): string {
  return headOf(requestLine, ...headers, "Connection: close");
}

describe("a request for something else", () => {
  for (const method of ["GET", "PUT", "DELETE", "PATCH", "TRACE"]) {
    it(`is answered 405: ${method}`, PATIENT, async () => {
      const answer = await door().exchange(lastOf(`${method} /v1/track HTTP/1.1`, "Content-Length: 2") + "{}");
      assert.match(answer, /^HTTP\/1\.1 405 .*\r\nAllow: POST\r\n.*"code":"method_not_allowed"/s);
    });
  }

  it("is answered 405 without a body: HEAD", PATIENT, async () => {
    const answer = await door().exchange(lastOf("HEAD /v1/track HTTP/1.1"));
    assert.match(answer, /^HTTP\/1\.1 405 [^{]*\r\n\r\n$/);
  });

  const paths = [
    "/",
    "/v1",
    "/v1/tracks",
    "//v1/track",
    "/v1/track/../../etc/passwd",
    "/v1/%",
    "/v1/%ff",
    "/v1/track%00",
  ];
  const absurd = [
    ...paths,
    "/v1/\xff\xfe",
    `/${"x".repeat(10_000)}`,
    `/v1/track/${"../".repeat(1_000)}`,
    "/v1/track;a=b",
  ];
  for (const path of absurd) {
    it(`is answered 404: ${path.slice(0, 40)}`, PATIENT, async () => {
      const request = Buffer.from(lastOf(`POST ${path} HTTP/1.1`, LENGTH) + CALL, "latin1");
      const answer = await door().exchange(request);
      assert.match(answer, /^HTTP\/1\.1 404 .*"code":"not_found"/s);
      assert.ok(answer.length < 1_000);
    });
  }

  it("is a call all the same when it names no host, as HTTP/1.0 allows", PATIENT, async () => {
    const authorization = /Authorization: .*/.exec(headOf(POST))?.[0];
    const answer = await door().exchange(`POST /v1/track HTTP/1.0\r\n${authorization}\r\n${LENGTH}\r\n\r\n${CALL}`);
    assert.match(answer, /^HTTP\/1\.1 200 .*"accepted":1/s);
  });
});

/** Bun's parser answers these before Fairlead sees them: with a bare status, and no body. */
describe("what is no HTTP", () => {
  const bare: Readonly<Record<string, readonly [status: number, request: string]>> = {
    "no Host": [400, `${POST}\r\n${LENGTH}\r\n\r\n${CALL}`],
    "a length that is no number": [400, `${headOf(POST, "Content-Length: many")}${CALL}`],
    "a length below zero": [400, `${headOf(POST, "Content-Length: -1")}${CALL}`],
    "a length that no machine has": [413, `${headOf(POST, "Content-Length: 9007199254740993")}${CALL}`],
    "two lengths": [400, `${headOf(POST, LENGTH, "Content-Length: 3")}${CALL}`],
    "a length and chunks": [400, `${headOf(POST, LENGTH, "Transfer-Encoding: chunked")}0\r\n\r\n`],
    "a chunk without a size": [400, `${headOf(POST, "Transfer-Encoding: chunked")}many\r\n`],
    "a header that goes on in the next line": [400, `${headOf(POST, "X-A: 1\r\n 2", LENGTH)}${CALL}`],
    "a header with a NUL": [400, `${headOf(POST, "X-A: 1\0", LENGTH)}${CALL}`],
    "a path without a slash": [400, `${headOf("POST v1/track HTTP/1.1", LENGTH)}${CALL}`],
    "another version": [505, `${headOf("POST /v1/track HTTP/9.9", LENGTH)}${CALL}`],
    "a TLS handshake": [400, "\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n"],
    "100 KB of headers": [431, headOf(POST, ...Array(100).fill(`X-A: ${"y".repeat(1_000)}`))],
    "a thousand headers": [431, headOf(POST, ...Array(1_000).fill("X-A: y"))],
    "a path of 20 KB": [431, headOf(`POST /${"x".repeat(20_000)} HTTP/1.1`, LENGTH)],
  };
  for (const [what, [status, request]] of Object.entries(bare)) {
    it(`is answered with a bare ${status}: ${what}`, PATIENT, async () => {
      const answer = await door().exchange(request);
      assert.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [\\w ]+\\r\\nConnection: close\\r\\n\\r\\n$`));
    });
  }

  it("is hung up on when its method is none", PATIENT, async () => {
    assert.equal(await door().exchange(headOf("SHOUT /v1/track HTTP/1.1")), "");
  });
});

describe("pipelined requests", () => {
  it("are answered in their order as long as each answer is there before the next request", PATIENT, async () => {
    const refused = headOf(POST, "Content-Length: 1") + "{";
    const answer = await door().exchange(refused + headOf("GET /nowhere HTTP/1.1") + lastOf(POST, LENGTH) + CALL);
    assert.deepEqual(answer.match(/(?<=HTTP\/1\.1 )\d+/g), ["400", "404", "200"]);
  });

  it(
    "lose nothing when Bun hangs up on those that come too soon: sent again, each is delivered once",
    PATIENT,
    async () => {
      const ids = ["p-1", "p-2", "p-3"];
      const calls = ids.map((messageId) => JSON.stringify({ userId: "u1", event: "E", messageId }));
      const requests = calls.map((call) => headOf(POST, `Content-Length: ${call.length}`) + call);
      const answer = await door().exchange(requests.join(""));
      assert.equal(answer, "", "Bun answers pipelined requests now: say so in docs/reference/http-api.md");
      for (const call of calls) assert.equal((await door().post("/v1/track", call)).status, 200);
      await door().receiver.all(ids);
      await assertWell(door(), "after-pipelining");
      const delivered = door().receiver.hooks.map(({ messageId }) => messageId);
      for (const id of ids) assert.equal(delivered.filter((one) => one === id).length, 1);
    },
  );
});

describe("a client that stops half way", () => {
  for (const [how, head, half] of [
    ["announced", headOf(POST, LENGTH), CALL.slice(0, 9)],
    ["in chunks", headOf(POST, "Transfer-Encoding: chunked"), `9\r\n${CALL.slice(0, 9)}\r\n`],
  ] as const) {
    it(`and hangs up is counted as body_incomplete, its body ${how}`, PATIENT, async () => {
      const series = 'fairlead_events_rejected_total{source="website",reason="body_incomplete"}';
      const before = await door().metric(series);
      const { socket } = await door().open(head + half);
      socket.end();
      await until(async () => (await door().metric(series)) === before + 1);
    });
  }

  const CLIENTS = 400;
  /** 64 MB together, each for the 500 KB that it has announced, or may still send. */
  const TAKEN = Math.floor((64 * 1_024 * 1_024) / 512_000);
  const SENT = "x".repeat(256_000);
  for (const [how, head, half] of [
    ["announced", headOf("POST /v1/batch HTTP/1.1", "Content-Length: 512000"), SENT],
    ["in chunks", headOf("POST /v1/batch HTTP/1.1", "Transfer-Encoding: chunked"), `3e800\r\n${SENT}\r\n`],
  ] as const) {
    it(`and is one of 400 such: those beyond 64 MB are sent away, all bodies ${how}`, PATIENT, async () => {
      const before = residentBytes(door().daemon.process.pid);
      const connections = await Promise.all(Array.from({ length: CLIENTS }, () => door().open(head + half)));
      await until(() => unanswered(connections) <= TAKEN);
      await assertWell(door(), `beside-400-${how}`);
      const grown = residentBytes(door().daemon.process.pid) - before;
      assert.ok(grown < 80_000_000, `the daemon's memory has grown by ${grown} bytes`);
      const left = unanswered(connections);
      assert.ok(left <= TAKEN && left > TAKEN / 2, `${left} of ${CLIENTS} clients have no answer`);
      for (const { socket } of connections) socket.destroy();
      await until(() => takesALargeOne(door()));
    });
  }
});

/** On a busy machine some are given up for others, because they have taken more than a second. */
function unanswered(connections: readonly OpenConnection[]): number {
  const sentAway = /^HTTP\/1\.1 (?:429 .*"code":"too_many_bodies"|408 .*"code":"body_too_slow")/s;
  return connections.filter(({ received }) => !sentAway.test(received())).length;
}

async function takesALargeOne({ post }: Door): Promise<boolean> {
  return (await post("/v1/batch", `{"batch":[],"x":"${"x".repeat(500_000)}"}`)).status === 200;
}

/** Looks again and again, with a request in between that gives everything time to happen. */
async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE;
  while (!(await isSo())) {
    assert.ok(performance.now() < deadline, `it has not come to be so within ${PATIENCE / 1_000} s`);
    await (await fetch(`${door().daemon.admin}/healthz`)).text();
  }
}
