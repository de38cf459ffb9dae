import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { startReceiver } from "../binary/receiver.ts";
import { PATIENT } from "../binary/waiting.ts";
import { type Daemon, makeConfig, makeWorld, type World } from "../binary/world.ts";
import { noise } from "../model/make.ts";
import { eventually, metric, statusOf } from "./observe.ts";

const CALLS = 40;
/** Of the one event that is damaged, if only one is. */
const ID = "m-7";
/** What compressed bodies begin with. */
const ZSTD = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);
const MARK = "a text that is in no other event";

/** Short bodies are stored as they are, long ones compressed. */
function textOf(nth: number): string {
  if (nth === 7) return MARK;
  return nth % 2 === 0 ? noise(9_000, nth) : `short ${nth}`;
}

async function steer({ admin }: Daemon, what: "pause" | "resume"): Promise<void> {
  const init = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
  assert.equal((await fetch(`${admin}/api/destinations/crm/${what}`, init)).status, 200);
}

async function end(daemon: Daemon, signal: NodeJS.Signals): Promise<void> {
  daemon.process.kill(signal);
  await daemon.process.exit;
}

/** Has calls taken in. Answers their messageIds. */
async function fill(daemon: Daemon): Promise<readonly string[]> {
  const ids = Array.from({ length: CALLS }, (_, nth) => `m-${nth}`);
  for (const [nth, messageId] of ids.entries()) {
    const call = { userId: "u1", event: "E", messageId, properties: { text: textOf(nth) } };
    assert.equal((await daemon.call("/v1/track", call)).status, 200);
  }
  return ids;
}

async function damage(w: World, how: (file: Buffer) => Buffer): Promise<void> {
  await writeFile(w.path("fairlead.db"), how(await readFile(w.path("fairlead.db"))));
}

/** Changes one bit of the byte that is so far behind the first place where this text is. */
function flip(text: string | Buffer, behind = 0): (file: Buffer) => Buffer {
  return (file) => {
    const at = file.indexOf(text) + behind;
    assert.ok(at >= behind, "it is in the file");
    file.writeUInt8(file.readUInt8(at) ^ 1, at);
    return file;
  };
}

/** All that was sent has to be what came in. */
function assertTrue(hooks: readonly { readonly body: string }[]): void {
  for (const { body } of hooks) {
    const { messageId, event, userId, properties } = JSON.parse(body);
    assert.deepEqual([event, userId, properties.text], ["E", "u1", textOf(Number(messageId.slice(2)))]);
  }
}

async function assertTold(daemon: Daemon, what: RegExp): Promise<void> {
  const line = await daemon.process.line(/msg=store\.failed doing="read the waiting deliveries of crm"/);
  assert.match(line, /level=error .*(restore a backup)/);
  assert.match(line, what);
  assert.ok(((await metric(daemon, "fairlead_store_errors_total")) ?? 0) > 0);
}

