import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createOrder, type Order, userOf } from "../../src/deliver/order.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import { storedBody } from "../../src/model/payload.ts";
import { createChance } from "../simulate/random.ts";
import { makeDelivery } from "./make.ts";

function of(user: string, id: number, more: Partial<Delivery> = {}): Delivery {
  return makeDelivery({ id, body: JSON.stringify({ type: "track", userId: user, messageId: `m${id}` }), ...more });
}

/** An order that found these retries in the store. */
function makeOrder(...retries: readonly Delivery[]): Order {
  const order = createOrder();
  for (const retry of retries) order.note(retry);
  order.setUp();
  return order;
}

function kept(order: Order): readonly number[] {
  return order.takeKept().map(({ id }) => id);
}

describe("an order", () => {
  it("gives the turn to the next of a user when the one before is settled for good", () => {
    const order = makeOrder();
    assert.deepEqual(
      [of("ann", 1), of("ann", 2), of("bob", 3), of("ann", 4)].map((one) => order.admit(one, "first")),
      [true, false, true, false],
    );
    assert.equal(order.waiting(), 2);
    assert.equal(order.decided(1, false), false);
    assert.deepEqual(kept(order), []);
    assert.equal(order.decided(1, true), true);
    assert.equal(order.decided(2, true), true);
    assert.equal(order.decided(4, true), false);
    assert.equal(order.waiting(), 0);
  });

  it("keeps the bodies of a short line, and not behind one that is retried", () => {
    const order = makeOrder();
    for (const id of [1, 2, 3]) order.admit(of("ann", id), "first");
    order.decided(1, true);
    assert.deepEqual([kept(order), order.reads()], [[2], []]);
    order.decided(2, false);
    order.decided(2, true);
    assert.deepEqual([kept(order), order.reads().map(({ ids }) => ids)], [[], [[3]]]);
  });

  it("knows the stored retries before anything else, the one of the oldest event first", () => {
    const order = makeOrder(of("ann", 7, { dueAt: 10 }), of("ann", 5, { dueAt: 20 }));
    assert.equal(order.admit(of("ann", 9), "first"), false);
    assert.equal(order.admit(of("ann", 7, { dueAt: 10 }), "retry"), false);
    assert.equal(order.admit(of("ann", 5, { dueAt: 20 }), "retry"), true);
    order.decided(5, true);
    assert.deepEqual(order.takeLater(5), [{ id: 7, dueAt: 10 }]);
    assert.equal(order.admit(of("ann", 7, { dueAt: 10 }), "retry"), true);
  });

  it("passes over what is no longer in the store", () => {
    const order = makeOrder();
    for (const id of [1, 2, 3]) order.admit(of("ann", id), "first");
    order.decided(1, false);
    order.decided(1, true);
    const [read] = order.reads();
    assert.ok(read);
    assert.deepEqual(order.found(read, { deliveries: [of("bob", 9)], more: false }), []);
    assert.deepEqual(
      order.reads().map(({ ids }) => ids),
      [[3]],
    );
  });

  it("goes on with a user whose turn was withdrawn", () => {
    const order = makeOrder(of("ann", 1, { dueAt: 1_000 }));
    order.admit(of("ann", 2), "first");
    assert.equal(order.over(1), true);
    assert.equal(order.over(1), false);
    assert.deepEqual(
      order.reads().map(({ ids }) => ids),
      [[2]],
    );
  });

  it("begins again with what is being sent", () => {
    const order = makeOrder();
    for (const one of [of("ann", 1), of("ann", 2), of("bob", 3)]) order.admit(one, "first");
    order.reset(new Set([1]));
    order.note(of("ann", 2));
    order.setUp();
    assert.equal(order.admit(of("ann", 2), "retry"), false);
    assert.equal(order.admit(of("bob", 3), "first"), true);
    assert.equal(order.decided(1, true), true);
  });

  it("has each delivery sent once, in order, whatever is read again", () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const chance = createChance(seed);
      const order = makeOrder();
      const all = Array.from({ length: 60 }, (_, n) => of(`u${chance.below(4)}`, n + 1));
      const left = new Map(all.map((one) => [one.id, one]));
      const running = new Map<number, Delivery>();
      const sent: Delivery[] = [];
      const start = (one: Delivery): void => {
        if (!left.has(one.id) || running.has(one.id)) return;
        running.set(one.id, one);
        sent.push(one);
      };
      let read = 0;
      for (let step = 0; left.size > 0; step += 1) {
        assert.ok(step < 10_000, `${left.size} are never sent (${seed})`);
        if (chance.happens(0.3)) read = chance.happens(0.1) ? 0 : read;
        const next = all[read];
        if (next && chance.happens(0.5)) {
          read += 1;
          if (left.has(next.id) && !running.has(next.id) && order.admit(next, "first")) start(next);
        }
        for (const one of order.takeKept()) start(one);
        for (const one of order.reads()) {
          const [first = 0] = one.ids;
          const deliveries = [...left.values()].filter(({ id }) => id >= first).slice(0, 3);
          const more = (all.at(-1)?.id ?? 0) > (deliveries.at(-1)?.id ?? Number.POSITIVE_INFINITY);
          for (const found of order.found(one, { deliveries, more })) start(found);
        }
        for (const { id } of running.values()) {
          if (!chance.happens(0.3)) continue;
          if (chance.happens(0.3)) {
            order.decided(id, false);
            continue;
          }
          running.delete(id);
          left.delete(id);
          order.decided(id, true);
        }
      }
      for (const those of Map.groupBy(sent, ({ body }) => userOf(body)).values()) {
        const ids = those.map(({ id }) => id);
        assert.deepEqual(
          ids,
          ids.toSorted((one, other) => one - other),
        );
      }
      assert.equal(sent.length, all.length);
      assert.equal(order.waiting(), 0);
    }
  });

  it("gives them their turns one by one, however many wait", () => {
    const order = makeOrder();
    for (let id = 1; id <= 200_000; id += 1) order.admit(of("ann", id), "first");
    assert.equal(order.waiting(), 199_999);
    for (let id = 1; id < 200_000; id += 1) assert.ok(order.over(id) || id === 200_000, String(id));
    assert.equal(order.waiting(), 0);
  });
});

describe("the user of a delivery", () => {
  const user = (call: object) => userOf(JSON.stringify(call));

  it("is the userId, else the anonymousId; nobody without both", () => {
    assert.equal(user({ userId: "u", anonymousId: "a" }), user({ userId: "u" }));
    assert.equal(user({ anonymousId: "a", userId: undefined }), user({ anonymousId: "a" }));
    assert.notEqual(user({ userId: "u" }), user({ userId: "v" }));
    assert.equal(user({ type: "page" }), null);
  });

  it("is on an alias the one that it names", () => {
    assert.equal(user({ type: "alias", "Previous ID": "a", "User ID": "u", anonymousId: "a" }), user({ userId: "u" }));
  });

  it("is found whatever payload the destination has", () => {
    const body = JSON.stringify({ userId: "u" });
    assert.equal(userOf(storedBody(body, [["crm", `{"text":"hello"}`]])), userOf(body));
  });

  it("is hardly ever taken for another one", () => {
    const all = new Set(Array.from({ length: 100_000 }, (_, n) => user({ userId: `user-${n}` })));
    assert.equal(all.size, 100_000);
  });
});
