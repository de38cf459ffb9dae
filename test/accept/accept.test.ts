import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createAccept } from "../../src/accept/accept.ts";
import type { Config } from "../../src/model/config.ts";
import type { Event } from "../../src/model/event.ts";
import { type Fault, fault, isFault } from "../../src/model/fault.ts";
import type { Append, Entry, Receipt } from "../../src/model/ports.ts";
import type { Report } from "../../src/model/report.ts";
import { MB } from "../../src/model/units.ts";
import { writeBody } from "../../src/webhook/body.ts";
import { makeDelivery } from "../deliver/make.ts";
import { makeConfig, makeDestination } from "../flow/make.ts";
import { makeEvent } from "../model/make.ts";

/** Everything that `accept` does, in its order. */
type Done = readonly [what: string, ...about: unknown[]];

function startAccept({ config = makeConfig(), append = takeAll }: { config?: Config; append?: Append } = {}) {
  const done: Done[] = [];
  const entries: Entry[] = [];
  const arrived: unknown[] = [];
  const current = { config };
  const report = new Proxy({} as Report, {
    get:
      (_, what) =>
      (...about: unknown[]) =>
        void done.push([String(what), ...about]),
  });
  const accept = createAccept({
    config: () => current.config,
    async append(given) {
      entries.push(...given);
      const receipts = await append(given);
      done.push(["append", given.length]);
      return receipts;
    },
    enqueue: (deliveries) => void done.push(["enqueue", ...deliveries.map(({ destination }) => destination)]),
    observer: { accepted: (source, { count }) => void arrived.push([source, count]) },
    report,
  });
  return { arrived, accept, done, entries, current };
}

/** Numbers the events from 1. */
const takeAll: Append = async (entries) =>
  entries.map(({ deliverTo }, index) => {
    return {
      kind: "accepted",
      deliveries: deliverTo.map((destination) => makeDelivery({ id: index + 1, destination })),
    };
  });

/** Two destinations, of which the second takes only page calls. */
const TWO = makeConfig({
  destinations: [makeDestination({ name: "crm" }), makeDestination({ name: "pages", types: ["page"] })],
});

function page(messageId: string, event: Partial<Event> = {}): Event {
  return makeEvent({ type: "page", messageId, ...event });
}

