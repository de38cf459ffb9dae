import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRequestDeletion } from "../../src/deletion/request.ts";
import type { Config } from "../../src/model/config.ts";
import type { Deletion, NewDeletion } from "../../src/model/deletion.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { DeletionReceipt } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeConfig, makeDestination, makeSource } from "../flow/make.ts";

const SOURCES = ["website", "app", "old"].map((name) => makeSource({ name }));
const WORLD = { sources: SOURCES, destinations: [makeDestination({ sources: ["website", "app"] })] };
const PLAIN = { erase: false, suppress: false };

type Options = { config?: Partial<Config>; failed?: Fault; known?: readonly string[] };

/** `known`: the destinations that have ever got anything. */
function startDeletion({ config = WORLD, failed, known = [] }: Options = {}) {
  const clock = createFalseClock();
  const recorded: NewDeletion[] = [];
  const told: unknown[][] = [];
  let ids = 0;
  const requestDeletion = createRequestDeletion({
    config: () => makeConfig(config),
    deletions: {
      async record(request) {
        recorded.push(request);
        return failed ?? ({ status: "running" } as Deletion);
      },
    },
    backlog: { counts: async () => known.map((destination) => ({ destination, state: "delivered", count: 0 })) },
    wake: () => void told.push(["woken"]),
    clock,
    random: { fraction: () => 0.5, hex: (bytes) => (ids++).toString(16).padStart(2 * bytes, "0") },
    report: { deletionRequested: (...about: unknown[]) => void told.push(about) } as unknown as Report,
  });
  return { requestDeletion, clock, recorded, told };
}

function sourcesOf(result: DeletionReceipt | Fault): readonly string[] {
  return "sources" in result ? result.sources : assert.fail(result.message);
}

describe("a deletion request (SPEC.md 6)", () => {
  it("is kept, told, and begun: one notification for each user and affected source", async () => {
    const { requestDeletion, recorded, told, clock } = startDeletion();
    const receipt = await requestDeletion({ userIds: ["u1", "u2"], sources: null, erase: true, suppress: false });
    const id = `del-${clock.wall().toString(16).padStart(12, "0")}-000000000000`;
    assert.deepEqual(receipt, { id, status: "running", notifications: 4, sources: ["website", "app"], untold: [] });
    assert.deepEqual(recorded, [
      {
        ...{ id, requestedAt: clock.wall(), userIds: ["u1", "u2"], sources: null, affected: ["website", "app"] },
        ...{ erase: true, suppress: false, untold: [] },
      },
    ]);
    const requested = { users: 2, notifications: 4, sources: ["website", "app"], untold: [] };
    assert.deepEqual(told, [[requested], ["woken"]]);
  });

  it("names a user once, and a source, however often they are named", async () => {
    const { requestDeletion, recorded } = startDeletion();
    const receipt = await requestDeletion({ userIds: ["u1", "u1", "u2", "u1"], sources: ["app", "app"], ...PLAIN });
    assert.partialDeepStrictEqual(receipt, { notifications: 2, sources: ["app"] });
    assert.partialDeepStrictEqual(recorded, [{ userIds: ["u1", "u2"], sources: ["app"], affected: ["app"] }]);
  });
});

describe("the sources that a deletion affects", () => {
  it("are those that it names", async () => {
    const { requestDeletion } = startDeletion();
    assert.deepEqual(sourcesOf(await requestDeletion({ userIds: ["u"], sources: ["app"], ...PLAIN })), ["app"]);
  });

  it("are all whose events go to somebody, when it names none", async () => {
    const everywhere = { sources: SOURCES, destinations: [makeDestination()] };
    const { requestDeletion } = startDeletion({ config: everywhere });
    const receipt = await requestDeletion({ userIds: ["u"], sources: null, ...PLAIN });
    assert.deepEqual(sourcesOf(receipt), ["website", "app", "old"]);
  });

  it("are also those of a disabled destination that has got events before", async () => {
    const off = makeDestination({ name: "off", enabled: false, sources: ["website"] });
    const { requestDeletion } = startDeletion({ config: { sources: SOURCES, destinations: [off] }, known: ["off"] });
    assert.deepEqual(sourcesOf(await requestDeletion({ userIds: ["u"], sources: null, ...PLAIN })), ["website"]);
  });

  it("are none whose events go to nobody, or only to a disabled destination that has never got any", async () => {
    const off = makeDestination({ name: "off", enabled: false });
    for (const destinations of [[], [off], [off, makeDestination({ sources: ["app"] })]]) {
      const { requestDeletion } = startDeletion({ config: { sources: SOURCES, destinations } });
      const receipt = await requestDeletion({ userIds: ["u"], sources: ["website"], ...PLAIN });
      assert.partialDeepStrictEqual(receipt, { notifications: 0, sources: [] });
    }
  });

  it("are disabled ones too: what they sent before is still there", async () => {
    const sources = [makeSource({ enabled: false })];
    const { requestDeletion } = startDeletion({ config: { sources, destinations: [makeDestination()] } });
    assert.deepEqual(sourcesOf(await requestDeletion({ userIds: ["u"], sources: null, ...PLAIN })), ["website"]);
  });

  it("must exist, each of them", async () => {
    const { requestDeletion, recorded, told } = startDeletion();
    assert.deepEqual(await requestDeletion({ userIds: ["u"], sources: ["app", "shop"], ...PLAIN }), {
      ...{
        code: "unknown_source",
        message:
          'no source is named "shop"; there are: website, app, old. A request without a source is for all, including removed ones',
      },
    });
    assert.deepEqual([recorded, told], [[], []]);
  });
});

describe("a deletion that the store cannot take", () => {
  it("is answered with the store's fault, and not begun", async () => {
    const failed = fault("store_failed", "the outbox cannot be written", 5_000);
    const { requestDeletion, told } = startDeletion({ failed });
    assert.deepEqual(await requestDeletion({ userIds: ["u"], sources: null, ...PLAIN }), failed);
    assert.deepEqual(told, []);
  });
});
