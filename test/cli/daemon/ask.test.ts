import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { askDaemon, type Question, readSaid } from "../../../src/cli/daemon/ask.ts";
import type { Daemon } from "../../../src/cli/daemon/find.ts";
import type { Handle } from "../../../src/model/ports.ts";
import { Secret } from "../../../src/model/secret.ts";
import type { Exchange } from "../../../src/runtime/request.ts";
import { createServe } from "../../../src/runtime/serve.ts";

type Named = { readonly name: string };
const isNamed = (said: unknown): said is Named => typeof said === "object" && said !== null && "name" in said;

const QUESTION: Question<Named> = { path: "/api/name?limit=1", isSaid: isNamed };
const DAEMON: Daemon = { base: "http://127.0.0.1:8081", from: "--admin", token: null };
const PLACE = "the daemon at http://127.0.0.1:8081 (--admin)";

function answered(status: number, body: unknown): Exchange {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "answered", status, headers: new Headers(), text };
}

function complaintOf(exchange: Exchange, daemon: Partial<Daemon> = {}): string {
  const answer = readSaid(exchange, { daemon: { ...DAEMON, ...daemon }, question: QUESTION });
  assert.ok("code" in answer);
  assert.equal(answer.code, 1);
  assert.doesNotMatch(answer.message, /\n/);
  return answer.message;
}

describe("the daemon's answer to an operator's command", () => {
  it("is what it said, if that has the right shape", () => {
    const read = readSaid(answered(200, { name: "a", code: "b" }), { daemon: DAEMON, question: QUESTION });
    assert.deepEqual(read, { said: { name: "a", code: "b" } });
  });

  it("is missing when nobody listens: where, who said so, and what to do", () => {
    const refused = complaintOf({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
    const remedy = "is `fairlead serve` running? If it listens elsewhere, say where with --admin";
    assert.equal(refused, `cannot reach ${PLACE}: connection refused; ${remedy}`);
    const socket = { base: "unix:/run/f.sock", from: "admin.listen of config.yaml" };
    assert.equal(
      complaintOf({ kind: "failed", code: "ENOENT", reason: "there is no such socket" }, socket),
      `cannot reach the daemon at unix:/run/f.sock (admin.listen of config.yaml): there is no such socket; ${remedy}`,
    );
  });

  it("is missing for any other reason", () => {
    const late = complaintOf({ kind: "failed", code: null, reason: "no answer within 10s" });
    assert.equal(late, `cannot reach ${PLACE}: no answer within 10s`);
  });

  it("is not taken from another program", () => {
    const others = [
      answered(200, "<html>"),
      answered(200, ""),
      answered(200, { nam: "a" }),
      answered(404, "not found"),
      answered(401, "who are you?"),
      answered(302, { code: "x", message: "y" }),
      answered(500, { code: 5, message: "y" }),
    ];
    for (const other of others) {
      assert.match(
        complaintOf(other),
        /^http:\S+ \(--admin\) answered \d+, and not as Fairlead's admin listener does;/,
      );
    }
  });

  it("says which token to set, if there was none", () => {
    const refusal = answered(401, { code: "unauthorized", message: "send admin.token" });
    assert.equal(
      complaintOf(refusal),
      `${PLACE} wants its admin.token: set $FAIRLEAD_ADMIN_TOKEN, or name the config that has it with --config`,
    );
  });

  it("says which token was wrong, and does not show it", () => {
    const refusal = answered(401, { code: "unauthorized", message: "send admin.token" });
    const token = { secret: new Secret("hush"), from: "admin.token of config.yaml" };
    const message = complaintOf(refusal, { token });
    assert.equal(
      message,
      `${PLACE} refuses admin.token of config.yaml: it is not the admin.token that it runs with; give that one in $FAIRLEAD_ADMIN_TOKEN`,
    );
  });

  it("says what to do about a Host that the daemon does not know", () => {
    const refusal = answered(403, { code: "forbidden_host", message: "the Host header is not its own" });
    assert.equal(
      complaintOf(refusal),
      `${PLACE} refused with 403 forbidden_host: the Host header is not its own; name it with --admin as its own config does`,
    );
  });

  it("says what may be wrong if nothing is at the path", () => {
    const refusal = answered(404, { code: "not_found", message: "nothing is at /api/name" });
    assert.equal(
      complaintOf(refusal),
      `${PLACE} has nothing at /api/name: either it is older than this command, or this is the address of its ingest listener`,
    );
  });

  it("gives the daemon's own code and message otherwise, and lets nobody write to the terminal", () => {
    const refusal = answered(503, { code: "stopping", message: "it stops\u001b[2J" });
    assert.equal(complaintOf(refusal), `${PLACE} refused with 503 stopping: it stops\\u001b[2J`);
  });
});

describe("a question to the daemon", () => {
  /** What the daemon gets. */
  async function hear(question: Partial<Question<Named>>): Promise<Record<string, unknown>> {
    let heard: Record<string, unknown> = {};
    const handle: Handle = async (request) => {
      const url = new URL(request.url);
      const type = request.headers.get("content-type");
      heard = { method: request.method, path: `${url.pathname}${url.search}`, type, body: await request.text() };
      return Response.json({ name: "a" });
    };
    const listener = await createServe()({ kind: "tcp", host: "127.0.0.1", port: 0 }, handle);
    const answer = await askDaemon({ admin: listener.address }, { ...QUESTION, ...question });
    await listener.stop();
    assert.deepEqual(answer, { said: { name: "a" } });
    return heard;
  }

  it("is a GET", async () => {
    assert.deepEqual(await hear({}), { method: "GET", path: "/api/name?limit=1", type: null, body: "" });
  });

  it("is a POST of JSON if it has a body", async () => {
    const body = { userIds: ["u1"] };
    const posted = { method: "POST", path: "/api/reload", type: "application/json", body: JSON.stringify(body) };
    assert.deepEqual(await hear({ path: "/api/reload", body }), posted);
  });
});
