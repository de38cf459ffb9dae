import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { createWindow, type Window } from "../../src/deliver/window.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import type { Queue } from "../../src/model/ports.ts";
import { makeDelivery, makeStore } from "./make.ts";

function rows(count: number, row: Partial<Delivery> = {}): Delivery[] {
  return Array.from({ length: count }, (_, index) => makeDelivery({ id: index + 1, ...row }));
}

/** Takes all that is in a queue, without settling it. */
function takeAll(window: Window, queue: Queue): Delivery[] {
  const taken: Delivery[] = [];
  while (window.startFirst(queue, (delivery) => taken.push(delivery) > 0));
  return taken;
}

function has(window: Window, queue: Queue): boolean {
  const seen: Delivery[] = [];
  window.startFirst(queue, (delivery) => seen.push(delivery) < 0);
  return seen.length > 0;
}

describe("the window", () => {
  it("holds at most a page and a half of first attempts, however many wait", async () => {
    const window = createWindow("crm", makeStore(rows(10_000)));
    for (let n = 0; n < 10; n += 1) await window.fill(0);
    assert.ok(takeAll(window, "first").length <= 384);
  });

  it("reads every delivery once, in order", async () => {
    const window = createWindow("crm", makeStore(rows(1_000)));
    const seen: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      await window.fill(0);
      seen.push(...takeAll(window, "first").map(({ id }) => id));
    }
    assert.deepEqual(
      seen,
      rows(1_000).map(({ id }) => id),
    );
  });

  it("forgets what another daemon delivers from now on, and goes on with the rest", async () => {
    const window = createWindow("crm", makeStore(rows(6)));
    await window.fill(0);
    const [lost] = rows(2).slice(1);
    window.forget((ref) => ref === lost?.ref);
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 3, 4, 5, 6],
    );
  });

  it("asks no more once it has seen the end", async () => {
    const store = makeStore(rows(3));
    const window = createWindow("crm", store);
    await window.fill(0);
    await window.fill(0);
    const count = store.asked.filter(({ queue }) => queue === "first").length;
    assert.equal(count, 1);
    assert.equal(window.isLow(0), false);
  });

  it("takes what arrives behind its last page without reading it", async () => {
    const store = makeStore(rows(3));
    const window = createWindow("crm", store);
    await window.fill(0);
    const before = store.asked.length;
    window.enqueue(makeDelivery({ id: 4 }));
    window.enqueue(makeDelivery({ id: 7 }));
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 2, 3, 4, 7],
    );
    assert.equal(window.isLow(0), false);
    assert.equal(store.asked.length, before);
  });

  it("says whether what arrives is the only one that waits for its first attempt", async () => {
    const window = createWindow("crm", makeStore([]));
    assert.equal(window.enqueue(makeDelivery({ id: 1 })), false, "nobody knows before the first reading");
    await window.fill(0);
    assert.equal(window.enqueue(makeDelivery({ id: 2 })), true);
    assert.equal(window.enqueue(makeDelivery({ id: 3 })), false);
    takeAll(window, "first");
    assert.equal(window.enqueue(makeDelivery({ id: 4 })), true);
  });

  it("leaves what arrives to be read, in its order, while others before it are not read or there is no room", async () => {
    const waiting: Delivery[] = [];
    const window = createWindow("crm", makeStore(waiting));
    for (let id = 1; id <= 5; id += 1) {
      waiting.push(makeDelivery({ id }));
      window.enqueue(makeDelivery({ id }));
    }
    await window.fill(0);
    for (let id = 6; id <= 1_000; id += 1) {
      waiting.push(makeDelivery({ id }));
      window.enqueue(makeDelivery({ id }));
    }
    const first = takeAll(window, "first").map(({ id }) => id);
    assert.ok(first.length <= 384);
    const seen = [...first];
    for (let n = 0; n < 20; n += 1) {
      await window.fill(0);
      seen.push(...takeAll(window, "first").map(({ id }) => id));
    }
    assert.deepEqual(
      seen,
      waiting.map(({ id }) => id),
    );
  });

  it("leaves large deliveries to be read, however few they are: there may be many destinations", async () => {
    const waiting: Delivery[] = [];
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    for (let id = 1; id <= 100; id += 1) {
      const delivery = makeDelivery({ id, body: "x".repeat(30_000) });
      waiting.push(delivery);
      window.enqueue(delivery);
    }
    assert.ok(takeAll(window, "first").length < 20);
    await window.fill(0);
    assert.ok(takeAll(window, "first").length > 0);
  });

  it("does not take twice what was read between its commit and its arrival", async () => {
    const store = makeStore(rows(3));
    const window = createWindow("crm", store);
    await window.fill(0);
    for (const delivery of rows(3)) window.enqueue(delivery);
    assert.equal(window.isLow(0), false);
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 2, 3],
    );
  });

  it("finds what arrives out of its order", async () => {
    const waiting = rows(1);
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    window.enqueue(makeDelivery({ id: 3 }));
    waiting.push(makeDelivery({ id: 2 }), makeDelivery({ id: 3 }));
    window.enqueue(makeDelivery({ id: 2 }));
    await window.fill(0);
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 3, 2],
    );
  });

  it("does not overlook what arrives while the store answers", async () => {
    const waiting = rows(1);
    const store = makeStore(waiting);
    const window = createWindow("crm", {
      backlog: store.backlog,
      readQueue: async (ask) => {
        const page = await store.readQueue(ask);
        if (ask.queue === "first" && waiting.length === 1) {
          waiting.push(makeDelivery({ id: 2 }));
          window.enqueue(makeDelivery({ id: 2 }));
        }
        return page;
      },
    });
    await window.fill(0);
    await window.fill(0);
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 2],
    );
  });

  it("reads a retry when it is due, not before, and says when that is", async () => {
    const retry = makeDelivery({ id: 1, attemptedAt: 10, dueAt: 1_000 });
    const window = createWindow("crm", makeStore([retry]));
    await window.fill(999);
    assert.equal(has(window, "retry"), false);
    assert.equal(window.nextDueAt(), 1_000);
    await window.fill(1_000);
    assert.equal(has(window, "retry"), true);
    assert.equal(window.nextDueAt(), null);
  });

  it("expects a delivery again at the time that its settlement says", async () => {
    const waiting = rows(1);
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    const [delivery] = takeAll(window, "first");
    assert.ok(delivery);
    waiting[0] = { ...delivery, attemptedAt: 5, dueAt: 1_000, attempts: 1 };
    window.settled(delivery, 1_000);
    assert.equal(window.nextDueAt(), 1_000);
    await window.fill(1_000);
    assert.deepEqual(
      takeAll(window, "retry").map(({ id }) => id),
      [1],
    );
  });

  it("never hands out a delivery that is being sent", async () => {
    const window = createWindow("crm", makeStore(rows(5, { attemptedAt: 1, dueAt: 2 })));
    await window.fill(10);
    assert.equal(takeAll(window, "retry").length, 5);
    window.retryEarly({ from: 0, until: 100 });
    for (let n = 0; n < 3; n += 1) await window.fill(10);
    assert.equal(takeAll(window, "retry").length, 0);
  });

  it("while the lanes are suspect hands out the newest first, and leaves what it has of them to its turn afterwards", async () => {
    const waiting = rows(1_000);
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    window.setSuspect(true);
    await window.fill(0);
    const newest = (): number | undefined => {
      const taken: Delivery[] = [];
      window.startFirst("latest", (delivery) => taken.push(delivery) > 0);
      return taken[0]?.id;
    };
    assert.deepEqual([newest(), newest()], [1_000, 999]);
    waiting.push(makeDelivery({ id: 1_001 }));
    window.enqueue(makeDelivery({ id: 1_001 }));
    await window.fill(0);
    assert.deepEqual([newest(), newest()], [1_001, 998]);
    window.setSuspect(false);
    const seen: number[] = [];
    for (let n = 0; n < 20; n += 1) {
      await window.fill(0);
      seen.push(...takeAll(window, "first").map(({ id }) => id));
    }
    assert.deepEqual(
      seen,
      rows(997).map(({ id }) => id),
    );
  });

  it("while the lanes are suspect hands out each one once, whatever arrives", async () => {
    const waiting = rows(300);
    const window = createWindow("crm", makeStore(waiting));
    const seen: number[] = [];
    for (let n = 0; n < 400; n += 1) {
      window.setSuspect(n % 50 < 40);
      const id = waiting.length + 1;
      if (id <= 500) {
        waiting.push(makeDelivery({ id }));
        window.enqueue(makeDelivery({ id }));
      }
      await window.fill(0);
      for (const queue of ["latest", "first"] as const) window.startFirst(queue, ({ id }) => seen.push(id) > 0);
    }
    assert.deepEqual(
      seen.toSorted((a, b) => a - b),
      rows(500).map(({ id }) => id),
    );
  });

  it("in a hurry by command goes on with all, when an outage ends meanwhile", async () => {
    const old = makeDelivery({ id: 1, firstAttemptAt: 10, attemptedAt: 60, dueAt: 9_000 });
    const window = createWindow("crm", makeStore([old]));
    await window.fill(200);
    window.retryEarly({ from: Number.NEGATIVE_INFINITY, until: 200 });
    window.retryEarly({ from: 40, until: 201 });
    await window.fill(202);
    assert.deepEqual(
      takeAll(window, "retry").map(({ id }) => id),
      [1],
    );
  });

  it("in a hurry reads what is not due yet, but for what has failed before the outage, or since", async () => {
    const during = makeDelivery({ id: 1, firstAttemptAt: 50, attemptedAt: 60, dueAt: 9_000 });
    const since = makeDelivery({ id: 2, firstAttemptAt: 50, attemptedAt: 150, dueAt: 8_000 });
    const before = makeDelivery({ id: 3, firstAttemptAt: 30, attemptedAt: 60, dueAt: 8_500 });
    const window = createWindow("crm", makeStore([during, since, before]));
    await window.fill(200);
    window.retryEarly({ from: 40, until: 100 });
    await window.fill(200);
    assert.deepEqual(
      takeAll(window, "retry").map(({ id }) => id),
      [1],
    );
    await window.fill(200);
    assert.equal(window.nextDueAt(), 8_000);
    await window.fill(8_000);
    assert.deepEqual(
      takeAll(window, "retry").map(({ id }) => id),
      [2],
    );
  });

  it("passes over a delivery that cannot start, and takes the next", async () => {
    const window = createWindow("crm", makeStore(rows(3)));
    await window.fill(0);
    assert.equal(
      window.startFirst("first", ({ id }) => id === 2),
      true,
    );
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 3],
    );
  });

  it("does not pass over a retry whose writing took longer than its wait", async () => {
    const waiting = [
      makeDelivery({ id: 1, attemptedAt: 1, dueAt: 10 }),
      makeDelivery({ id: 2, attemptedAt: 1, dueAt: 500 }),
    ];
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(10);
    const [delivery] = takeAll(window, "retry");
    assert.ok(delivery);
    await window.fill(500);
    assert.equal(takeAll(window, "retry").length, 1);
    waiting[0] = { ...delivery, dueAt: 400, attempts: 2 };
    window.settled(delivery, 400);
    await window.fill(501);
    assert.deepEqual(
      takeAll(window, "retry").map(({ id }) => id),
      [1],
    );
  });

  it("does not pass over a retry that was written late, while a page was being read that ends behind it", async () => {
    const [ann, bob] = [1, 2].map((id) => makeDelivery({ id, attemptedAt: 0, dueAt: id === 1 ? 1 : 8 }));
    assert.ok(ann && bob);
    const stored = [ann, bob];
    const window = createWindow("crm", makeStore(stored));
    await window.fill(2);
    assert.deepEqual(takeAll(window, "retry"), [ann]);
    const filled = window.fill(10);
    stored[0] = { ...ann, dueAt: 5 };
    window.settled(ann, 5);
    await filled;
    await window.fill(10);
    assert.deepEqual(takeAll(window, "retry"), [bob, stored[0]]);
    assert.equal(window.isLow(10), false);
  });

  it("asks again after the store has failed", async () => {
    for (const broken of ["first", "retry"] as const) {
      const store = makeStore([makeDelivery({ id: 1 }), makeDelivery({ id: 2, attemptedAt: 1, dueAt: 2 })]);
      let fails = true;
      const window = createWindow("crm", {
        backlog: store.backlog,
        readQueue: async (ask) => {
          if (fails && ask.queue === broken) throw new Error("disk I/O error");
          return store.readQueue(ask);
        },
      });
      await assert.rejects(window.fill(10));
      fails = false;
      await window.fill(10);
      assert.deepEqual([has(window, "first"), has(window, "retry")], [true, true]);
    }
  });

  it("puts retries aside that cannot start, lets others in, and comes back to them", async () => {
    const blocked = rows(300, { attemptedAt: 1, dueAt: 2 });
    const store = makeStore([...blocked, makeDelivery({ id: 999, attemptedAt: 1, dueAt: 3 })]);
    const window = createWindow("crm", store);
    const startable = ({ id }: Delivery): boolean => id === 999;
    let started = false;
    for (let n = 0; n < 5 && !started; n += 1) {
      await window.fill(10);
      started = window.startFirst("retry", startable);
      if (!started) window.setAside(10, () => false);
    }
    assert.equal(started, true);
    assert.ok((window.nextDueAt() ?? 0) > 10);
    const seen = new Set<number>();
    for (let n = 0; n < 5; n += 1) {
      await window.fill(20_000 + n);
      for (const { id } of takeAll(window, "retry")) seen.add(id);
    }
    assert.equal(seen.size, 300);
    const first = store.asked.filter(({ queue }) => queue === "first");
    assert.equal(first.length, 1, "first attempts are where they were");
  });

  it("finds what the store has moved from one queue to the other", async () => {
    const waiting = rows(600);
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    const seen = takeAll(window, "first").map(({ id }) => id);
    waiting.splice(0, 600, ...rows(600, { attemptedAt: 1, dueAt: 2 }));
    window.readAgain("all");
    for (let n = 0; n < 10; n += 1) {
      await window.fill(10);
      seen.push(...takeAll(window, "retry").map(({ id }) => id));
    }
    assert.deepEqual(
      seen,
      rows(600).map(({ id }) => id),
    );
  });

  it("reads again from the start also if it was told so while a page was being read", async () => {
    const waiting = rows(4).slice(2);
    const store = makeStore(waiting);
    const window = createWindow("crm", {
      backlog: store.backlog,
      readQueue: async (ask) => {
        const page = await store.readQueue(ask);
        // What is taken from another daemon is older than what the page has.
        if (ask.queue === "first" && waiting.length === 2) {
          waiting.push(...rows(2));
          window.readAgain("all");
        }
        return page;
      },
    });
    await window.fill(0);
    await window.fill(0);
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [1, 2, 3, 4],
    );
  });

  it("reads again what was lost on the way", async () => {
    const window = createWindow("crm", makeStore(rows(1)));
    await window.fill(0);
    const [delivery] = takeAll(window, "first");
    assert.ok(delivery);
    window.unsettled(delivery, 0);
    await window.fill(window.nextDueAt() ?? 0);
    assert.equal(takeAll(window, "first").length, 1);
  });

  it("lets go of what is withdrawn, and passes over it on a page that is just being read", async () => {
    const store = makeStore(rows(6));
    const window = createWindow("crm", store);
    await window.fill(0);
    window.startFirst("first", ({ id }) => id === 1);
    window.withdraw(new Set([1, 3, 5]));
    assert.deepEqual(
      takeAll(window, "first").map(({ id }) => id),
      [2, 4, 6],
    );
    const late = createWindow("crm", makeStore(rows(6)));
    const filled = late.fill(0);
    late.withdraw(new Set([2, 6]));
    await filled;
    assert.deepEqual(
      takeAll(late, "first").map(({ id }) => id),
      [1, 3, 4, 5],
    );
  });

  it("passes over what is settled while a page is being read, which may still have it", async () => {
    const window = createWindow("crm", makeStore(rows(3)));
    await window.fill(0);
    const [first] = takeAll(window, "first");
    assert.ok(first);
    window.readAgain("all");
    const filled = window.fill(0);
    window.settled(first, null);
    await filled;
    assert.deepEqual(takeAll(window, "first"), []);
  });

  for (const queue of ["first", "retry"] as const) {
    it(`does not send at once what has failed since a page was asked for that still has it (${queue})`, async () => {
      const stored = rows(3, { attemptedAt: queue === "first" ? null : 1, dueAt: queue === "first" ? 0 : 2 });
      const store = makeStore(stored);
      let meanwhile = (): void => {};
      const window = createWindow("crm", {
        ...store,
        readQueue: async (ask) => {
          const page = await store.readQueue(ask);
          if (ask.queue === queue) meanwhile();
          return page;
        },
      });
      await window.fill(10);
      const [failed] = takeAll(window, queue);
      assert.ok(failed);
      window.readAgain("all");
      const again = { ...failed, attemptedAt: 10, dueAt: 1_000 };
      meanwhile = () => {
        stored[0] = again;
        window.settled(failed, 1_000);
        meanwhile = () => {};
      };
      await window.fill(10);
      assert.deepEqual(takeAll(window, queue), []);
      await window.fill(1_000);
      assert.deepEqual(takeAll(window, "retry"), [again]);
    });
  }

  it("sets nothing aside while one of them is in line for a slot", async () => {
    const window = createWindow("crm", makeStore(rows(300, { attemptedAt: 1, dueAt: 2 })));
    await window.fill(10);
    assert.equal(
      window.setAside(10, ({ id }) => id === 100),
      false,
    );
    assert.ok(has(window, "retry"));
    assert.equal(
      window.setAside(10, () => false),
      true,
    );
    assert.ok(!has(window, "retry"));
  });
});

