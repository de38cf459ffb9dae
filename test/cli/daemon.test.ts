// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references, as config files have them.
import assert from "node:assert/strict";
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import * as v from "valibot";
import {
  askDaemon,
  baseOf,
  type Daemon,
  type DaemonOptions,
  findDaemon,
  type Question,
  readAnswer,
  readBase,
} from "../../src/cli/daemon.ts";
import type { Handle } from "../../src/model/ports.ts";
import { Secret } from "../../src/model/secret.ts";
import type { Exchange } from "../../src/runtime/request.ts";
import { createServe } from "../../src/runtime/serve.ts";
import { asOrdinaryUser, NO_OTHER_USER } from "../another-user.ts";
import { type World, worldOf } from "../config/world.ts";

const folder = mkdtempSync(join(tmpdir(), "fairlead-daemon-"));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
function configWith(config: object): string {
  files += 1;
  const file = join(folder, `${files}.yaml`);
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/** Where it is, where that comes from, and with which token from where; or the complaint. */
function find(options: DaemonOptions, world: World = {}): string {
  const daemon = findDaemon(options, worldOf(world));
  if ("code" in daemon) return `${daemon.code} ${daemon.message}`.replaceAll(folder, "");
  const { base, from, token } = daemon;
  return [base, from, ...(token ? [token.secret.reveal(), token.from] : [])].join(" | ").replaceAll(folder, "");
}

const config = configWith({ admin: { listen: "0.0.0.0:9081", token: "config-token" } });
const plain = configWith({ admin: { listen: "unix:/run/f.sock" } });
const env = { FAIRLEAD_ADMIN_TOKEN: "env-token" };

describe("the running daemon, of a config that this user may not read", () => {
  it("is not found: who may read it is said, and how to become one", { skip: NO_OTHER_USER }, () => {
    const etc = join(folder, "etc");
    mkdirSync(etc);
    writeFileSync(join(etc, "config.yaml"), "", { mode: 0o640 });
    // Group 1 is daemon wherever there is an /etc/group.
    chownSync(etc, 0, 1);
    chmodSync(etc, 0o750);
    chmodSync(folder, 0o755);
    assert.equal(
      asOrdinaryUser(() => find({ config: join(etc, "config.yaml") })),
      "78 cannot read the config file /etc/config.yaml: permission denied (a folder above it cannot be entered); " +
        "use sudo, or join the group daemon (sudo usermod -aG daemon NAME, then log in again)",
    );
  });
});

describe("the running daemon, by its config", () => {
  it("is at admin.listen, with admin.token", () => {
    assert.equal(
      find({ config }),
      "http://127.0.0.1:9081 | admin.listen of /1.yaml | config-token | admin.token of /1.yaml",
    );
    assert.equal(find({ config: plain }), "unix:/run/f.sock | admin.listen of /2.yaml");
  });

  it("is at the default if the config does not say where, and that is said", () => {
    const file = configWith({ sources: {} });
    assert.equal(find({ config: file }), "http://127.0.0.1:8081 | the default, as /3.yaml has no admin.listen");
  });

  it("gets the token of the environment instead, whether or not the config has a good one", () => {
    const token = "env-token | $FAIRLEAD_ADMIN_TOKEN";
    assert.equal(find({ config }, { env }), `http://127.0.0.1:9081 | admin.listen of /1.yaml | ${token}`);
    assert.equal(find({ config: plain }, { env }), `unix:/run/f.sock | admin.listen of /2.yaml | ${token}`);
    const secret = configWith({ admin: { listen: "127.0.0.1:1", token: "${credential:admin-token}" } });
    assert.equal(find({ config: secret }, { env }), `http://127.0.0.1:1 | admin.listen of /4.yaml | ${token}`);
  });

  it("is not asked without the token that it wants: what is missing is said with its place", () => {
    const message = find({ config: configWith({ admin: { token: "${credential:admin-token}" } }) });
    assert.match(message, /^78 cannot use .*:\n.*:1:\d+: admin\.token: cannot be read from the credential admin-token/);
    assert.match(message, /\nor set \$FAIRLEAD_ADMIN_TOKEN$/);
  });

  it("is nowhere if the system chooses its port, if the address is wrong, or without a file", () => {
    assert.match(find({ config: configWith({ admin: { listen: "127.0.0.1:0" } }) }), /^2 admin\.listen has port 0, .*/);
    assert.match(
      find({ config: configWith({ admin: { listen: 5 } }) }),
      /^78 cannot use .*:\n.*admin\.listen: must be/,
    );
    const missing = find({ config: join(folder, "none.yaml") });
    assert.match(missing, /^78 cannot read the config file .*: no such file; or .* with --admin$/);
  });
});

describe("the running daemon, by its address", () => {
  it("is there, and no config is needed", () => {
    assert.equal(find({ admin: "http://127.0.0.1:9/" }), "http://127.0.0.1:9 | --admin");
    assert.equal(find({}, { env: { FAIRLEAD_ADMIN: "unix:/run/f.sock" } }), "unix:/run/f.sock | $FAIRLEAD_ADMIN");
  });

  it("is that of --admin, then of the environment, then of the config; an empty variable is none", () => {
    const both = { FAIRLEAD_ADMIN: "http://127.0.0.1:8" };
    assert.equal(find({ admin: "http://127.0.0.1:9" }, { env: both }), "http://127.0.0.1:9 | --admin");
    assert.match(find({ config: plain }, { env: both }), /^http:\/\/127\.0\.0\.1:8 \| \$FAIRLEAD_ADMIN/);
    const empty = { FAIRLEAD_ADMIN: "", FAIRLEAD_ADMIN_TOKEN: "" };
    assert.equal(find({ config: plain }, { env: empty }), "unix:/run/f.sock | admin.listen of /2.yaml");
  });

  it("gets the token of the environment, or of a config that was named", () => {
    const admin = "http://127.0.0.1:9";
    assert.equal(find({ admin }, { env }), `${admin} | --admin | env-token | $FAIRLEAD_ADMIN_TOKEN`);
    assert.equal(find({ admin, config }), `${admin} | --admin | config-token | admin.token of /1.yaml`);
    assert.equal(find({ admin, config }, { env }), `${admin} | --admin | env-token | $FAIRLEAD_ADMIN_TOKEN`);
    assert.equal(find({ admin, config: plain }), `${admin} | --admin`);
    assert.match(find({ admin, config: join(folder, "none.yaml") }), /^78 cannot read the config file/);
  });

  it("is refused with the name of what gave it, and without its password", () => {
    assert.match(find({ admin: "127.0.0.1:9" }), /^2 --admin must be http:\/\/host:port, .* \(got "127\.0\.0\.1:9"\)$/);
    const message = find({}, { env: { FAIRLEAD_ADMIN: "http://user:pass-word@a/" } });
    assert.match(message, /^2 \$FAIRLEAD_ADMIN must be/);
    assert.doesNotMatch(message, /pass-word/);
  });
});

describe("a token that no header can hold", () => {
  it("is named by where it comes from, and not shown", () => {
    for (const bad of ["two words", "line\n", "tökén"]) {
      const message = find({ admin: "http://127.0.0.1:9" }, { env: { FAIRLEAD_ADMIN_TOKEN: bad } });
      assert.match(message, /^2 \$FAIRLEAD_ADMIN_TOKEN is not a possible token/);
      assert.ok(!message.includes(bad));
    }
  });
});

const named = v.strictObject({ name: v.string() });
const QUESTION: Question<typeof named> = { path: "/api/name?limit=1", answer: named };
const DAEMON: Daemon = { base: "http://127.0.0.1:8081", from: "--admin", token: null };
const PLACE = "the daemon at http://127.0.0.1:8081 (--admin)";

function answered(status: number, body: unknown): Exchange {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { kind: "answered", status, headers: new Headers(), text };
}

function complaintFor(exchange: Exchange, daemon: Partial<Daemon> = {}): string {
  const answer = readAnswer(exchange, { daemon: { ...DAEMON, ...daemon }, question: QUESTION });
  assert.ok("code" in answer);
  assert.equal(answer.code, 1);
  assert.doesNotMatch(answer.message, /\n/);
  return answer.message;
}

describe("the daemon's answer to an operator's command", () => {
  it("is what it said, if that has the right shape", () => {
    const read = readAnswer(answered(200, { name: "a", code: "b" }), { daemon: DAEMON, question: QUESTION });
    assert.deepEqual(read, { value: { name: "a", code: "b" } });
  });

  it("is missing when nobody listens: where, who said so, and what to do", () => {
    const refused = complaintFor({ kind: "failed", code: "ECONNREFUSED", reason: "connection refused" });
    const remedy = "is fairlead serve running? If it has another address, name it with --admin";
    assert.equal(refused, `cannot reach ${PLACE}: connection refused; ${remedy}`);
    const socket = { base: "unix:/run/f.sock", from: "admin.listen of config.yaml" };
    assert.equal(
      complaintFor({ kind: "failed", code: "ENOENT", reason: "there is no such socket" }, socket),
      `cannot reach the daemon at unix:/run/f.sock (admin.listen of config.yaml): there is no such socket; ${remedy}`,
    );
  });

  it("is missing for any other reason", () => {
    const late = complaintFor({ kind: "failed", code: null, reason: "no answer within 10s" });
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
        complaintFor(other),
        /^http:\S+ \(--admin\) answered \d+, which is not an answer of Fairlead's operator API;/,
      );
    }
  });

  it("says which token to set, if there was none", () => {
    const refusal = answered(401, { code: "unauthorized", message: "send admin.token" });
    assert.equal(
      complaintFor(refusal),
      `${PLACE} requires its admin.token: set $FAIRLEAD_ADMIN_TOKEN, or name the config with the token by --config`,
    );
  });

  it("says which token was wrong, and does not show it", () => {
    const refusal = answered(401, { code: "unauthorized", message: "send admin.token" });
    const token = { secret: new Secret("hush"), from: "admin.token of config.yaml" };
    const message = complaintFor(refusal, { token });
    assert.equal(
      message,
      `${PLACE} refuses admin.token of config.yaml: the daemon has another admin.token; set $FAIRLEAD_ADMIN_TOKEN to that one`,
    );
  });

  it("says what to do about a Host that the daemon does not know", () => {
    const refusal = answered(403, { code: "forbidden_host", message: "the Host header is not its own" });
    assert.equal(
      complaintFor(refusal),
      `${PLACE} refused with 403 forbidden_host: the Host header is not its own; name it with --admin as its config does`,
    );
  });

  it("says what may be wrong if nothing is at the path", () => {
    const refusal = answered(404, { code: "not_found", message: "nothing is at /api/name" });
    assert.equal(
      complaintFor(refusal),
      `${PLACE} has nothing at /api/name: it is older than this command, or this is the address of its ingest listener`,
    );
  });

  it("gives the daemon's own code and message otherwise, and lets nobody write to the terminal", () => {
    const refusal = answered(503, { code: "stopping", message: "it stops\u001b[2J" });
    assert.equal(complaintFor(refusal), `${PLACE} refused with 503 stopping: it stops\\u001b[2J`);
  });
});

