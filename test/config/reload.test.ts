import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createReloader, type Explain, type Read, watchConfig } from "../../src/config/reload.ts";
import { atOnce, type Steps } from "../../src/config/steps.ts";
import type { Config, Problem } from "../../src/model/config.ts";
import type { Reloaded } from "../../src/model/daemon.ts";
import { StoreAway } from "../../src/model/fault.ts";
import type { Report } from "../../src/model/report.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";
import { makeConfig } from "../flow/make.ts";

const WARNING: Problem = {
  ...{ severity: "warning", file: "config.yaml", line: 3, column: 1, path: "sources.a", message: "is used by nobody" },
  text: "a:",
};
const ERROR: Problem = { ...WARNING, severity: "error", path: "log.level", message: "must be a level" };

type Told = readonly [what: string, fields: Parameters<Report["daemon"]>[1]];

type Readable = Extract<Read, { readonly config: unknown }>;

/** What is read is explained by nothing unless a test says otherwise. */
type Found = Exclude<Read, Readable> | (Omit<Readable, "explain"> & Partial<Readable>);

function start(read: () => Found, apply?: (config: Config, explain: Explain) => Promise<void>) {
  const told: Told[] = [];
  const applied: Config[] = [];
  const clock = createFalseClock();
  const { reload, status } = createReloader({
    clock,
    file: "config.yaml",
    async read() {
      const found = read();
      return "config" in found ? { explain: () => explained(""), ...found } : found;
    },
    async apply(config, explain) {
      await apply?.(config, explain);
      applied.push(config);
      return { changes: ["log.level info → debug", "source a added"], needsRestart: ["ingest.listen"] };
    },
    report: { daemon: (what, fields) => void told.push([what, fields]) },
  });
  return { clock, reload, status, told, applied };
}

function* explained(text: string): Steps<string> {
  yield;
  return text;
}

describe("a reload", () => {
  it("applies a config together with what explains it", async () => {
    const texts: string[] = [];
    const config = makeConfig();
    const { reload } = start(
      () => ({ config, problems: [], explain: () => explained("log: {}\n") }),
      async (_, explain) => void texts.push(atOnce(explain())),
    );
    await reload();
    assert.deepEqual(texts, ["log: {}\n"]);
  });

  it("tells what is different, what needs a restart, and the warnings", async () => {
    const config = makeConfig();
    const { reload, told, applied } = start(() => ({ config, problems: [WARNING] }));
    const changes = ["log.level info → debug", "source a added"];
    const needsRestart = ["ingest.listen"];
    assert.deepEqual(await reload(), { kind: "reloaded", changes, needsRestart, problems: [WARNING] });
    assert.deepEqual(applied, [config]);
    const { line, column, path: key, message: reason } = WARNING;
    assert.deepEqual(told, [
      ["config_warning", { config: "config.yaml", line, column, key, reason }],
      [
        "reloaded",
        {
          config: "config.yaml",
          changes: "log.level info → debug; source a added",
          needsRestart: "ingest.listen",
        },
      ],
    ]);
  });

  it("of a config with errors changes nothing, and tells each of them", async () => {
    const { reload, told, applied } = start(() => ({ config: null, problems: [WARNING, ERROR] }));
    const reason = "the config has errors";
    assert.deepEqual(await reload(), { kind: "refused", reason, problems: [WARNING, ERROR] });
    assert.deepEqual(applied, []);
    assert.deepEqual(
      told.map(([what]) => what),
      ["config_warning", "config_problem", "reload_failed"],
    );
    assert.equal(told.at(-1)?.[1].reason, "the config has errors; the old config stays in force");
  });

  it("of a file that cannot be read changes nothing", async () => {
    const { reload, applied } = start(() => ({ unreadable: "cannot read config.yaml: no such file" }));
    const reason = "cannot read config.yaml: no such file";
    assert.deepEqual(await reload(), { kind: "refused", reason, problems: [] });
    assert.deepEqual(applied, []);
  });

  it("changes nothing while the outbox is away, and may be tried again", async () => {
    const away = async () => Promise.reject(new StoreAway("connection refused"));
    const { reload, applied } = start(() => ({ config: makeConfig(), problems: [] }), away);
    const reason = "the outbox cannot be read now: connection refused";
    assert.deepEqual(await reload(), { kind: "refused", reason, problems: [], again: true });
    assert.deepEqual(applied, []);
  });

  it("of files that take too long changes nothing, and may be tried again", async () => {
    const { reload } = start(() => ({ unreadable: "reading secret takes longer than 5s", again: true }));
    const reason = "reading secret takes longer than 5s";
    assert.deepEqual(await reload(), { kind: "refused", reason, problems: [], again: true });
  });

  it("that cannot be built changes nothing, and the next one is tried anew", async () => {
    let broken = true;
    const { reload, applied } = start(
      () => ({ config: makeConfig(), problems: [] }),
      async () => {
        if (broken) throw new Error("cannot serve the certificate");
      },
    );
    assert.deepEqual(await reload(), { kind: "refused", reason: "cannot serve the certificate", problems: [] });
    broken = false;
    assert.equal((await reload()).kind, "reloaded");
    assert.equal(applied.length, 1);
  });

  it("waits for the one before it, and is shared by all who ask meanwhile", async () => {
    let reads = 0;
    const gates: PromiseWithResolvers<void>[] = [];
    const { clock, reload, applied } = start(
      () => ({ config: makeConfig({ outbox: { ...makeConfig().outbox, maxSize: ++reads } }), problems: [] }),
      () => {
        const gate = Promise.withResolvers<void>();
        gates.push(gate);
        return gate.promise;
      },
    );
    const all = Array.from({ length: 20 }, () => reload());
    assert.equal(reads, 1);
    await clock.rest();
    gates[0]?.resolve();
    await all[0];
    // Whatever the first one has read, the others asked later: they get what was written until then.
    await clock.rest();
    assert.equal(reads, 2);
    gates[1]?.resolve();
    const results = await Promise.all(all);
    assert.ok(results.every(({ kind }) => kind === "reloaded"));
    assert.deepEqual(
      applied.map(({ outbox }) => outbox.maxSize),
      [1, 2],
    );
  });

  it("is remembered for the operator: when, why it was refused, and what waits for a restart", async () => {
    let bad = true;
    const { clock, reload, status } = start(() => ({ config: bad ? null : makeConfig(), problems: [] }));
    const readAt = clock.wall();
    assert.deepEqual(status(), { file: "config.yaml", readAt, refused: null, needsRestart: [] });
    await clock.advance("1m");
    await reload();
    const refused = { at: readAt + 60_000, reason: "the config has errors" };
    assert.deepEqual(status(), { file: "config.yaml", readAt, refused, needsRestart: [] });
    bad = false;
    await clock.advance("1m");
    await reload();
    const needsRestart = ["ingest.listen"];
    assert.deepEqual(status(), { file: "config.yaml", readAt: readAt + 120_000, refused: null, needsRestart });
  });
});

