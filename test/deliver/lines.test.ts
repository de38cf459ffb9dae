import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLines } from "../../src/deliver/lines.ts";
import { createWindow, type Window } from "../../src/deliver/window.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import { HOUR } from "../../src/model/units.ts";
import { makeDelivery, makeStore } from "./make.ts";

function of(user: string, id: number, more: Partial<Delivery> = {}): Delivery {
  return makeDelivery({ id, body: JSON.stringify({ type: "track", userId: user }), ...more });
}

function makeWindow(rows: Delivery[], store = makeStore(rows)): Window {
  return createWindow("crm", store, createLines("crm", store.readQueue));
}

function take(window: Window): readonly Delivery[] {
  const taken: Delivery[] = [];
  for (const queue of ["retry", "first"] as const) {
    while (window.startFirst(queue, (delivery) => taken.push(delivery) > 0));
  }
  return taken;
}

/** Fills the window, and takes all that may be sent now. */
async function started(window: Window): Promise<readonly number[]> {
  for (let n = 0; n < 10; n += 1) await window.fill(0);
  return take(window).map(({ id }) => id);
}

function withdraw(ids: ReadonlySet<number>, rows: Delivery[], window: Window): void {
  rows.splice(0, rows.length, ...rows.filter(({ id }) => !ids.has(id)));
  window.withdraw(ids);
}

function delivered(delivery: Delivery, rows: Delivery[], window: Window): void {
  rows.splice(rows.indexOf(delivery), 1);
  window.decided(delivery, true);
  window.settled(delivery, null);
}

describe("the lines of a window", () => {
  it("go on with a user when a retry that waited in line is withdrawn", async () => {
    const turn = of("ann", 1, { attemptedAt: 0 });
    const rows = [turn, of("ann", 2, { attemptedAt: 0, dueAt: HOUR }), of("ann", 3)];
    const window = makeWindow(rows);
    assert.deepEqual(await started(window), [1]);
    withdraw(new Set([2]), rows, window);
    delivered(turn, rows, window);
    assert.deepEqual(await started(window), [3]);
  });

  it("go on with a user when all retries are withdrawn, whichever had its turn", async () => {
    const rows = [of("ann", 1, { attemptedAt: 0 }), of("ann", 2, { attemptedAt: 0, dueAt: HOUR }), of("ann", 3)];
    const window = makeWindow(rows);
    for (let n = 0; n < 10; n += 1) await window.fill(0);
    withdraw(new Set([2, 1]), rows, window);
    assert.deepEqual(await started(window), [3]);
  });

  it("go on with a user whose retries are withdrawn while the others are being read", async () => {
    const others = Array.from({ length: 300 }, (_, n) => of(`u${n}`, n + 10, { attemptedAt: 0, dueAt: HOUR }));
    const rows = [of("ann", 1, { attemptedAt: 0 }), ...others, of("ann", 900)];
    const window = makeWindow(rows);
    await window.fill(0);
    withdraw(new Set([1]), rows, window);
    assert.deepEqual(await started(window), [900]);
  });

  it("find what was sent again by a transaction or a daemon whose clock is behind", async () => {
    const rows = [of("ann", 2, { attemptedAt: 0, dueAt: 58_000 })];
    const window = makeWindow(rows);
    for (let n = 0; n < 10; n += 1) await window.fill(60_000);
    assert.deepEqual(
      take(window).map(({ id }) => id),
      [2],
    );
    rows.push(of("bob", 1, { attemptedAt: 0, dueAt: 20_000 }));
    window.readAgain("retries");
    await window.fill(60_000);
    assert.deepEqual(
      take(window).map(({ id }) => id),
      [1],
    );
  });
});
