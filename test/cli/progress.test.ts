import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createProgressBar, type Progress, progressLine, showWhile } from "../../src/cli/progress.ts";
import { HOUR, MB, MINUTE, SECOND } from "../../src/model/units.ts";
import { createFalseClock } from "../flow/clock.ts";

const half: Progress = { done: 50_000, total: 100_000, elapsed: 10 * SECOND };

describe("the line of a progress bar", () => {
  it("has bar, percent, count, rate and the time that is left", () => {
    assert.equal(
      progressLine(half, 80),
      "[#################..................]  50%  50,000 of 100,000  5,000/s  10s left",
    );
    assert.equal(progressLine(half, 200).length, 42 + 1 + 42);
  });

  it("is never wider than it may be: the bar goes first, then the rate, then the count", () => {
    assert.equal(progressLine(half, 54), " 50%  50,000 of 100,000  5,000/s  10s left");
    assert.equal(progressLine(half, 40), " 50%  50,000 of 100,000  10s left");
    assert.equal(progressLine(half, 20), " 50%  10s left");
    assert.equal(progressLine(half, 8), " 50%");
    for (let width = 0; width < 120; width++) assert.ok(progressLine(half, width).length <= width);
  });

  it("says no rate and no time within the first second", () => {
    assert.match(progressLine({ ...half, elapsed: 999 }, 80), /\] {2}50% {2}50,000 of 100,000$/);
  });

  it("counts without a bar where nobody knows how many there will be", () => {
    assert.equal(progressLine({ done: 1_234_567, total: null, elapsed: MINUTE }, 80), "1,234,567  20,576/s");
  });

  it("takes the share from elsewhere, as from the bytes of a file", () => {
    const text = progressLine({ done: 7, total: null, share: 0.25, elapsed: HOUR }, 80);
    assert.match(text, /^\[#+\.+\] {2}25% {2}7 {2}0\/s {2}3h left$/);
  });

  it("leaves what an earlier run did out of rate and time", () => {
    const resumed: Progress = { ...half, began: { done: 40_000, share: 0.4 } };
    assert.match(progressLine(resumed, 80), / 50% {2}50,000 of 100,000 {2}1,000\/s {2}50s left$/);
  });

  it("shows bytes in their units, and what is done", () => {
    const copying: Progress = { done: 300 * MB, total: 1_200 * MB, elapsed: 10 * SECOND, unit: "bytes" };
    assert.match(progressLine(copying, 80), / 25% {2}300MB of 1\.2GB {2}30MB\/s {2}30s left$/);
    assert.equal(progressLine({ done: 7, total: null, elapsed: 0, label: "counting" }, 80), "counting  7");
  });

  it("is full at the end, and says no time then", () => {
    assert.match(progressLine({ ...half, done: 100_000 }, 80), /^\[#+\] 100% {2}100,000 of 100,000 {2}10,000\/s$/);
    assert.match(progressLine({ done: 0, total: 0, elapsed: 0 }, 80), /^\[#+\] 100%/);
  });

  it("is not full one call before the end", () => {
    assert.match(progressLine({ done: 99_999, total: 100_000, elapsed: 0 }, 80), /\.\] {2}99%/);
  });
});

describe("a progress bar", () => {
  it("draws in place, ten times a second at most", () => {
    const screen = makeScreen();
    screen.bar.show(half);
    screen.at += 99;
    screen.bar.show(half);
    assert.equal(screen.written.length, 1);
    assert.ok(screen.written[0]?.startsWith("\r\u001B[K["));
    screen.at += 1;
    screen.bar.show(half);
    assert.equal(screen.written.length, 2);
  });

  it("leaves the last column free", () => {
    const screen = makeScreen({ columns: 44 });
    screen.bar.show(half);
    assert.equal(screen.written[0], `\r\u001B[K${progressLine(half, 43)}`);
  });

  it("writes notes above the bar, and takes the bar away at the end", () => {
    const screen = makeScreen();
    screen.bar.show(half);
    const [drawn = ""] = screen.written;
    screen.bar.note("one");
    screen.bar.clear();
    screen.bar.clear();
    assert.equal(screen.written.join(""), `${drawn}\r\u001B[Kone\n${progressLine(half, 79)}\r\u001B[K`);
  });

  it("draws a stage in its place at once", () => {
    const screen = makeScreen({ columns: 12 });
    screen.bar.show(half);
    screen.bar.stage("checking the copy");
    screen.bar.clear();
    assert.equal(screen.written.slice(1).join(""), "\r\u001B[Kchecking th\r\u001B[K");
  });

  it("is not there where nobody looks, and notes are", () => {
    const screen = makeScreen({ isTerminal: false });
    screen.bar.show(half);
    screen.bar.stage("checking");
    screen.bar.note("one");
    screen.bar.clear();
    assert.deepEqual(screen.written, ["one\n"]);
  });
});

describe("work that cannot be counted", () => {
  it("is shown after two seconds, with its age each second, until it ends", async () => {
    const clock = createFalseClock();
    const screen = makeScreen();
    const { promise, resolve } = Promise.withResolvers<number>();
    const shown = showWhile("searching", promise, { clock, bar: screen.bar });
    await clock.advance("1999ms");
    assert.deepEqual(screen.written, []);
    await clock.advance("1001ms");
    resolve(7);
    assert.equal(await shown, 7);
    const drawn = ["searching, for 2s …", "searching, for 3s …", ""].map((text) => `\r\u001B[K${text}`);
    assert.deepEqual(screen.written, drawn);
    await clock.advance("1m");
    assert.equal(screen.written.length, drawn.length);
  });

  it("that fails leaves nothing behind", async () => {
    const clock = createFalseClock();
    const screen = makeScreen();
    await assert.rejects(showWhile("searching", Promise.reject(new Error("no")), { clock, bar: screen.bar }), /no/);
    await clock.advance("1m");
    assert.deepEqual(screen.written, []);
  });
});

function makeScreen({ isTerminal = true, columns = 80 } = {}) {
  const written: string[] = [];
  const screen = { written, at: 0 };
  const bar = createProgressBar({
    write: (text) => void written.push(text),
    isTerminal,
    width: () => columns,
    now: () => screen.at,
  });
  return Object.assign(screen, { bar });
}
