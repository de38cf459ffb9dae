// Several processes on one spool: who sends what, and what becomes of calls when one is taken for dead.
import assert from "node:assert/strict";
import { openSync, readdirSync, utimesSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { describe, it } from "node:test";
import { makeFolder } from "../folder.ts";
import { DOWN, LARGE, MB, makeSpool, sentBy, trackAll } from "./spool-world.ts";

describe("several processes on one directory", () => {
  it("leave the calls of each other alone while they live", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    void first.track("1");
    const second = s.start();
    await s.clock.advance("5m");
    assert.deepEqual(second.arrived, []);
  });

  it("take over what one has left, while they run", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    const second = s.start();
    void first.track("1");
    first.kill();
    await s.clock.advance("11s");
    assert.deepEqual(sentBy(second), ["1"]);
  });

  it("on several machines take over what has not been heard of for a minute", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN, host: "there", world: { after: () => () => {} } });
    void first.track("1");
    const second = s.start();
    await s.clock.advance("50s");
    assert.deepEqual(second.arrived, []);
    await s.clock.advance("21s");
    assert.deepEqual(sentBy(second), ["1"]);
  });

  it("lose nothing if one lives that was taken for dead: what it syncs later is written again", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN, spool: { fsync: "always" } });
    await first.track("before");
    first.hide();
    const thief = s.start();
    await s.clock.rest();
    assert.deepEqual(sentBy(thief), ["before"]);
    await first.track("after");
    assert.match(s.written(), /"event":"after"/);
    const third = s.start();
    await s.clock.rest();
    assert.deepEqual(sentBy(third), ["after"]);
  });

  it("leave to others what does not fit into their own spool, and take it when there is room", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const spool = { maxBytes: MB };
    const workers = ["a", "b", "c"].map((name) => {
      const c = s.start({ spool, answers: () => DOWN });
      return { c, names: trackAll(c, 25, name, LARGE) };
    });
    for (const { c } of workers) c.kill();
    let isDown = true;
    const last = s.start({ spool, answers: () => (isDown ? DOWN : 200) });
    void last.track("live");
    await s.clock.advance("1m");
    assert.deepEqual(last.lost, []);
    isDown = false;
    await s.clock.advance("3m");
    assert.deepEqual(new Set(sentBy(last)), new Set(["live", ...workers.flatMap(({ names }) => names)]));
    assert.deepEqual(last.lost, []);
  });

  it("lose nothing if one that was taken for dead fills a segment before it notices", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN, spool: { fsync: "always", maxBytes: MB } });
    await first.track("before");
    first.hide();
    const thief = s.start();
    await s.clock.rest();
    const calls = Array.from({ length: 12 }, (_, nth) => first.track(`E${nth}`, LARGE));
    await Promise.all(calls);
    for (let nth = 0; nth < 12; nth += 1) assert.match(s.written(), new RegExp(`"event":"E${nth}"`));
    assert.deepEqual(sentBy(thief), ["before"]);
  });

  it("notice with the first call that they were frozen for too long", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN, host: "there", world: { after: () => () => {} } });
    void first.track("before");
    const thief = s.start();
    await s.clock.advance("71s");
    assert.deepEqual(sentBy(thief), ["before"]);
    void first.track("after");
    first.kill();
    assert.match(s.written(), /"event":"after"/);
  });

  it("do not take each other for dead when the machine has slept, or its clock was set", async () => {
    for (const sleep of ["sleep", "ahead", "back"]) {
      using f = makeFolder();
      using s = makeSpool(f.folder);
      const awakeFirst = s.start();
      await s.clock.advance("1s");
      const other = s.start({ answers: () => DOWN });
      void other.track("1");
      await s.clock.advance("1s");
      if (sleep === "sleep") s.clock.skip("1h");
      else s.clock.setWall(s.clock.wall() + (sleep === "ahead" ? 3_600_000 : -3_600_000));
      void awakeFirst.track("2");
      await s.clock.advance("1m");
      assert.deepEqual(sentBy(awakeFirst), ["2"], sleep);
    }
  });

  it("take over what was left before the clock was set back", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN, host: "there" });
    void first.track("1");
    first.kill();
    const ahead = s.clock.wall() / 1_000 + 86_400;
    for (const path of readdirSync(f.folder, { recursive: true, encoding: "utf8" }))
      if (path.endsWith("owner")) utimesSync(f.path(path), ahead, ahead);
    const second = s.start();
    await s.clock.advance("11s");
    assert.deepEqual(sentBy(second), ["1"]);
  });
});

describe("a new folder of the spool", () => {
  it("has a name that a power cut leaves, as have its segments", async () => {
    using f = makeFolder();
    const opened = new Map<number, string>();
    const synced = new Set<string>();
    using s = makeSpool(f.folder);
    const c = s.start({
      spool: { directory: f.path("spool"), fsync: "always" },
      fs: {
        openSync: ((path: string, flags: string, mode?: number) => {
          const file = openSync(path, flags, mode);
          opened.set(file, resolve(path));
          return file;
        }) as never,
        fsyncSync: (file) => void synced.add(opened.get(file) ?? ""),
      },
    });
    await c.track("E");
    let folder = dirname(s.segments()[0] ?? assert.fail());
    for (; folder !== dirname(f.folder); folder = dirname(folder))
      assert.ok(synced.has(folder), `${folder} is not synced`);
  });
});
