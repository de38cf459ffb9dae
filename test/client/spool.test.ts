import assert from "node:assert/strict";
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { describe, it } from "node:test";
import { InvalidOptionError, QueueFullError, type SpoolError } from "../../src/client/errors.ts";
import { makeFolder } from "../folder.ts";
import { DOWN, LARGE, MB, makeSpool, sentBy, trackAll } from "./spool-world.ts";
import { startClient } from "./world.ts";

describe("a call with a spool", () => {
  it("is in a file when the call returns, and no more when the server has taken it", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const c = s.start();
    void c.track("E");
    assert.match(s.written(), /^[0-9a-f]{8} 0 - {"type":"track",.*"event":"E"}\n$/);
    assert.equal(statSync(s.segments()[0] ?? "").mode & 0o777, 0o600);
    await c.client.close(10_000);
    assert.deepEqual(s.segments(), []);
    assert.deepEqual(readdirSync(f.folder, { recursive: true }).length, 1);
  });

  it("is sent by the next process if its own is killed, with what it said of its time and its integers", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    void first.track("old", { timestamp: "2012-12-02T00:30:12Z", properties: { id: 12345678901234567890n } });
    first.kill();
    const second = s.start();
    await s.clock.rest();
    const { text, envelope } = second.arrived[0] ?? assert.fail();
    assert.match(text, /"id":12345678901234567890/);
    assert.equal(envelope.sentAt, undefined);
    assert.equal(second.delivered[0]?.properties?.id, 12345678901234567890n);
    await second.client.close(10_000);
    assert.deepEqual(s.segments(), []);
  });

  it("is not sent again once it is settled, whatever becomes of the others", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const rejected = { index: 1, code: "invalid", message: "no" };
    const first = s.start({
      flushAt: 2,
      answers: ({ nth }) => (nth === 1 ? { status: 200, body: { success: true, rejected: [rejected] } } : DOWN),
    });
    trackAll(first, 5);
    await s.clock.rest();
    assert.deepEqual([first.delivered.length, first.lost.length], [1, 1]);
    first.kill();
    const second = s.start();
    await s.clock.rest();
    assert.deepEqual(sentBy(second), ["E2", "E3", "E4"]);
  });

  it("resolves with `always` when the disk has it, in one sync with those of the same turn", async () => {
    using f = makeFolder();
    const syncs: (() => void)[] = [];
    const fsync = ((_: number, done: (error: null) => void) => void syncs.push(() => done(null))) as never;
    using s = makeSpool(f.folder);
    const c = s.start({ spool: { fsync: "always" }, fs: { fsync } });
    const resolved: string[] = [];
    for (const name of ["1", "2", "3"]) void c.track(name).then(() => resolved.push(name));
    await s.clock.rest();
    assert.deepEqual([resolved, syncs.length], [[], 1]);
    void c.track("4").then(() => resolved.push("4"));
    syncs[0]?.();
    await s.clock.rest();
    assert.deepEqual([resolved, syncs.length], [["1", "2", "3"], 2]);
    syncs[1]?.();
    await s.clock.rest();
    assert.deepEqual(resolved, ["1", "2", "3", "4"]);
  });

  it("is written to another file with `always` if the disk refuses the sync, and told if it does so again", async () => {
    using f = makeFolder();
    const told: SpoolError[] = [];
    const refused = Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    let failures = 1;
    let syncs = 0;
    const fsync = ((_: number, done: (error: Error | null) => void) => {
      syncs += 1;
      failures -= 1;
      done(failures >= 0 ? refused : null);
    }) as never;
    using s = makeSpool(f.folder);
    const c = s.start({ spool: { fsync: "always", onError: (error) => told.push(error) }, fs: { fsync } });
    await c.track("1");
    assert.deepEqual([syncs, told], [2, []]);
    assert.match(s.segments().join(), /^[^,]+-000002\.log$/);
    assert.match(s.written(), /"event":"1"/);
    failures = 2;
    await c.track("2");
    assert.deepEqual(
      told.map(({ code, cause }) => [code, cause]),
      [["spool_failed", refused]],
    );
    await c.client.close(10_000);
    assert.deepEqual([s.segments(), c.delivered.length], [[], 2]);
  });

  it("is kept when the retries are used up, told as spooled, and told again when it is delivered", async () => {
    using f = makeFolder();
    let isDown = true;
    using s = makeSpool(f.folder);
    const c = s.start({ retries: 0, answers: () => (isDown ? DOWN : 200) });
    const messageId = await c.track("E");
    const { lost, undelivered, spooled } = await c.client.flush();
    assert.deepEqual([lost, undelivered, spooled], [[], [], [messageId]]);
    isDown = false;
    await s.clock.advance("61s");
    assert.deepEqual([c.delivered.map(({ event }) => event), c.lost], [["E"], []]);
  });

  it("stays on the disk when memory has no room for it", async () => {
    using f = makeFolder();
    let isDown = true;
    using s = makeSpool(f.folder);
    const c = s.start({ queue: { limit: 10 }, flushAt: 5, answers: () => (isDown ? DOWN : 200) });
    const names = trackAll(c, 100);
    await s.clock.advance("1m");
    isDown = false;
    await s.clock.advance("2m");
    assert.deepEqual(c.lost, []);
    assert.deepEqual(new Set(c.delivered.map(({ event }) => event)), new Set(names));
  });

  it("is not tried again when an idle program has been kept alive for long enough", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const c = s.start({ answers: () => "hang" });
    void c.track("E");
    c.exit("idle");
    await s.clock.advance("5s");
    assert.deepEqual(sentBy(c), ["E"]);
    assert.match(s.written(), /"event":"E"/);
  });

  it("stays when the program ends without close, and when close has waited for too long", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    void first.track("1");
    first.exit("gone");
    await s.clock.advance("10ms");
    const second = s.start({ answers: () => "hang" });
    void second.track("2");
    const closed = second.client.close(1_000);
    await s.clock.advance("1s");
    const { undelivered, spooled } = await closed;
    assert.deepEqual([undelivered, spooled?.length], [[], 1]);
    assert.deepEqual([first.lost, second.lost], [[], []]);
    const third = s.start();
    await s.clock.rest();
    assert.deepEqual(sentBy(third), ["1", "2"]);
  });
});

