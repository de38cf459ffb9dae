import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { makeFolder } from "../folder.ts";
import { beginCommand, SLOW } from "./run.ts";

const URL = "postgres://me:hunter2@db.example.com/events?sslmode=verify-full";

/** Runs a command with a config whose outbox is a database. */
async function run(...args: readonly string[]) {
  using f = makeFolder();
  const path = f.path("config.yaml");
  writeFileSync(path, `outbox: { url: "${URL}" }\nadmin: { listen: "unix:${f.path("admin.sock")}" }\n`, {
    mode: 0o600,
  });
  writeFileSync(f.path("copy.db"), "");
  const named = args.map((arg) => (arg === "COPY" ? f.path("copy.db") : arg));
  const ended = await beginCommand([...named, "--config", path]).ended;
  assert.doesNotMatch(ended.out + ended.err, /hunter2/);
  return ended;
}

describe("an outbox that is a database", () => {
  it("is not copied by fairlead backup, which says what to use", SLOW, async () => {
    const { code, err } = await run("backup", "COPY");
    assert.deepEqual(
      [code, err],
      [
        2,
        "fairlead: the outbox is a database, and no file (postgres://me@db.example.com/events?sslmode=verify-full): " +
          "copy it with pg_dump --format=custom\n",
      ],
    );
    const { code: error } = JSON.parse((await run("backup", "COPY", "--json")).err);
    assert.equal(error, "outbox_is_database");
  });

  it("is not replaced by fairlead restore, which says what to use", SLOW, async () => {
    const { code, err } = await run("restore", "COPY");
    assert.equal(code, 2);
    assert.match(err, /the outbox is a database, .*: stop all daemons, and restore it with pg_restore --clean\n$/);
  });

  it("has no file and no disk for fairlead doctor to look at", SLOW, async () => {
    const { out } = await run("doctor", "--json");
    const findings: readonly { check: string; level: string; code: string }[] = JSON.parse(out).findings;
    const seen = findings.filter(({ check }) => check === "store" || check === "disk");
    assert.deepEqual(
      seen.map(({ check, level, code }) => `${level} ${check} ${code}`),
      ["skipped store outbox_is_database", "skipped disk outbox_is_database"],
    );
  });

  it("is valid for fairlead check, and shown without its password", SLOW, async () => {
    const { code, out } = await run("check", "--explain");
    assert.equal(code, 0);
    assert.match(out, /url: postgres:\/\/me@db\.example\.com\/events\?sslmode=verify-full +# config\.yaml:1/);
  });
});