describe("accepting events", () => {
  it("stores each with its body, with those who get it, and with the rules that kept it from others", async () => {
    const { accept, entries } = startAccept({ config: TWO });
    const events = [makeEvent({ messageId: "m1" }), page("m2")];
    const receipts = await accept("website", events);
    assert.ok(!isFault(receipts));
    assert.deepEqual(
      receipts.map(({ kind }) => kind),
      ["accepted", "accepted"],
    );
    assert.deepEqual(entries, [
      {
        ...{ source: "website", event: events[0], body: writeBody(makeEvent({ messageId: "m1" })) },
        ...{ deliverTo: ["crm"], skipped: [{ destination: "pages", rule: "type_not_selected" }] },
      },
      { source: "website", event: events[1], body: writeBody(page("m2")), deliverTo: ["crm", "pages"], skipped: [] },
    ]);
  });

  it("asks the store once for all of them, so that they share a commit", async () => {
    const { accept, done } = startAccept();
    await accept("website", [page("m1"), page("m2"), page("m3")]);
    assert.deepEqual(
      done.filter(([what]) => what === "append"),
      [["append", 3]],
    );
  });

  it("offers the deliveries of each in their order, and tells the operator, only when they are durable", async () => {
    const { accept, done } = startAccept({ config: TWO });
    await accept("website", [page("m1"), page("m2"), makeEvent()]);
    assert.deepEqual(done, [
      ["append", 3],
      ["enqueue", "crm", "pages"],
      ["enqueue", "crm", "pages"],
      ["enqueue", "crm"],
      ["callsAccepted", "website", ["page", "page", "track"], 0],
    ]);
  });

  it("answers only when the store has", async () => {
    const storing = Promise.withResolvers<readonly Receipt[] | Fault>();
    const { accept, done } = startAccept({ append: () => storing.promise });
    let answered = false;
    const accepting = Promise.resolve(accept("website", [makeEvent()])).finally(() => {
      answered = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([answered, done], [false, []]);
    storing.resolve([{ kind: "duplicate" }]);
    assert.deepEqual(await accepting, [{ kind: "duplicate" }]);
  });

  it("offers nothing and tells nothing when the store cannot take them, and hands its fault on", async () => {
    const full = fault("store_full", "the outbox is full", 10_000);
    const { accept, done } = startAccept({ append: async () => full });
    assert.deepEqual(await accept("website", [makeEvent()]), full);
    assert.deepEqual(done, [["append", 1]]);
  });

  it("goes by the config of the moment: a reload counts from the next call on", async () => {
    const { accept, entries, current } = startAccept();
    await accept("website", [makeEvent()]);
    current.config = makeConfig({ destinations: [makeDestination({ name: "warehouse" })] });
    await accept("website", [makeEvent()]);
    assert.deepEqual(
      entries.map(({ deliverTo }) => deliverTo),
      [["crm"], ["warehouse"]],
    );
  });

  it("takes none at all", async () => {
    const { accept } = startAccept();
    assert.deepEqual(await accept("website", []), []);
  });
});

describe("an event that no destination takes", () => {
  const off = { integrations: { All: false } };

  it("is stored and told with the rules that decided: it must not vanish without a word", async () => {
    const { accept, entries, done } = startAccept({ config: TWO });
    await accept("website", [makeEvent({ messageId: "m1", ...off }), page("m2")]);
    assert.deepEqual(entries[0]?.deliverTo, []);
    assert.deepEqual(
      done.filter(([what]) => what === "eventUnrouted"),
      [["eventUnrouted", "website", ["all_integrations_disabled", "type_not_selected"]]],
    );
  });

  it("is told also when there is no destination", async () => {
    const { accept, done } = startAccept({ config: makeConfig({ destinations: [] }) });
    await accept("website", [makeEvent()]);
    assert.deepEqual(done.at(-1), ["eventUnrouted", "website", []]);
  });

  it("is not told again when it is a repeat", async () => {
    const append: Append = async () => [{ kind: "duplicate" }, { kind: "accepted", deliveries: [] }];
    const { accept, done } = startAccept({ append });
    await accept("website", [page("m1", off), page("m2")]);
    assert.deepEqual(done.slice(2), [["callsAccepted", "website", ["page", "page"], 1]]);
  });
});

describe("calls that come faster than the disk can take them", () => {
  const large = makeEvent({ properties: { text: "x".repeat(20 * MB) } });

  it("are refused with a word when to come again, and taken again once the others are committed", async () => {
    const commit = Promise.withResolvers<void>();
    const { accept } = startAccept({
      async append(entries) {
        await commit.promise;
        return takeAll(entries);
      },
    });
    const first = accept("website", [large]);
    const second = await accept("website", [large]);
    assert.ok(isFault(second));
    assert.deepEqual([second.code, second.retryAfter], ["overloaded", 1_000]);
    commit.resolve();
    assert.ok(!isFault(await first));
    assert.ok(!isFault(await accept("website", [large])));
  });

  it("are taken, however large, if nothing waits", async () => {
    const { accept } = startAccept();
    assert.ok(!isFault(await accept("website", [large, large])));
  });

  it("count no more once the store has failed in a way that it should not", async () => {
    const { accept } = startAccept({ append: () => Promise.reject(new Error("a bug")) });
    for (let time = 0; time < 3; time++) await assert.rejects(accept("website", [large]), /a bug/);
  });

  it("count no more once they are refused by the store", async () => {
    const full = fault("store_full", "full");
    const { accept } = startAccept({ append: async () => full });
    for (let time = 0; time < 3; time++) assert.deepEqual(await accept("website", [large]), full);
  });
});
