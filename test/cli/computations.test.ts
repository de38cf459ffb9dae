import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import type { AdminWorld } from "../../src/admin/world.ts";
import { createStreams } from "../../src/http/stream.ts";
import type { Audiences, Computation, ListOptions, Member, Sync, Wanted } from "../../src/model/audience.ts";
import { fault, isFault } from "../../src/model/fault.ts";
import { createClock } from "../../src/runtime/clock.ts";
import { makeSource } from "../flow/make.ts";
import { serveAdmin } from "./admin.ts";
import { SLOW } from "./run.ts";

const HOUR_AGO = Date.now() - 3_600_000;

const SYNC: Sync = {
  number: 3,
  id: "audience-0",
  kind: "list",
  startedAt: HOUR_AGO - 2_000,
  finishedAt: HOUR_AGO,
  added: 1_200,
  changed: 0,
  removed: 3,
  done: 1_203,
};
const ONE: Computation = {
  number: 1,
  id: "aud_1",
  source: "website",
  class: "audience",
  name: "Big Spenders",
  key: "big_spenders",
  size: 1_234,
  createdAt: HOUR_AGO,
  syncs: [SYNC],
};

const folder = mkdtempSync(join(tmpdir(), "fairlead-computations-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string | Uint8Array): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

type Taken = { readonly wanted: Wanted; readonly options: ListOptions; readonly members: readonly Member[] };

/** The operator's API of a daemon that has one audience; and a command that asks it. `looks`: until a sync is finished. */
async function startAdmin(looks = 0) {
  const taken: Taken[] = [];
  const removed: unknown[] = [];
  let left = looks;
  const running = { ...SYNC, number: 4, finishedAt: null, done: 1 };
  const audiences: Audiences = {
    all: async () => [ONE],
    async find({ name }) {
      left -= 1;
      const last = left > 0 ? running : { ...running, finishedAt: HOUR_AGO, done: 2 };
      return name === ONE.name ? { ...ONE, syncs: [last, SYNC] } : null;
    },
    async list(wanted, rows, options) {
      const members: Member[] = [];
      for await (const some of rows) {
        if (isFault(some)) return some;
        members.push(...some);
      }
      taken.push({ wanted, options, members });
      if (members.length === 0) return fault("list_shrinks", "the list would remove all");
      const counts = { added: members.length, changed: 0, removed: 0 };
      const sync = options.dryRun ? null : looks > 0 ? running : { ...running, finishedAt: HOUR_AGO };
      return { key: "big_spenders", size: 1_236, ...counts, sync };
    },
    change: async () => fault("unknown_audience", "there is none"),
    async remove(wanted, { silent }) {
      removed.push([wanted.name, silent]);
      return { key: "big_spenders", size: 0, added: 0, changed: 0, removed: 1_234, sync: SYNC };
    },
  };
  const world: Partial<AdminWorld> = {
    sources: () => [makeSource()],
    audiences,
    streams: createStreams(createClock()),
  };
  const daemon = await serveAdmin(world);
  return {
    taken,
    removed,
    run: (...args: readonly string[]) => daemon.run(args),
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}

const PLACE = ["Big Spenders", "--source", "website"] as const;

describe("fairlead audience sync", () => {
  it("sends the list as its name says that it is written, and waits until the sync is finished", SLOW, async () => {
    await using admin = await startAdmin(2);
    const [name, ...source] = PLACE;
    const { code, out, err } = await admin.run("audience", "sync", name, file("a.csv", "userId\nu1\nu2\n"), ...source);
    assert.deepEqual([code, err], [0, ""]);
    assert.equal(out, "2 added, 0 removed; the audience Big Spenders (big_spenders) has 1,236 users.\n");
    const [{ wanted, options, members } = assert.fail()] = admin.taken;
    assert.deepEqual(wanted, { source: "website", class: "audience", name: "Big Spenders" });
    assert.deepEqual([options, members.map(({ user }) => user)], [{ dryRun: false, allowShrink: false }, ["u1", "u2"]]);
  });

  it("takes compressed lists, and hands its options on", SLOW, async () => {
    await using admin = await startAdmin();
    const path = file("a.jsonl.gz", gzipSync('"u1"\n'));
    const { out } = await admin.run(
      "audience",
      "sync",
      PLACE[0],
      path,
      "--source",
      "website",
      "--dry-run",
      "--allow-shrink",
    );
    assert.equal(
      out,
      "Dry run: 1 added, 0 removed; the audience Big Spenders (big_spenders) would have 1,236 users.\n",
    );
    assert.deepEqual(admin.taken[0]?.options, { dryRun: true, allowShrink: true });
  });

  it(
    "says what is wrong, and exits with 1; with 2 if the file cannot be read, or nobody knows how it is written",
    SLOW,
    async () => {
      await using admin = await startAdmin();
      const sync = (path: string) => admin.run("audience", "sync", PLACE[0], path, "--source", "website");
      const shrunk = await sync(file("none.json", "[]"));
      assert.deepEqual([shrunk.code, shrunk.err], [1, "fairlead: the list would remove all\n"]);
      const wrong = await sync(file("wrong.json", '["u1", {}]'));
      assert.equal(wrong.code, 1);
      assert.match(wrong.err, /^fairlead: entry 2: it has no userId/);
      const missing = await sync(join(folder, "missing.csv"));
      assert.equal(missing.code, 2);
      assert.match(missing.err, /cannot read .*missing\.csv: no such file/);
      const unknown = await sync(file("list.txt", "u1"));
      assert.equal(unknown.code, 2);
      assert.match(
        unknown.err,
        /cannot tell the format of \S+list\.txt; name it with --format: csv, json, jsonl, ndjson/,
      );
    },
  );
});

describe("fairlead audience list, show and delete", () => {
  it("list them with their last sync", SLOW, async () => {
    await using admin = await startAdmin();
    const { out } = await admin.run("audience", "list");
    assert.match(out, /^source {3}audience {6}key {11}users {2}last sync {2}changes\n/);
    assert.match(out, /\nwebsite {2}Big Spenders {2}big_spenders {2}1,234 {2}1h ago {5}1,200 added, 3 removed\n$/);
    assert.equal(JSON.parse((await admin.run("audience", "list", "--json")).out).audiences[0].key, "big_spenders");
    const other = await admin.run("audience", "list", "--source", "other");
    assert.deepEqual([other.code, other.err], [1, 'fairlead: there is no source "other"; known are website\n']);
  });

  it("show one with its last syncs", SLOW, async () => {
    await using admin = await startAdmin();
    const { out } = await admin.run("audience", "show", ...PLACE);
    assert.match(out, /^audience {2}Big Spenders\nsource {4}website\nkey {7}big_spenders, aud_1\nusers {5}1,234\n/);
    assert.match(out, /\n3 {5}list {2}1h ago {2}1,200 added, 3 removed {2}2s\n$/);
    assert.equal((await admin.run("audience", "show", "other", "--source", "website")).code, 1);
  });

  it("delete one, when that is meant", SLOW, async () => {
    await using admin = await startAdmin();
    const asked = await admin.run("audience", "delete", ...PLACE);
    assert.equal(asked.code, 2);
    assert.match(asked.err, /the audience Big Spenders has 1,234 users\. Delete it\? Add --yes to confirm/);
    assert.equal((await admin.run("audience", "delete", ...PLACE, "--yes", "--silent")).code, 0);
    assert.deepEqual(admin.removed, [["Big Spenders", true]]);
  });
});

describe("fairlead traits", () => {
  it("takes users and their values", SLOW, async () => {
    await using admin = await startAdmin();
    const path = file("v.json", '[["u1", 1], {"userId": "u2", "value": null}]');
    const { out } = await admin.run("traits", "sync", "LTV", path, "--source", "website", "--json");
    assert.equal(JSON.parse(out).added, 2);
    assert.deepEqual(admin.taken[0]?.members, [
      { user: "u1", value: 1 },
      { user: "u2", value: null },
    ]);
    assert.equal((await admin.run("traits", "list")).out, "There are no traits.\n");
  });
});
