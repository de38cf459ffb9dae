import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createDeletion } from "../../src/deletion/request.ts";
import type { Config } from "../../src/model/config.ts";
import type { Event } from "../../src/model/event.ts";
import { type Fault, fault } from "../../src/model/fault.ts";
import type { Accept, DeletionReceipt } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { createFalseClock } from "../flow/clock.ts";
import { makeConfig, makeDestination, makeSource } from "../flow/make.ts";

type Asked = { readonly source: string; readonly events: readonly Event[] };

const SOURCES = ["website", "app", "old"].map((name) => makeSource({ name }));
const WORLD = { sources: SOURCES, destinations: [makeDestination({ sources: ["website", "app"] })] };

function startDeletion({ config = WORLD, accept }: { config?: Partial<Config>; accept?: Accept } = {}) {
  const clock = createFalseClock();
  const asked: Asked[] = [];
  const told: unknown[][] = [];
  let ids = 0;
  const requestDeletion = createDeletion({
    config: () => makeConfig(config),
    async accept(source, events) {
      asked.push({ source, events });
      return accept?.(source, events) ?? events.map(() => ({ kind: "accepted", deliveries: [] }));
    },
    clock,
    random: { fraction: () => 0.5, hex: (bytes) => (ids++).toString(16).padStart(2 * bytes, "0") },
    report: { deletionRequested: (...about: unknown[]) => void told.push(about) } as unknown as Report,
  });
  return { requestDeletion, clock, asked, told };
}

function sourcesOf(result: DeletionReceipt | Fault): readonly string[] {
  return "sources" in result ? result.sources : assert.fail(result.message);
}

describe("a deletion request (SPEC.md 6)", () => {
  it("makes one notification for each user and affected source", async () => {
    const { requestDeletion, asked, told } = startDeletion();
    const receipt = await requestDeletion({ userIds: ["u1", "u2"], sources: null });
    assert.deepEqual(receipt, { notifications: 4, sources: ["website", "app"] });
    assert.deepEqual(
      asked.map(({ source, events }) => [source, events.map(({ userId }) => userId)]),
      [
        ["website", ["u1", "u2"]],
        ["app", ["u1", "u2"]],
      ],
    );
    assert.deepEqual(told, [[2, 4, ["website", "app"]]]);
  });

  it("gives each its type, its user and the time, and a name of its own that sorts as they came", async () => {
    const { requestDeletion, asked, clock } = startDeletion();
    await requestDeletion({ userIds: ["u1", "u2"], sources: ["website"] });
    const [first, second] = asked[0]?.events ?? [];
    const timestamp = new Date(clock.wall()).toISOString();
    assert.equal(first && writeBody(first), `{"type":"delete","userId":"u1","timestamp":"${timestamp}"}`);
    assert.deepEqual([first?.receivedAt, first?.ownId], [clock.wall(), true]);
    assert.match(first?.messageId ?? "", /^delete-[0-9a-f]{12}-[0-9a-f]{20}$/);
    assert.ok((first?.messageId ?? "") < (second?.messageId ?? ""));
  });

  it("notifies a user once, however often it names that user", async () => {
    const { requestDeletion, asked } = startDeletion();
    const receipt = await requestDeletion({ userIds: ["u1", "u1", "u2", "u1"], sources: ["app", "app"] });
    assert.deepEqual(receipt, { notifications: 2, sources: ["app"] });
    assert.deepEqual(
      asked.flatMap(({ events }) => events.map(({ userId }) => userId)),
      ["u1", "u2"],
    );
  });

  it("asks for all sources in one turn, so that they share a commit", async () => {
    const storing = Promise.withResolvers<[]>();
    const { requestDeletion, asked } = startDeletion({ accept: () => storing.promise });
    const requesting = requestDeletion({ userIds: ["u1"], sources: null });
    assert.equal(asked.length, 2);
    storing.resolve([]);
    await requesting;
  });
});

describe("the sources that a deletion affects", () => {
  it("are those that it names", async () => {
    assert.deepEqual(sourcesOf(await startDeletion().requestDeletion({ userIds: ["u"], sources: ["app"] })), ["app"]);
  });

  it("are all whose events go to somebody, when it names none", async () => {
    const everywhere = { sources: SOURCES, destinations: [makeDestination()] };
    const { requestDeletion } = startDeletion({ config: everywhere });
    assert.deepEqual(sourcesOf(await requestDeletion({ userIds: ["u"], sources: null })), ["website", "app", "old"]);
  });

  it("are none whose events go to nobody, or only to a disabled destination", async () => {
    const off = makeDestination({ name: "off", enabled: false });
    for (const destinations of [[], [off], [off, makeDestination({ sources: ["app"] })]]) {
      const { requestDeletion, asked } = startDeletion({ config: { sources: SOURCES, destinations } });
      const receipt = await requestDeletion({ userIds: ["u"], sources: ["website"] });
      assert.deepEqual(receipt, { notifications: 0, sources: [] });
      assert.equal(asked.length, 0);
    }
  });

  it("are disabled ones too: what they sent before is still there", async () => {
    const sources = [makeSource({ enabled: false })];
    const { requestDeletion } = startDeletion({ config: { sources, destinations: [makeDestination()] } });
    assert.deepEqual(sourcesOf(await requestDeletion({ userIds: ["u"], sources: null })), ["website"]);
  });

  it("must exist, each of them", async () => {
    const { requestDeletion, asked, told } = startDeletion();
    assert.deepEqual(await requestDeletion({ userIds: ["u"], sources: ["app", "shop"] }), {
      ...{ code: "unknown_source", message: 'no source is named "shop"; there are: website, app, old' },
    });
    assert.deepEqual([asked, told], [[], []]);
  });
});

describe("a deletion that the store cannot take", () => {
  it("is answered with the store's fault, also when another source could be served", async () => {
    const failed = fault("store_failed", "the outbox cannot be written", 5_000);
    const accept: Accept = async (source) => (source === "app" ? failed : [{ kind: "accepted", deliveries: [] }]);
    const { requestDeletion, told } = startDeletion({ accept });
    assert.deepEqual(await requestDeletion({ userIds: ["u"], sources: null }), failed);
    assert.deepEqual(told, []);
  });
});