describe("the backlog", () => {
  it("goes oldest first, also where several processes have left it", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    for (const name of ["b", "a", "c"]) {
      const c = s.start({ answers: () => DOWN });
      trackAll(c, 2, name);
      await s.clock.advance("900ms");
      c.kill();
    }
    const c = s.start();
    await s.clock.rest();
    assert.deepEqual(sentBy(c), ["b0", "b1", "a0", "a1", "c0", "c1"]);
  });

  it("does not hold up live calls, whatever the server does with it", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    trackAll(first, 50, "old");
    first.kill();
    const c = s.start({ answers: ({ envelope }) => (envelope.batch[0]?.event?.startsWith("old") ? "hang" : 200) });
    const live = await c.track("live");
    assert.deepEqual((await c.client.flush()).delivered, [live]);
  });

  it("is tried again without end, and at once when the server takes a live call again", async () => {
    using f = makeFolder();
    let isDown = true;
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    void first.track("old");
    first.kill();
    const c = s.start({ answers: () => (isDown ? 503 : 200) });
    await s.clock.advance("6h");
    void c.track("live");
    void c.client.flush();
    await s.clock.rest();
    isDown = false;
    await s.clock.advance("600ms");
    assert.deepEqual(new Set(c.delivered.map(({ event }) => event)), new Set(["live", "old"]));
  });

  it("is for the write key that its calls were made with", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    void first.track("E");
    first.kill();
    const [home = ""] = readdirSync(f.folder);
    renameSync(f.path(home), f.path("0badf00d"));
    const c = s.start();
    await s.clock.advance("2m");
    assert.deepEqual(c.arrived, []);
  });

  it("leaves out what is damaged, says so, and sends the rest", async () => {
    using f = makeFolder();
    const told: SpoolError[] = [];
    using s = makeSpool(f.folder);
    const first = s.start({ answers: () => DOWN });
    trackAll(first, 3);
    first.kill();
    const [path = ""] = s.segments();
    writeFileSync(path, readFileSync(path, "utf8").replace('"event":"E1"', '"event":"F1"'));
    appendFileSync(path, '8c9c2f1d 3 - {"type":"tra');
    const c = s.start({ spool: { onError: (error) => told.push(error) } });
    await s.clock.rest();
    assert.deepEqual(sentBy(c), ["E0", "E2"]);
    assert.deepEqual(
      told.map(({ code }) => code),
      ["spool_damaged"],
    );
    assert.match(told[0]?.message ?? "", /^a line of \S+\.log does not match its checksum, and is skipped$/);
  });
});

