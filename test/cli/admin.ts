import { createAdmin } from "../../src/admin/api.ts";
import type { AdminWorld } from "../../src/admin/world.ts";
import { createBodies } from "../../src/http/body.ts";
import { createClock } from "../../src/runtime/clock.ts";
import { createServe } from "../../src/runtime/serve.ts";
import { NEVER_PAUSED } from "../admin/make.ts";
import { UNSHIFTED } from "../flow/clock.ts";
import { makeAdmin, makeDestination } from "../flow/make.ts";
import { askAdmin } from "./run.ts";

const LISTEN = { kind: "tcp", host: "127.0.0.1", port: 0 } as const;

/** The operator's API of a daemon that has this behind it, on a port of loopback. Without a token unless `admin` says so. */
export async function serveAdmin(world: Partial<AdminWorld>) {
  const clock = createClock();
  const listener = await createServe()(
    LISTEN,
    createAdmin({
      admin: () => makeAdmin({ listen: LISTEN }),
      bodies: createBodies(clock),
      clock,
      timeline: UNSHIFTED,
      ...world,
    } as AdminWorld),
  );
  return {
    address: listener.address,
    /** Runs a command that asks it. */
    run: (args: readonly string[], env?: Readonly<Record<string, string>>) =>
      askAdmin(args, listener.address, env).ended,
    [Symbol.asyncDispose]: () => listener.stop(),
  };
}

type Parts = Pick<AdminWorld, "waiting" | "whileIdle" | "pauses" | "clock">;

/** The operator's API of a daemon that serves crm, and for whose old destination so many wait; and commands that ask it. */
export async function startAdmin(waiting: number, parts: Partial<Parts> = {}) {
  const done: unknown[] = [];
  let left = waiting;
  function take(limit: number): { readonly count: number; readonly more: boolean } {
    const count = Math.min(left, limit);
    left -= count;
    return { count, more: left > 0 };
  }
  const world: Partial<AdminWorld> = {
    destinations: () => [makeDestination(), makeDestination({ name: "off", enabled: false })],
    backlog: {
      counts: async () => [{ destination: "old", state: "waiting", count: left }],
      oldestWaitingAt: async () => null,
    },
    waiting: {
      async discard(destination, limit) {
        done.push(["discard", destination]);
        const { count, more } = take(limit);
        return { discarded: count, more };
      },
      async move(by, limit) {
        done.push(["move", by]);
        const { count, more } = take(limit);
        return { moved: count - 1, doubled: 1, more };
      },
    },
    whileIdle: (_, work) => work(),
    pauses: NEVER_PAUSED,
    tryNow() {},
    retry: async () => null,
    report: {
      discarded() {},
      moved() {},
      paused() {},
      resumed() {},
      retriedNow() {},
    } as unknown as AdminWorld["report"],
    ...parts,
  };
  const daemon = await serveAdmin(world);
  return {
    /** What the daemon was asked to do, page by page. */
    done,
    begin: (args: readonly string[]) => askAdmin(args, daemon.address),
    run: daemon.run,
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  };
}