describe("a question to the daemon", () => {
  /** What the daemon gets. */
  async function hear(question: Partial<Question<typeof named>>): Promise<Record<string, unknown>> {
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
    assert.deepEqual(answer, { value: { name: "a" } });
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

function reach(host: string, port = 8080): string | null {
  return baseOf({ kind: "tcp", host, port });
}

describe("a listener, as a command on the same machine reaches it", () => {
  it("is at its address", () => {
    assert.equal(reach("127.0.0.1"), "http://127.0.0.1:8080");
    assert.equal(reach("events.example.com"), "http://events.example.com:8080");
    assert.equal(reach("fe80::1"), "http://[fe80::1]:8080");
    assert.equal(baseOf({ kind: "unix", path: "/run/f.sock" }), "unix:/run/f.sock");
  });

  it("is on loopback if it listens on all addresses", () => {
    assert.equal(reach("0.0.0.0"), "http://127.0.0.1:8080");
    for (const any of ["::", "::0", "0:0:0:0:0:0:0:0"]) assert.equal(reach(any), "http://[::1]:8080");
    assert.equal(reach("::1"), "http://[::1]:8080");
  });

  it("is nowhere if the system chooses its port", () => {
    assert.equal(reach("127.0.0.1", 0), null);
  });
});

describe("where a daemon is, as a person writes it", () => {
  it("is an address, a path below a proxy, or a socket", () => {
    assert.equal(readBase("http://127.0.0.1:8081/"), "http://127.0.0.1:8081");
    assert.equal(readBase("https://example.com/fairlead/"), "https://example.com/fairlead");
    assert.equal(readBase("unix:/run/f.sock"), "unix:/run/f.sock");
  });

  it("is nothing else, and holds no password", () => {
    for (const text of [
      "127.0.0.1:8081",
      "ftp://a",
      "http://",
      "unix:f",
      "http://a/?b",
      "http://a/#b",
      "http://u:p@a/",
    ]) {
      assert.equal(readBase(text), null, text);
    }
  });
});