/** A disk that is full from the call on that is named; half of a line is written then. */
function fullDisk() {
  let isFull = false;
  const write = (file: number, line: Uint8Array, at = 0): number => {
    if (!isFull) return writeSync(file, line, at);
    if (at > 0) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    return writeSync(file, line, 0, Math.floor(line.length / 2));
  };
  return { fs: { writeSync: write as never as (...args: unknown[]) => number }, fill };

  function fill(full: boolean): void {
    isFull = full;
  }
}

describe("a full disk", () => {
  it("is told once, and calls are in memory as without a spool", async () => {
    using f = makeFolder();
    const told: SpoolError[] = [];
    const disk = fullDisk();
    using s = makeSpool(f.folder);
    const c = s.start({ fs: disk.fs, spool: { onError: (error) => told.push(error) } });
    void c.track("1");
    disk.fill(true);
    void c.track("2");
    void c.track("3");
    disk.fill(false);
    void c.track("4");
    assert.match(s.written(), /^\S+ 0 - .*"event":"1".*\n\S+ 1 - .*"event":"4".*\n$/);
    assert.deepEqual(
      told.map(({ code, cause }) => [code, String(cause)]),
      [["spool_failed", "Error: ENOSPC: no space left on device"]],
    );
    assert.equal((await c.client.flush()).delivered.length, 4);
  });

  it("is told once if it only refuses to sync, and again when it has worked meanwhile", async () => {
    using f = makeFolder();
    let isRefused = true;
    const told: SpoolError[] = [];
    const fsync = ((_: number, done: (error: Error | null) => void) =>
      done(isRefused ? new Error("EIO: i/o error") : null)) as never;
    using s = makeSpool(f.folder);
    const c = s.start({ fs: { fsync }, spool: { onError: (error) => told.push(error) } });
    const counts: number[] = [];
    for (const refused of [true, true, false, true, true]) {
      isRefused = refused;
      void c.track("E");
      await s.clock.advance("2s");
      counts.push(told.length);
    }
    assert.deepEqual(counts, [1, 1, 1, 2, 2]);
  });

  it("keeps no program from starting, and is used when it has room", async () => {
    using f = makeFolder();
    const told: SpoolError[] = [];
    let isFull = true;
    const refuse = (): never => {
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
    };
    const fs = {
      mkdirSync: ((path: string, options: object) =>
        isFull && path !== f.folder ? refuse() : mkdirSync(path, options)) as never,
    };
    using s = makeSpool(f.folder);
    const c = s.start({ fs, answers: () => DOWN, spool: { onError: (error) => told.push(error) } });
    void c.track("1");
    void c.track("2");
    assert.deepEqual(
      told.map(({ code, cause }) => [code, String(cause)]),
      [["spool_failed", "Error: ENOSPC: no space left on device"]],
    );
    isFull = false;
    void c.track("3");
    assert.match(s.written(), /"event":"3"/);
  });

  it("refuses the call with `reject`, and takes the next when there is room", () => {
    using f = makeFolder();
    const disk = fullDisk();
    using s = makeSpool(f.folder);
    const c = s.start({ fs: disk.fs, queue: { whenFull: "reject" }, spool: { onError: () => {} } });
    disk.fill(true);
    assert.throws(() => c.track("1"), QueueFullError);
    disk.fill(false);
    void c.track("2");
    assert.match(s.written(), /^\S+ 0 - .*"event":"2".*\n$/);
  });

  it("holds up the call with `block`, until there is room", async () => {
    using f = makeFolder();
    const disk = fullDisk();
    using s = makeSpool(f.folder);
    const c = s.start({ fs: disk.fs, queue: { whenFull: "block", limit: 2 }, spool: { onError: () => {} } });
    disk.fill(true);
    const resolved: string[] = [];
    for (const name of ["1", "2"]) void c.track(name).then(() => resolved.push(name));
    assert.throws(() => c.track("3"), QueueFullError);
    await s.clock.advance("2s");
    assert.deepEqual(resolved, []);
    disk.fill(false);
    const flushed = c.client.flush();
    await s.clock.advance("1s");
    assert.deepEqual(resolved, ["1", "2"]);
    assert.equal((await flushed).delivered.length, 2);
  });
});

