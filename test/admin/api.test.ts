import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isOpen } from "../../src/admin/access.ts";
import { fault, StoreAway } from "../../src/model/fault.ts";
import { Secret } from "../../src/model/secret.ts";
import { makeAdmin } from "../flow/make.ts";
import { startAdmin } from "./make.ts";

describe("the operator's API", () => {
  it("says that the daemon is alive", async () => {
    const { status, text } = await startAdmin().get("/healthz");
    assert.deepEqual([status, text], [200, '{"status":"alive"}']);
  });

  it("gives the metrics in their own format", async () => {
    const { status, headers, text } = await startAdmin().get("/metrics");
    assert.deepEqual([status, headers.get("content-type"), text], [200, "text/plain; version=0.0.4", "up 1\n"]);
  });

  it("takes a slash at the end", async () => {
    assert.equal((await startAdmin().get("/healthz/")).status, 200);
  });

  it("has nothing elsewhere, and says so in the house's shape", async () => {
    for (const path of ["/api", "/api/deletion", "/health", "/deliveries/1/2"]) {
      const { status, text } = await startAdmin().get(path);
      const message = `there is no such path: ${path}`;
      assert.deepEqual(
        [status, JSON.parse(text)],
        [404, { success: false, code: "not_found", message, error: message }],
      );
    }
  });

  it("refuses before it answers: an Origin, even for what is not there", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/nowhere"]) {
      const { status, text } = await startAdmin().get(path, { origin: "https://evil.example.com" });
      assert.deepEqual([status, JSON.parse(text).code], [403, "forbidden_origin"]);
    }
  });

  it("opens no route of its own without the token by what is open for the dashboard", async () => {
    const { paths } = JSON.parse((await startAdmin().get("/openapi.json")).text);
    const open = Object.keys(paths).filter((path) => isOpen(path.replace(/\{\w+\}/g, "x")));
    assert.deepEqual(open, ["/healthz", "/readyz"]);
  });

  it("lets admin.readToken look, and gives it neither a copy of the outbox nor the salt, however the path is written", async () => {
    const tokens = { token: new Secret("t0ken"), readToken: new Secret("eyes") };
    const admin = startAdmin({ stranded: { admin: () => makeAdmin(tokens) } });
    const [all, eyes] = [{ authorization: "Bearer t0ken" }, { authorization: "Bearer eyes" }];
    assert.equal(JSON.parse((await admin.get("/api/status", eyes)).text).access, "read");
    assert.equal(JSON.parse((await admin.get("/api/status", all)).text).access, "full");
    const refused = await admin.post("/api/reload", {}, eyes);
    assert.deepEqual([refused.status, JSON.parse(refused.text).code], [403, "read_only"]);
    assert.equal(JSON.parse((await admin.post("/api/reload", {}, all)).text).code, "config_invalid");
    for (const path of ["/api/backup", "/api/backup/", "/api/%62ackup"]) {
      assert.equal(JSON.parse((await admin.get(path, eyes)).text).code, "read_only", path);
      assert.equal(JSON.parse((await admin.get(path, all)).text).code, "outbox_in_place", path);
    }
    assert.equal(JSON.parse((await admin.get("/api/deletions/salt", eyes)).text).code, "read_only");
  });

  it("shows the config in force, and which keys keep their old value until a restart", async () => {
    const file = "config.yaml";
    const { text } = await startAdmin().get("/api/config");
    assert.deepEqual(JSON.parse(text), { file, text: "sources: {}\n" });
    const config = { needsRestart: ["admin.listen", "outbox.path"] };
    const kept = JSON.parse((await startAdmin({ status: { config } }).get("/api/config")).text).text;
    assert.deepEqual(kept.split("\n"), [
      "# admin.listen has changed: the old value is in force until a restart.",
      "# outbox.path has changed: the old value is in force until a restart.",
      "",
      "sources: {}",
      "",
    ]);
  });

  it("says that the store is away, which is no bug", async () => {
    const away = new StoreAway("cannot connect to PostgreSQL at db:5432");
    const admin = startAdmin({ metrics: () => Promise.reject(away) });
    const { status, text } = await admin.get("/metrics");
    const { code, message } = JSON.parse(text);
    assert.deepEqual([status, code], [503, "store_failed"]);
    assert.equal(message, "the outbox cannot be read now: cannot connect to PostgreSQL at db:5432");
    assert.deepEqual(admin.bugs, []);
  });

  it("answers a bug with a 500 that gives nothing away, and reports it", async () => {
    const bug = new Error("secret detail");
    const admin = startAdmin({ metrics: () => Promise.reject(bug) });
    const { status, text } = await admin.get("/metrics");
    assert.deepEqual([status, JSON.parse(text).code], [500, "internal"]);
    assert.doesNotMatch(text, /secret detail/);
    assert.deepEqual(admin.bugs, [bug]);
  });
});

describe("whether the daemon is ready", () => {
  it("is the verdict of the last commit, which costs nothing to ask", async () => {
    const admin = startAdmin();
    admin.store.probe = () => assert.fail("probed");
    const { status, text } = await admin.get("/readyz");
    assert.deepEqual([status, text], [200, '{"status":"ready"}']);
  });

  it("is not, after a failed commit, while the store stays broken: 503, and when to ask again", async () => {
    const admin = startAdmin();
    Object.assign(admin.store, { writable: false, probe: async () => false });
    const { status, headers, text } = await admin.get("/readyz");
    assert.deepEqual([status, JSON.parse(text).code, headers.get("retry-after")], [503, "store_failed", "5"]);
  });

  it("is not while the store is full, as a call would not be taken: 503, as clients get it", async () => {
    const admin = startAdmin();
    const refusal = fault("store_full", "the outbox is full", 10_000);
    Object.assign(admin.store, { refusal, writable: false, probe: () => assert.fail("probed") });
    const { status, headers, text } = await admin.get("/readyz");
    assert.deepEqual([status, JSON.parse(text).code, headers.get("retry-after")], [503, "store_full", "10"]);
    Object.assign(admin.store, { refusal: null, writable: true });
    assert.equal((await admin.get("/readyz")).status, 200);
  });

  it("is found out by a write when the store is well again", async () => {
    const admin = startAdmin();
    Object.assign(admin.store, { writable: false, probe: async () => true });
    assert.equal((await admin.get("/readyz")).status, 200);
  });

  it("is probed at most every 5 s, however often somebody asks", async () => {
    const admin = startAdmin();
    let probes = 0;
    Object.assign(admin.store, { writable: false, probe: async () => ++probes > 100 });
    await Promise.all([admin.get("/readyz"), admin.get("/readyz"), admin.get("/readyz")]);
    assert.equal(probes, 1);
    await admin.clock.advance("4s");
    await admin.get("/readyz");
    await admin.clock.advance("999ms");
    assert.equal((await admin.get("/readyz")).status, 503);
    assert.equal(probes, 1);
    await admin.clock.advance("1ms");
    await admin.get("/readyz");
    assert.equal(probes, 2);
  });

  it("is not waited for: between two probes it is known not to be", async () => {
    const admin = startAdmin();
    Object.assign(admin.store, { writable: false, probe: () => new Promise(() => {}) });
    void admin.get("/readyz");
    assert.equal((await admin.get("/readyz")).status, 503);
  });
});
