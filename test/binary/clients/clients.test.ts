import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../../src/store/sqlite/driver.ts";
import { type Receiver, startPlace } from "../receiver.ts";
import { PATIENT } from "../waiting.ts";
import type { Daemon, World } from "../world.ts";
import { type Call, FORTY, NUMERIC, SIX } from "./calls.ts";
import { CLIENTS, type Client, startProgram } from "./clients.ts";
import { startGate } from "./gate.ts";

for (const client of CLIENTS) {
  describe(`${client.package} (${client.library.version}), unchanged`, () => {
    it("has each kind of call delivered once, with its fields and a signature", PATIENT, async () => {
      await using place = await startPlace();
      const { daemon } = place;
      const calls = client.takesNumbers ? [...SIX, NUMERIC] : SIX;
      await using program = startProgram(client, { host: daemon.ingest, calls });
      await assertArrived(calls, { ...place, client, daemon, taken: await program.taken() });
    });

    it("has each call delivered once though the daemon answers 503 for a while", PATIENT, async () => {
      await using place = await startPlace();
      const { daemon } = place;
      await using gate = await startGate(daemon.ingest);
      using lock = await lockOutbox(place.w);
      await using program = startProgram(client, { host: gate.url, calls: FORTY });
      for (let nth = 1; nth <= client.refusals; nth += 1) {
        const answer = await gate.answer();
        assert.equal(answer.status, 503);
        // Before its client has heard of it, so that the next attempt succeeds.
        if (nth === client.refusals) lock.release();
        answer.pass();
      }
      gate.open(daemon.ingest);
      await assertArrived(FORTY, { ...place, client, daemon, taken: await program.taken() });
    });

    it("has each call delivered once though the daemon stops and starts again under way", PATIENT, async () => {
      await using place = await startPlace();
      await using gate = await startGate(place.daemon.ingest);
      await using program = startProgram(client, { host: gate.url, calls: FORTY });
      // Its calls are on the daemon's disk, but the client does not get to know, and sends them again.
      assert.equal((await gate.answer()).status, 200);
      gate.shut();
      await stop(place.daemon);
      await gate.refused();
      const daemon = await place.w.serve();
      gate.open(daemon.ingest);
      const taken = await program.taken();
      const metrics = await (await fetch(`${daemon.admin}/metrics`)).text();
      assert.match(metrics, /^fairlead_events_duplicate_total{source="website"} [1-9]/m);
      await assertArrived(FORTY, { ...place, client, daemon, taken });
    });
  });
}

/** When it has ended, it has sent all that it had begun to send. */
async function stop(daemon: Daemon): Promise<void> {
  daemon.process.kill("SIGTERM");
  assert.deepEqual(await daemon.process.exit, { code: 0, signal: null });
}

/** Begins to write to the outbox, as somebody in a shell may, so that the daemon cannot. */
async function lockOutbox(w: World): Promise<Disposable & { release(): void }> {
  const db = await openDatabase(w.path("fairlead.db"));
  db.exec("BEGIN IMMEDIATE");
  const release = (): void => void db.close();
  return { release, [Symbol.dispose]: release };
}

type Arrived = {
  readonly client: Client;
  readonly receiver: Receiver;
  readonly daemon: Daemon;
  /** The messageIds by the ids of the calls. */
  readonly taken: ReadonlyMap<string, string>;
};

/** Ends the daemon, to be sure that no more comes. */
async function assertArrived(calls: readonly Call[], { client, receiver, daemon, taken }: Arrived): Promise<void> {
  await receiver.all(taken.values());
  await stop(daemon);
  assert.equal(taken.size, calls.length);
  assert.equal(receiver.hooks.length, calls.length);
  assert.equal(receiver.forged, 0);
  const bodies = new Map(receiver.hooks.map(({ messageId, body }) => [messageId, JSON.parse(body)]));
  for (const { id, body } of calls) {
    const messageId = taken.get(id) ?? "";
    if (client.choosesIds) assert.equal(messageId, id);
    const arrived = bodies.get(messageId);
    assert.partialDeepStrictEqual(arrived, { ...body, messageId });
    assert.partialDeepStrictEqual(arrived.context.library, client.library);
  }
  // As its program gave it, however long its client had to try.
  assert.equal(bodies.get(taken.get("identify") ?? "").timestamp, "2009-11-10T23:00:00.123Z");
}
