import type * as Attempt from "../../../src/deliver/attempt.ts";
import type * as Clocks from "../../../src/deliver/clocks.ts";
import type * as DestinationClock from "../../../src/deliver/destination-clock.ts";
import type * as Finals from "../../../src/deliver/finals.ts";
import type * as Lane from "../../../src/deliver/lane.ts";
import type * as Loop from "../../../src/deliver/loop.ts";
import type * as Waker from "../../../src/deliver/waker.ts";
import type * as Window from "../../../src/deliver/window.ts";
import { fault } from "./fault.ts";

/** What can go wrong between a row and a request. */
export const DELIVER_FAULTS = [
  fault<typeof Waker>("loses a wake-up between look and sleep", "deliver/waker.ts", ({ createWaker }) => ({
    createWaker(clock) {
      const real = createWaker(clock);
      let waits = false;
      return {
        ...real,
        wake: () => void (waits && real.wake()),
        async wait(until) {
          waits = true;
          await real.wait(until);
          waits = false;
        },
      };
    },
  })),
  fault<typeof Window>("keeps its claim on what is to be tried again", "deliver/window.ts", ({ createWindow }) => ({
    createWindow(destination, world) {
      const real = createWindow(destination, world);
      return { ...real, settled: (delivery, dueAt) => void (dueAt === null && real.settled(delivery, dueAt)) };
    },
  })),
  fault<typeof Window>("forgets when the next retry is due", "deliver/window.ts", ({ createWindow }) => ({
    createWindow: (destination, world) => ({ ...createWindow(destination, world), nextDueAt: () => null }),
  })),
  fault<typeof Window>("forgets what was withdrawn", "deliver/window.ts", ({ createWindow }) => ({
    createWindow: (destination, world) => ({ ...createWindow(destination, world), withdraw() {} }),
  })),
  fault<typeof Window>("does not read again what was moved", "deliver/window.ts", ({ createWindow }) => ({
    createWindow: (destination, world) => ({ ...createWindow(destination, world), readAgain() {} }),
  })),
  fault<typeof Loop>("drops a row at a reload", "deliver/loop.ts", ({ createLoop }) => ({
    createLoop(name, world) {
      const real = createLoop(name, world);
      let [reloads, dropped] = [0, 0];
      return {
        ...real,
        setDestination(destination) {
          real.setDestination(destination);
          reloads += 1;
        },
        enqueue(delivery) {
          if (reloads <= 1 || dropped === reloads) return real.enqueue(delivery);
          dropped = reloads;
        },
      };
    },
  })),
  fault<typeof Attempt>("changes the body when it is sent again", "deliver/attempt.ts", ({ attempt }) => {
    const sent = new Set<string>();
    return {
      attempt(request, timeout, world) {
        const { body } = request;
        const isRetry = sent.has(body);
        sent.add(body);
        return attempt(isRetry ? { ...request, body: body.replace("{", "{ ") } : request, timeout, world);
      },
    };
  }),
  fault<typeof Finals>("asks again who has refused for good", "deliver/finals.ts", () => ({ currentFinals: () => [] })),
  fault<typeof Clocks>("delivers to who is paused", "deliver/clocks.ts", ({ createClocks }) => ({
    createClocks(world) {
      const real = createClocks(world);
      return { ...real, pauses: { ...real.pauses, since: () => null } };
    },
  })),
  fault<typeof Clocks>("has clocks that always stand still", "deliver/clocks.ts", ({ createClocks }) => ({
    createClocks(world) {
      const real = createClocks(world);
      return { ...real, of: (destination) => ({ ...real.of(destination), stoodStill: (at) => at }) };
    },
  })),
  fault<typeof DestinationClock>("stops a clock too late", "deliver/destination-clock.ts", ({ stopped }) => ({
    stopped: (clock, reason, at) => stopped(clock, reason, at + 60_000),
  })),
  fault<typeof Lane>("does not hold a lane whose receiver wants silence", "deliver/lane.ts", ({ createLane }) => ({
    createLane(name, report) {
      const real = createLane(name, report);
      return { ...real, done: (result, circumstances) => real.done({ ...result, hold: null }, circumstances) };
    },
  })),
  fault<typeof Loop>("does not write what is answered while it stops", "deliver/loop.ts", ({ createLoop }) => ({
    createLoop(name, world) {
      const settle: typeof world.settle = async (delivery, settlement) => {
        return world.stopping.aborted ? "gone" : world.settle(delivery, settlement);
      };
      return createLoop(name, { ...world, settle });
    },
  })),
];
