import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import process from "node:process";
import { describe, it } from "node:test";
import { type Hook, startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "../binary/world.ts";
import { ask, eventually, metric, settled, statusOf } from "./observe.ts";

const MACHINE = process.arch === "arm64" ? "aarch64" : "x86_64";
const LIBRARY = `/usr/lib/${MACHINE}-linux-gnu/faketime/libfaketime.so.1`;
/** Why there is nothing to test with; false if there is. */
const MISSING = existsSync(LIBRARY) ? false : "there is no libfaketime on this machine (apt install libfaketime)";
const STEPPING = { ...PATIENT, skip: MISSING };

const HOUR = 3_600_000;
/** More than the four hours after which a delivery is given up. */
const STEPS = ["+5h", "-5h", "+0"];

/** A daemon in a world of which the clock can be set while it runs. */
async function serve(w: World, offset: string): Promise<Daemon> {
  await step(w, offset);
  return w.serve({
    env: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: w.path("clock"),
      // As when somebody sets the clock of a machine: the monotonic one goes on. Its name has changed between versions.
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      DONT_FAKE_MONOTONIC: "1",
      FAKETIME_NO_CACHE: "1",
    },
  });
}

/** As a whole: the file is read at each look at the clock. */
async function step(w: World, offset: string): Promise<void> {
  await writeFile(w.path("clock.new"), `${offset}\n`);
  await rename(w.path("clock.new"), w.path("clock"));
}

/** What `status` says of the machine's clock. */
async function clockOf(daemon: Daemon): Promise<{ readonly plausible: boolean; readonly code: string | null }> {
  const { clock } = (await (await ask(daemon, "/api/status")).json()) as { clock: Awaited<ReturnType<typeof clockOf>> };
  return clock;
}

async function call(daemon: Daemon, messageId: string): Promise<void> {
  const response = await daemon.call("/v1/track", { userId: "u1", event: "E", messageId });
  assert.equal(response.status, 200);
}

describe("a machine's clock that steps by five hours, forward, back and to where it was", () => {
  it("neither expires nor freezes a delivery, and nothing is sent more often for it", STEPPING, async () => {
    let isWell = false;
    // Others come through now and then: a receiver that refuses all there is would be left alone for longer and longer.
    const answer = ({ messageId, sent }: Hook): number => ((messageId === "m-before" ? isWell : sent > 2) ? 200 : 503);
    await using receiver = startReceiver(answer);
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
    const daemon = await serve(w, "+0");
    await call(daemon, "m-before");
    await receiver.count(1);

    for (const offset of STEPS) {
      const id = `m${offset}`;
      await step(w, offset);
      await call(daemon, id);
      await receiver.all([id]);
      const [first, second] = receiver.hooks.filter(({ messageId }) => messageId === id);
      assert.ok(first && second && second.at - first.at >= 700, "it is not tried again at once");
    }
    const { counts } = await statusOf(daemon);
    assert.deepEqual([counts.failed, counts.expired], [0, 0]);
    const stamps = receiver.hooks.map(({ body, at }) => Date.parse(JSON.parse(body).receivedAt) - at);
    assert.ok(
      stamps.some((ahead) => ahead > 4 * HOUR) && stamps.some((ahead) => ahead < -4 * HOUR),
      "the daemon saw it",
    );

    isWell = true;
    await receiver.all(["m-before", ...STEPS.map((offset) => `m${offset}`)]);
    await settled(daemon);
    assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: 4, failed: 0, expired: 0 });
  });

  it("that is five hours behind after a restart leaves nothing lying", STEPPING, async () => {
    let isWell = false;
    await using receiver = startReceiver(() => (isWell ? 200 : 503));
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const first = await serve(w, "+0");
    await call(first, "m-before");
    await receiver.count(1);
    first.process.kill("SIGKILL");
    await first.process.exit;

    isWell = true;
    const again = await serve(w, "-5h");
    await call(again, "m-after");
    await receiver.all(["m-before", "m-after"]);
    await settled(again);
  });
});

/** From now to 1972, and to 2103. */
const [TO_1972, TO_2103] = ["-20000d", "+28000d"];

describe("a board without a clock of its own", () => {
  it("boots in 1972, gets the time, boots in 2103, and gives nothing up early", STEPPING, async () => {
    let isWell = false;
    await using receiver = startReceiver(() => (isWell ? 200 : 503));
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const ids: string[] = [];
    let daemon = await serve(w, TO_1972);
    await callAndSeeTried("m-1972");
    assert.deepEqual(
      [(await clockOf(daemon)).code, await metric(daemon, "fairlead_clock_implausible")],
      ["before_build", 1],
    );
    await step(w, "+0");
    await callAndSeeTried("m-put-right");
    assert.equal(await metric(daemon, "fairlead_clock_implausible"), 0);
    for (const [offset, code] of [
      ["+0", null],
      [TO_2103, "ahead"],
      ["+5h", null],
      ["+0", "behind"],
    ] as const) {
      daemon.process.kill("SIGKILL");
      await daemon.process.exit;
      daemon = await serve(w, offset);
      await callAndSeeTried(`m${ids.length}`);
      assert.equal((await clockOf(daemon)).code, code);
      const { waiting, failed, expired } = (await statusOf(daemon)).counts;
      assert.deepEqual([waiting, failed, expired], [ids.length, 0, 0]);
    }
    isWell = true;
    await receiver.all(ids);
    await settled(daemon);

    async function callAndSeeTried(id: string): Promise<void> {
      ids.push(id);
      await call(daemon, id);
      await eventually(`${id} was tried`, () => receiver.hooks.some(({ messageId }) => messageId === id) || null);
    }
  });
});
