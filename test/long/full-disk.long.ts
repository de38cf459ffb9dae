import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Receiver, startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig } from "../binary/world.ts";
import { noise } from "../model/make.ts";
import { eventually, metric, ready, settled } from "./observe.ts";
import { MISSING, makeSmallDisk } from "./small-disk.ts";

const MB = 1_024 * 1_024;
const NEEDING_DISKS = { ...PATIENT, skip: MISSING };
/** So many clients call at once. */
const CLIENTS = 8;

function configFor(receiver: Receiver, outbox: object) {
  return { ...JSON.parse(makeConfig({ url: receiver.url })), outbox };
}

let calls = 0;

/** A call that hardly gets smaller by compression. Answers its messageId with the answer. */
async function callOnce(daemon: Daemon) {
  calls += 1;
  const messageId = `m-${calls}`;
  const call = { userId: "u", event: "E", messageId, properties: { text: noise(30_000, calls) } };
  const response = await daemon.call("/v1/track", call);
  const retryAfter = response.headers.get("retry-after");
  const { code = null } = (await response.json()) as { code?: string };
  return { messageId, status: response.status, code, retryAfter };
}

type Answer = Awaited<ReturnType<typeof callOnce>>;

/** Calls until every client was refused. Answers who was acknowledged, and how the others were refused. */
async function fill(daemon: Daemon): Promise<{ acknowledged: readonly string[]; refusals: readonly Answer[] }> {
  const acknowledged: string[] = [];
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (;;) {
      const answer = await callOnce(daemon);
      if (answer.status !== 200) return answer;
      acknowledged.push(answer.messageId);
    }
  });
  return { refusals: await Promise.all(clients), acknowledged };
}

/** Resolves with the messageId of the first call that is taken. */
function taken(daemon: Daemon): Promise<string> {
  return eventually("a call is taken", async () => {
    const { status, messageId } = await callOnce(daemon);
    return status === 200 ? messageId : null;
  });
}

function most(receiver: Receiver): number {
  return Math.max(...receiver.hooks.map(({ sent }) => sent));
}

describe("a disk that is full to the last byte", () => {
  it("refuses calls, goes on delivering, and takes calls again once a file is removed", NEEDING_DISKS, async () => {
    await using receiver = startReceiver();
    await using disk = await makeSmallDisk("12m");
    await disk.occupy("ballast", 6 * MB);
    // Nothing warns of the end.
    const config = configFor(receiver, { freeDisk: 0 });
    const daemon = await disk.serve(config);

    const { acknowledged, refusals } = await fill(daemon);
    assert.ok(acknowledged.length > 20, `${acknowledged.length} were taken before`);
    for (const { status, code, retryAfter } of refusals) {
      assert.deepEqual([status, code, retryAfter], [503, "store_failed", "10"]);
    }
    await daemon.process.line(/msg=store\.failed doing=commit reason=.*(disk is full|disk I\/O error)/);
    await receiver.all(acknowledged);

    await disk.vacate("ballast");
    const later = await taken(daemon);
    await receiver.all([later]);
    await settled(daemon);
    assert.deepEqual(await ready(daemon), [200, undefined]);
    assert.equal(most(receiver), 1, "nothing was sent twice");

    daemon.process.kill("SIGKILL");
    await daemon.process.exit;
    const again = await disk.serve(config);
    const last = await taken(again);
    await receiver.all([last]);
    assert.equal(most(receiver), 1, "what became of it was in the outbox");
  });

  it("loses nothing that was acknowledged to a kill -9 while it is full", NEEDING_DISKS, async () => {
    await using receiver = startReceiver(({ sent }) => (sent === 1 ? 503 : 200));
    // Afterwards the log may take as much room in the file again, and what is done with it some more.
    await using disk = await makeSmallDisk("16m");
    await disk.occupy("ballast", 10 * MB);
    const config = configFor(receiver, { freeDisk: 0 });
    const daemon = await disk.serve(config);
    const { acknowledged } = await fill(daemon);
    daemon.process.kill("SIGKILL");
    await daemon.process.exit;
    assert.ok(
      acknowledged.some((id) => !receiver.delivered.has(id)),
      "some were still to be delivered",
    );

    await disk.vacate("ballast");
    const again = await disk.serve(config);
    await receiver.all(acknowledged);
    await settled(again);
    await taken(again);
  });
});

describe("a disk that another program fills", () => {
  it(
    "refuses calls from outbox.freeDisk on, writes what becomes of deliveries, and opens again",
    NEEDING_DISKS,
    async () => {
      await using receiver = startReceiver(({ sent }) => (sent === 1 ? 503 : 200));
      await using disk = await makeSmallDisk("32m");
      const daemon = await disk.serve(configFor(receiver, { freeDisk: "8MB" }));
      const { messageId } = await callOnce(daemon);
      await disk.occupy("log", 27 * MB);

      await daemon.process.line(/msg=store\.full/);
      const refusal = await callOnce(daemon);
      assert.deepEqual([refusal.status, refusal.code, refusal.retryAfter], [503, "store_full", "10"]);
      assert.deepEqual(await ready(daemon), [503, "store_full"]);
      assert.equal(await metric(daemon, "fairlead_store_full"), 1);
      assert.ok(((await metric(daemon, "fairlead_store_free_disk_bytes")) ?? Infinity) < 8 * MB);
      await receiver.all([messageId]);
      await settled(daemon);
      assert.equal(await metric(daemon, "fairlead_store_errors_total"), 0);

      await disk.vacate("log");
      await receiver.all([await taken(daemon)]);
      assert.equal(await metric(daemon, "fairlead_store_full"), 0);
      assert.deepEqual(await ready(daemon), [200, undefined]);
      const lines = daemon.process.err.filter((line) => /msg=store\.(full|open)/.test(line));
      assert.equal(lines.length, 2);
      assert.match(lines[0] ?? "", /level=error msg=store\.full bound=outbox\.freeDisk path=\S+ used=.* freeDisk=8MB/);
      assert.match(lines[1] ?? "", /level=info msg=store\.open bound=outbox\.freeDisk after=/);
    },
  );

  it("is warned of at the start, when it cannot hold what outbox.maxSize promises", NEEDING_DISKS, async () => {
    await using receiver = startReceiver();
    await using disk = await makeSmallDisk("12m");
    const daemon = await disk.serve(configFor(receiver, { maxSize: "10MB", freeDisk: "4MB" }));
    const warning =
      /warning: outbox\.maxSize: is more than the disk has room for: 10MB and outbox\.freeDisk \(4MB\) do not fit on the 12MB/;
    await daemon.process.line(warning);
  });
});

describe("a disk with nothing left", () => {
  it("keeps the daemon from starting, with a message that says so", NEEDING_DISKS, async () => {
    await using receiver = startReceiver();
    await using disk = await makeSmallDisk("2m");
    await disk.occupy("log", 2 * MB);
    const daemon = await disk.begin(configFor(receiver, {}));
    await daemon.line(/^fairlead: cannot (lock|open) .*fairlead\.db.*(disk is full|disk I\/O error)/);
    assert.deepEqual(await daemon.exit, { code: 1, signal: null });
  });
});