type Watched = AsyncDisposable & {
  readonly clock: FalseClock;
  /** The state of each file at this moment. */
  readonly files: Map<string, string>;
  /** After which time each reload came, in milliseconds. */
  readonly reloads: readonly number[];
};

type WatchOptions = { readonly rereads?: boolean; readonly result?: Reloaded };

const DONE: Reloaded = { kind: "reloaded", changes: [], needsRestart: [], problems: [] };

/** Watches two files. `rereads`: whether a reload looks at them at all; a broken one may not. */
function watch({ rereads = true, result = DONE }: WatchOptions = {}): Watched {
  const clock = createFalseClock();
  const start = clock.now();
  const files = new Map([
    ["config.yaml", "c1"],
    ["secret", "s1"],
  ]);
  let seen = new Map(files);
  const reloads: number[] = [];
  const closing = new AbortController();
  const watching = watchConfig(
    {
      clock,
      look: async (path) => files.get(path) ?? "ENOENT",
      seen: () => seen,
      async reload() {
        reloads.push(clock.now() - start);
        if (rereads) seen = new Map([...seen.keys()].map((path) => [path, files.get(path) ?? "ENOENT"]));
        return result;
      },
    },
    closing.signal,
  );
  return {
    ...{ clock, files, reloads },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await watching;
    },
  };
}

describe("a config that is watched", () => {
  it("is left alone as long as nothing changes", async () => {
    await using w = watch();
    await w.clock.advance("1h");
    assert.deepEqual(w.reloads, []);
  });

  it("is read within two seconds after any of its files has changed", async () => {
    for (const path of ["config.yaml", "secret"]) {
      await using w = watch();
      await w.clock.advance("10s");
      w.files.set(path, "new");
      await w.clock.advance("2s");
      assert.deepEqual(w.reloads, [11_700], path);
      await w.clock.advance("1h");
      assert.equal(w.reloads.length, 1);
    }
  });

  it("is read when it has stood still: it may be half written", async () => {
    await using w = watch();
    for (let write = 0; write < 8; write++) {
      w.files.set("config.yaml", `part ${write}`);
      await w.clock.advance("600ms");
    }
    assert.deepEqual(w.reloads, []);
    await w.clock.advance("2s");
    assert.equal(w.reloads.length, 1);
  });

  it("is read in the end, even if it never stands still", async () => {
    await using w = watch();
    for (let write = 0; write < 200; write++) {
      w.files.set("secret", `part ${write}`);
      await w.clock.advance("100ms");
    }
    assert.equal(w.reloads.length, 1);
  });

  it("is read again if it could not be read in time, though it does not change", async () => {
    const result: Reloaded = { kind: "refused", reason: "too slow", problems: [], again: true };
    await using w = watch({ rereads: false, result });
    w.files.set("config.yaml", "c2");
    await w.clock.advance("70s");
    assert.deepEqual(w.reloads, [1_700, 33_400, 65_100]);
  });

  it("is not read if what changed is as it was before it stood still", async () => {
    await using w = watch();
    w.files.set("config.yaml", "c2");
    await w.clock.advance("1100ms");
    w.files.set("config.yaml", "c1");
    await w.clock.advance("10s");
    assert.deepEqual(w.reloads, []);
  });

  it("is read when it goes, and when it comes back", async () => {
    await using w = watch();
    w.files.delete("config.yaml");
    await w.clock.advance("10s");
    assert.equal(w.reloads.length, 1);
    w.files.set("config.yaml", "c2");
    await w.clock.advance("10s");
    assert.equal(w.reloads.length, 2);
  });

  it("is read once for each change, also if a reload does not see it", async () => {
    await using w = watch({ rereads: false });
    w.files.set("config.yaml", "c2");
    await w.clock.advance("1m");
    assert.equal(w.reloads.length, 1);
    w.files.set("config.yaml", "c3");
    await w.clock.advance("1m");
    assert.equal(w.reloads.length, 2);
  });
});
