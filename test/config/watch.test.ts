import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { watchConfig } from "../../src/config/reload.ts";
import type { Reloaded } from "../../src/model/reload.ts";
import { createFalseClock, type FalseClock } from "../flow/clock.ts";

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
