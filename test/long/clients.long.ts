// Client libraries in other languages, as their registries have them, against the compiled binary.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Receiver, startReceiver } from "../binary/receiver.ts";
import { type Daemon, makeConfig, makeWorld } from "../binary/world.ts";
import { type Foreign, GO, RUDDER_PYTHON, SEGMENT_PYTHON } from "./clients-world.ts";

/** Long enough to get a library the first time. */
const PATIENT = { timeout: 300_000 };

type Place = AsyncDisposable & { readonly receiver: Receiver; readonly daemon: Daemon };

async function makePlace(limits: object = {}): Promise<Place> {
  await using all = new AsyncDisposableStack();
  const receiver = all.use(startReceiver());
  const w = all.use(await makeWorld());
  const config = JSON.parse(makeConfig({ url: receiver.url }));
  await w.write("config.yaml", JSON.stringify({ ...config, ingest: { ...config.ingest, ...limits } }));
  const daemon = await w.serve();
  const kept = all.move();
  return { receiver, daemon, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function end(client: Foreign, place: Place, act?: "exact" | "large" | "nan"): Promise<readonly string[]> {
  await using program = await client.run(place.daemon.ingest, act);
  const { code } = await program.exit;
  assert.equal(code, 0, program.err.join("\n"));
  return program.out;
}

for (const client of [SEGMENT_PYTHON, RUDDER_PYTHON, ...GO]) {
  describe(`${client.name}, unchanged`, () => {
    it("has a call of long ago delivered with its time and its number as they were", {
      ...PATIENT,
      skip: client.missing,
    }, async () => {
      await using place = await makePlace();
      await end(client, place);
      const [hook] = await place.receiver.count(1);
      if (client.keepsTime) assert.match(hook?.body ?? "", /"timestamp":"2009-11-10T23:00:00\.000Z"/);
      assert.match(hook?.body ?? "", /"properties":{"order":12345678901234567890}/);
    });
  });
}

describe(RUDDER_PYTHON.name, () => {
  const NEEDING = { ...PATIENT, skip: RUDDER_PYTHON.missing };

  it("loses a batch of 2 MB where nothing is set, and hears why", NEEDING, async () => {
    await using place = await makePlace();
    assert.match((await end(RUDDER_PYTHON, place, "large")).join("\n"), /^lost 100 .*body_too_large/m);
  });

  it("has it delivered with ingest.maxBatch at 8MB", NEEDING, async () => {
    await using place = await makePlace({ maxBatch: "8MB" });
    assert.deepEqual(await end(RUDDER_PYTHON, place, "large"), []);
    await place.receiver.all(Array.from({ length: 100 }, (_, nth) => `m-${nth}`));
  });
});

describe(SEGMENT_PYTHON.name, () => {
  it("hears by its name of a number that is none", { ...PATIENT, skip: SEGMENT_PYTHON.missing }, async () => {
    await using place = await makePlace();
    const said = await end(SEGMENT_PYTHON, place, "nan");
    assert.match(said.join("\n"), /^lost 1 .*invalid_json.*\(got NaN, which JSON does not have/m);
  });
});
