import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PATIENT } from "../binary/waiting.ts";
import { FAR, MISSING, makeNetworkWorld } from "./network-world.ts";
import { eventually, settled, statusOf } from "./observe.ts";

const NEEDING_NETWORKS = { ...PATIENT, skip: MISSING };
/** Where a delivery would be given up soon, if time without a network counted. */
const CUTOFF = { cutoff: "8s" };

describe("a network that is cut for longer than a delivery lives", () => {
  it("at the daemon's machine uses nothing of its time, and then all arrives", NEEDING_NETWORKS, async () => {
    await using w = await makeNetworkWorld();
    const receiver = await w.listen();
    const daemon = await w.serve(FAR, CUTOFF);
    await w.call("m-before");
    await receiver.line(/"m-before\W/);

    w.set("near", "down");
    const ids = Array.from({ length: 20 }, (_, nth) => `m-${nth}`);
    for (const id of ids) await w.call(id);
    const offline = await daemon.process.line(/msg=attempt\.failed .*outcome=offline/);
    assert.match(
      offline,
      /level=warning .* code=E(NETUNREACH|HOSTUNREACH|NETDOWN) reason="(no route|the network is down)/,
    );
    // More than one wait, and longer than the cutoff.
    await eventually("it was tried for longer", async () => {
      const { state, oldestWaiting } = await statusOf(daemon);
      return state === "offline" && (oldestWaiting ?? 0) > 12_000 ? true : null;
    });
    w.set("near", "up");
    for (const id of ids) await receiver.line(new RegExp(`"${id}\\W`));
    await settled(daemon);
    assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: 21, failed: 0, expired: 0 });
  });

  it("behind it is tried again until it is there, as a receiver that does not answer", NEEDING_NETWORKS, async () => {
    await using w = await makeNetworkWorld();
    const receiver = await w.listen();
    const daemon = await w.serve(FAR);
    w.set("far", "down");
    await w.call("m-1");
    await daemon.process.lines(/msg=delivery\.retrying .*event=m-1 /, 2);
    w.set("far", "up");
    await receiver.line(/"m-1\W/);
    await settled(daemon);
    assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: 1, failed: 0, expired: 0 });
  });
});

describe("the name of a receiver", () => {
  it(
    "that no name server answers for is waited for as a network is, that there is none is not",
    NEEDING_NETWORKS,
    async () => {
      await using w = await makeNetworkWorld();
      const daemon = await w.serve("crm.invalid");
      // Nobody is there to say no, and the library's patience is longer than that with a receiver.
      w.set("far", "down");
      await w.call("m-1");
      await daemon.process.lines(/msg=delivery\.retrying .*reason="offline: no name server answered"/, 2);
      assert.ok(!daemon.process.err.some((line) => /outcome=timeout/.test(line)), "no attempt counted");
      const { state, lastError } = await statusOf(daemon);
      assert.deepEqual([state, lastError?.reason], ["offline", "no name server answered"]);

      w.set("far", "up");
      await using server = await w.answerNames("other.invalid");
      await daemon.process.line(/outcome=unreachable code=ENOTFOUND reason="name not found"/);
      assert.equal((await statusOf(daemon)).state, "failing");
      await server[Symbol.asyncDispose]();
      await w.answerNames("crm.invalid");
      const receiver = await w.listen();
      await receiver.line(/"m-1\W/);
      await settled(daemon);
      assert.deepEqual((await statusOf(daemon)).counts, { waiting: 0, delivered: 1, failed: 0, expired: 0 });
    },
  );
});