describe("sources at a window", () => {
  /** Fills the window and takes one, again and again. Answers the sources in this order. */
  async function order(window: Window, count: number): Promise<readonly string[]> {
    const taken: string[] = [];
    for (let n = 0; n < count; n += 1) {
      await window.fill(0);
      window.startFirst("first", ({ source }) => taken.push(source) > 0);
    }
    return taken;
  }

  it("take turns for first attempts", async () => {
    const sources = ["flood", "flood", "flood", "flood", "shop", "flood", "shop", "app"];
    const window = createWindow("crm", makeStore(sources.map((source, n) => makeDelivery({ id: n + 1, source }))));
    assert.deepEqual(await order(window, 8), ["flood", "shop", "app", "flood", "shop", "flood", "flood", "flood"]);
  });

  it("have a turn soon after their delivery came, behind whatever flood of another", async () => {
    const waiting = rows(5_000, { source: "flood" });
    const store = makeStore(waiting);
    const window = createWindow("crm", store);
    await order(window, 40);
    for (let id = 5_001; id <= 5_200; id += 1) {
      const delivery = makeDelivery({ id, source: id % 10 === 0 ? "shop" : "flood" });
      waiting.push(delivery);
      window.enqueue(delivery);
      const taken = await order(window, 2);
      if (delivery.source === "shop") assert.ok(taken.includes("shop"), `${id}`);
    }
  });

  it("have their turns also when what waits of them has to be found behind a flood first", async () => {
    const flood = rows(5_000, { source: "flood" });
    const few = Array.from({ length: 500 }, (_, n) =>
      makeDelivery({ id: 5_001 + n, source: n % 2 === 0 ? "shop" : "app" }),
    );
    const window = createWindow("crm", makeStore([...flood, ...few]));
    await order(window, 40);
    const taken = await order(window, 300);
    for (const source of ["flood", "shop", "app"]) assert.equal(taken.filter((one) => one === source).length, 100);
  });

  it("have their turns also when what waits of them was among the newest, while the lanes were suspect", async () => {
    const flood = rows(5_000, { source: "flood" });
    const window = createWindow("crm", makeStore([...flood, makeDelivery({ id: 5_001, source: "shop" })]));
    window.setSuspect(true);
    while (window.isLow(0)) await window.fill(0);
    window.setSuspect(false);
    assert.ok((await order(window, 50)).includes("shop"));
  });

  it("have their turns also after what was in memory of them has been withdrawn", async () => {
    const waiting: Delivery[] = [];
    const window = createWindow("crm", makeStore(waiting));
    await window.fill(0);
    for (let id = 1; id <= 5_100; id += 1) {
      const delivery = makeDelivery({ id, source: id > 400 && id <= 500 ? "shop" : "flood" });
      waiting.push(delivery);
      window.enqueue(delivery);
    }
    window.withdraw(new Set(Array.from({ length: 64 }, (_, n) => 401 + n)));
    assert.ok((await order(window, 10)).includes("shop"));
  });

  it("are not looked for again and again once none has anything left", async () => {
    const store = makeStore(rows(5_000, { source: "flood" }));
    const window = createWindow("crm", store);
    await order(window, 1_000);
    assert.ok(store.asked.filter(({ notOf }) => notOf).length < 30);
  });

  it("get each delivery sent once and in the order of acceptance, whatever comes when", async () => {
    const property = fc.asyncProperty(fc.array(ROUND, { minLength: 1, maxLength: 60 }), async (rounds) => {
      const waiting: Delivery[] = [];
      const window = createWindow("crm", makeStore(waiting));
      const sent: Delivery[] = [];
      const take = (): boolean => window.startFirst("first", (delivery) => sent.push(delivery) > 0);
      for (const { source, comes, starts, again } of rounds) {
        for (let n = 0; n < comes; n += 1) {
          const delivery = makeDelivery({ id: waiting.length + 1, source });
          waiting.push(delivery);
          window.enqueue(delivery);
        }
        if (again) window.readAgain("all");
        for (let n = 0; n < starts; n += 1) {
          if (window.isLow(0)) await window.fill(0);
          take();
        }
      }
      for (let n = 0; n < 200 && !window.isIdle(); n += 1) {
        await window.fill(0);
        while (take());
      }
      assert.equal(sent.length, waiting.length);
      for (const one of SOURCES) {
        const ids = sent.filter(({ source }) => source === one).map(({ id }) => id);
        assert.deepEqual(
          ids,
          ids.toSorted((a, b) => a - b),
        );
      }
    });
    await fc.assert(property, { numRuns: 200 });
  });
});

const SOURCES = ["flood", "shop", "app"];
const ROUND = fc.record({
  source: fc.constantFrom(...SOURCES),
  comes: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 700 })),
  starts: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 300 })),
  again: fc.nat({ max: 20 }).map((n) => n === 0),
});
