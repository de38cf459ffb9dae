import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createSteering } from "../../src/runtime/steering.ts";

type Kernel = ReturnType<typeof createKernel>;

/** Sockets that share a port, kept as Linux keeps them. */
function createKernel() {
  const group: number[] = [];
  let place: number | undefined;
  let next = 3;
  return {
    list: () => [...group].sort(),
    lead(socket: number, at: number): boolean {
      assert.ok(group.includes(socket), "only a socket of the group can lead");
      place = at;
      return true;
    },
    open(): number {
      group.push(next);
      return next++;
    },
    close(socket: number): void {
      const last = group.pop();
      if (last !== undefined && last !== socket) group[group.indexOf(socket)] = last;
    },
    /** Where new connections go; undefined if the kernel chooses among several. */
    target: () => (group.length === 1 ? group[0] : group[place ?? -1]),
  };
}

function startServers(kernel: Kernel, count: number) {
  const steering = createSteering(kernel);
  return Array.from({ length: count }, () => {
    const { opened, led, left } = steering.enter(kernel.open);
    assert.equal(led, true);
    assert.equal(kernel.target(), opened);
    return {
      close() {
        kernel.close(opened);
        left();
      },
    };
  });
}

describe("steering", () => {
  for (const order of [
    [0, 1, 2],
    [2, 0, 1],
    [1, 2, 0],
  ]) {
    it(`keeps to the newest server while older ones are closed in the order ${order}`, () => {
      const kernel = createKernel();
      const servers = startServers(kernel, 4);
      const newest = kernel.target();
      for (const index of order) {
        servers[index]?.close();
        assert.equal(kernel.target(), newest);
      }
    });
  }

  it("says so where nothing can be led", () => {
    const kernel = createKernel();
    const refusing = { ...kernel, lead: () => false };
    const unseeing = { ...kernel, list: () => [] };
    for (const sockets of [null, refusing, unseeing]) {
      const { led, left } = createSteering(sockets).enter(kernel.open);
      assert.equal(led, false);
      left();
    }
  });

  it("goes on as before when the next server cannot be opened", () => {
    const kernel = createKernel();
    const steering = createSteering(kernel);
    steering.enter(kernel.open);
    const older = steering.enter(kernel.open);
    assert.throws(
      () =>
        steering.enter(() => {
          throw new Error("no certificate");
        }),
      /no certificate/,
    );
    assert.equal(kernel.target(), older.opened);
  });
});