describe("a call that waits for room on the disk", () => {
  it("looks for it once a second, however often calls had to wait before", async () => {
    using f = makeFolder();
    const disk = fullDisk();
    let attempts = 0;
    const writeSync = ((...args: [number, Uint8Array, number]) => {
      attempts += 1;
      return disk.fs.writeSync(...args);
    }) as never;
    using s = makeSpool(f.folder);
    const c = s.start({ fs: { writeSync }, queue: { whenFull: "block" }, flushAt: 1, spool: { onError: () => {} } });
    for (let nth = 0; nth < 20; nth += 1) {
      disk.fill(false);
      void c.track("kept");
      disk.fill(true);
      void c.track("waits");
      disk.fill(false);
      await s.clock.rest();
    }
    assert.equal(c.delivered.length, 40);
    disk.fill(true);
    void c.track("waits");
    await s.clock.advance("1s");
    attempts = 0;
    await s.clock.advance("10s");
    assert.ok(attempts <= 40, `${attempts} attempts in 10 s`);
  });
});

describe("a full spool", () => {
  it("drops the oldest calls with `dropOldest`, and tells each", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    const c = s.start({ queue: { limit: 1 }, answers: () => DOWN, spool: { maxBytes: MB } });
    for (let nth = 0; nth < 100; nth += 1) void c.track(`E${nth}`, LARGE);
    assert.ok(c.lost.length > 30 && c.lost.length < 70, `${c.lost.length} were lost`);
    assert.ok(c.lost.every(({ reason }) => reason === "dropped"));
    assert.ok(s.written().length <= MB + 30_000);
    c.kill();
    const next = s.start();
    await s.clock.rest();
    const lost = c.lost.map(({ call }) => call.event ?? "");
    assert.deepEqual(new Set([...lost, ...sentBy(next)]), new Set(Array.from({ length: 100 }, (_, nth) => `E${nth}`)));
  });

  it("refuses calls with `reject`, until the server has taken some", async () => {
    using f = makeFolder();
    let isDown = true;
    using s = makeSpool(f.folder);
    const options = { queue: { whenFull: "reject" }, spool: { maxBytes: MB, onError: () => {} } } as const;
    const c = s.start({ ...options, answers: () => (isDown ? DOWN : 200) });
    let kept = 0;
    assert.throws(() => {
      for (; kept < 100; kept += 1) void c.track("E", LARGE);
    }, /^QueueFullError: the spool has no room for the call/);
    isDown = false;
    await s.clock.advance("1m");
    assert.equal(c.delivered.length, kept);
    await c.track("again", LARGE);
  });

  it("is no endless circle for calls that onError makes", async () => {
    using f = makeFolder();
    using s = makeSpool(f.folder);
    let losses = 0;
    const c = s.start({
      queue: { limit: 1 },
      spool: { maxBytes: MB },
      answers: () => DOWN,
      onError() {
        losses += 1;
        void c.track("told", LARGE);
      },
    });
    for (let nth = 0; nth < 60; nth += 1) void c.track(`E${nth}`, LARGE);
    assert.ok(losses > 20 && losses < 400, `${losses} losses`);
    assert.deepEqual(c.lines, []);
  });
});

describe("a call that onError makes while disk and memory are full", () => {
  it("throws, and nothing waits for it", async () => {
    using f = makeFolder();
    const disk = fullDisk();
    using s = makeSpool(f.folder);
    const c = s.start({
      ...{ fs: disk.fs, queue: { limit: 1 }, spool: { onError: () => {} }, answers: () => DOWN },
      onError: () => void c.track("told"),
    });
    disk.fill(true);
    for (const name of ["1", "2", "3"]) void c.track(name);
    assert.match(c.lines.join(), /QueueFullError/);
    let isClosed = false;
    void c.client.close(1_000).then(() => {
      isClosed = true;
    });
    await s.clock.advance("2s");
    assert.ok(isClosed);
  });
});

describe("the option spool", () => {
  it("is refused where there are no files, and where its directory cannot be used", () => {
    using f = makeFolder();
    assert.throws(() => startClient({ spool: { directory: f.folder } }), InvalidOptionError);
    writeFileSync(f.path("file"), "");
    using s = makeSpool(f.path("file"));
    assert.throws(() => s.start(), /spool.directory cannot be used: E/);
  });

  it("is refused with a name or a value that it does not have", () => {
    const start = (spool: object) => () => startClient({ spool: spool as never });
    assert.throws(start({}), /spool.directory must be a path \(got nothing\)/);
    assert.throws(start({ directory: "x", path: "x" }), /there is no option spool.path/);
    assert.throws(start({ directory: "x", fsync: "never" }), /spool.fsync must be always or interval \(got "never"\)/);
    assert.throws(start({ directory: "x", maxBytes: 1 }), /spool.maxBytes must be a whole number of at least 1048576/);
  });

  it("changes no report without it", async () => {
    assert.deepEqual(await startClient().client.flush(), { delivered: [], lost: [], undelivered: [], duplicates: 0 });
  });
});