describe("an outbox in which a byte has changed", () => {
  const SEGMENT = /segment \d+ of the outbox is damaged: /;
  const places = [
    { where: "a short body", how: flip(MARK), told: SEGMENT },
    { where: "a messageId", how: flip(`"${ID}",`, 3), told: SEGMENT },
    { where: "a compressed body", how: flip(ZSTD, 1_000), told: SEGMENT },
  ];
  for (const { where, how, told } of places) {
    it(`in ${where} is told, and not sent; all others are`, PATIENT, async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url }));
      const first = await w.serve();
      await steer(first, "pause");
      const ids = await fill(first);
      await end(first, "SIGTERM");
      await damage(w, how);

      const daemon = await w.serve();
      await steer(daemon, "resume");
      await assertTold(daemon, told);
      await eventually("only one waits", async () => ((await statusOf(daemon)).counts.waiting === 1 ? true : null));
      assert.equal(receiver.delivered.size, ids.length - 1);
      assertTrue(receiver.hooks);
    });
  }

  it("in a body that is to be sent again is told, and not sent; all others are", PATIENT, async () => {
    let isWell = false;
    await using receiver = startReceiver(() => (isWell ? 200 : 503));
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url, level: "debug" }));
    const first = await w.serve();
    await first.call("/v1/track", { userId: "u1", event: "E", messageId: ID, properties: { text: MARK } });
    await first.call("/v1/track", { userId: "u1", event: "E", messageId: "m-8", properties: { text: textOf(8) } });
    for (const id of [ID, "m-8"]) await first.process.line(new RegExp(`msg=delivery\\.retrying .*event=${id} `));
    await end(first, "SIGTERM");
    // In its row, and not only in the segment that it came in with.
    await damage(w, (file) => {
      for (let at = file.indexOf(MARK); at >= 0; at = file.indexOf(MARK, at + 1)) file.write("A", at);
      return file;
    });
    isWell = true;
    const daemon = await w.serve();
    await assertTold(daemon, /delivery 1 in the outbox is damaged: /);
    await receiver.all(["m-8"]);
    assertTrue(receiver.hooks);
  });

  it(
    "in the log of a daemon that was killed loses what is behind it, and says so; what was before is sent",
    PATIENT,
    async () => {
      await using receiver = startReceiver();
      await using w = await makeWorld();
      await w.write("config.yaml", makeConfig({ url: receiver.url }));
      const first = await w.serve();
      await steer(first, "pause");
      await fill(first);
      await end(first, "SIGKILL");
      const log = await readFile(w.path("fairlead.db-wal"));
      await writeFile(w.path("fairlead.db-wal"), flip(MARK)(log));

      const daemon = await w.serve();
      const line = await daemon.process.line(/msg=store\.failed doing="recover the write-ahead log"/);
      assert.match(
        line,
        /level=error .*fairlead\.db-wal is damaged: at least \d+ commits .* were acknowledged; .* sent again/,
      );
      await steer(daemon, "resume");
      await eventually("nothing waits", async () => ((await statusOf(daemon)).counts.waiting === 0 ? true : null));
      assert.deepEqual(
        [...receiver.delivered].sort(),
        Array.from({ length: 7 }, (_, nth) => `m-${nth}`),
      );
      assertTrue(receiver.hooks);
    },
  );

  it("in its header is not opened, and left as it is", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    await end(await w.serve(), "SIGTERM");
    await damage(w, flip("SQLite format 3"));
    const before = await readFile(w.path("fairlead.db"));
    const refused = w.run(["serve", "--config", "config.yaml"]);
    await refused.line(/^fairlead: cannot open outbox fairlead\.db: file is not a database; .* restore a backup, or /);
    assert.deepEqual(await refused.exit, { code: 1, signal: null });
    assert.deepEqual(await readFile(w.path("fairlead.db")), before);
  });
});

describe("an outbox of which the last page is torn", () => {
  it("loses what was in there, and says so; all else is sent, and calls are taken", PATIENT, async () => {
    await using receiver = startReceiver();
    await using w = await makeWorld();
    await w.write("config.yaml", makeConfig({ url: receiver.url }));
    const first = await w.serve();
    await steer(first, "pause");
    const ids = await fill(first);
    await end(first, "SIGTERM");
    await damage(w, (file) => file.fill(0, file.length - 2_000));

    const daemon = await w.serve();
    await steer(daemon, "resume");
    await assertTold(daemon, / damaged/);
    await eventually("most are sent", () => (receiver.delivered.size > ids.length / 2 ? true : null));
    assert.equal((await daemon.call("/v1/track", { userId: "u1", event: "E", messageId: "m-41" })).status, 200);
    const waiting = async (): Promise<number> => (await statusOf(daemon)).counts.waiting;
    await eventually("all others are sent", async () => {
      return receiver.delivered.size + (await waiting()) === ids.length + 1 ? true : null;
    });
    assert.ok((await waiting()) > 0, "what is missing is not taken for sent");
    assertTrue(receiver.hooks.filter(({ messageId }) => messageId !== "m-41"));
  });
});
