import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig } from "../binary/world.ts";
import { eventually, metric, ready, settled } from "./observe.ts";
import { MISSING_EXT4, makeSmallDisk } from "./small-disk.ts";

type Answer = { readonly status: number; readonly code?: string };

async function call(daemon: Daemon, messageId: string): Promise<Answer> {
  const response = await daemon.call("/v1/track", { userId: "u1", event: "E", messageId });
  return { status: response.status, ...((await response.json()) as { code?: string }) };
}

describe("an outbox that becomes read-only, as a disk that fails is made by the system", () => {
  const needing = { ...PATIENT, skip: MISSING_EXT4 };
  it("takes no calls, says so everywhere, goes on delivering, and loses nothing that was taken", needing, async () => {
    await using receiver = startReceiver(({ sent }) => (sent === 1 ? 503 : 200));
    await using disk = await makeSmallDisk("48m", "ext4");
    const config = { ...JSON.parse(makeConfig({ url: receiver.url, level: "debug" })), outbox: { freeDisk: 0 } };
    const daemon = await disk.serve(config);
    assert.equal((await call(daemon, "m-before")).status, 200);
    // What became of its first attempt is written: else it would be waited for.
    await daemon.process.line(/msg=delivery\.retrying .*event=m-before /);

    disk.fail();
    const refused = await call(daemon, "m-during");
    assert.deepEqual([refused.status, refused.code], [503, "store_failed"]);
    const line = await daemon.process.line(/msg=store\.failed doing=commit/);
    assert.match(line, /level=error .*reason="(disk I\/O error|.*readonly database); its disk .*read-only/);
    assert.deepEqual(await ready(daemon), [503, "store_failed"]);
    assert.ok(((await metric(daemon, "fairlead_store_errors_total")) ?? 0) > 0);
    assert.equal((await fetch(`${daemon.admin}/healthz`)).status, 200);
    await receiver.all(["m-before"]);
    daemon.process.kill("SIGKILL");
    await daemon.process.exit;

    const early = await disk.begin(config);
    await early.line(/^fairlead: cannot (lock|open) .*fairlead\.db: .*(readonly database|disk I\/O error); its disk /);
    assert.deepEqual(await early.exit, { code: 1, signal: null });

    disk.mend();
    const again = await disk.serve(config);
    assert.equal((await call(again, "m-after")).status, 200);
    await receiver.all(["m-before", "m-after"]);
    await settled(again);
    await eventually("it is ready", async () => ((await ready(again))[0] === 200 ? true : null));
    assert.ok(!receiver.delivered.has("m-during"), "what was refused is not kept");
  });
});
