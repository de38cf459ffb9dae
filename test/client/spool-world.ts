import { readdirSync, readFileSync, statSync } from "node:fs";
import { type Files, type Machine, thisMachine } from "../../src/client/spool/machine.ts";
import { createSpooling } from "../../src/client/spool/spooling.ts";
import { createFalseClock } from "../flow/clock.ts";
import { type ClientOptions, startClient, type TestClient } from "./world.ts";

export const DOWN = new Error("connection refused");
export const MB = 1_048_576;
/** Large enough that a small spool is full after some forty. */
export const LARGE = { properties: { pad: "x".repeat(25_000) } };

export function trackAll(c: TestClient, count: number, prefix = "E", more: object = {}): readonly string[] {
  const names = Array.from({ length: count }, (_, nth) => `${prefix}${nth}`);
  for (const name of names) void c.track(name, more);
  return names;
}

export function sentBy(c: TestClient): readonly string[] {
  return c.batches().flat();
}

type Process = {
  /** It does nothing any more. */
  kill(): void;
  /** Others take it for dead. */
  hide(): void;
};

export type SpoolWorld = Disposable & {
  /** Starts a client of a process of its own, which lives until it is killed. */
  start(options?: SpoolClientOptions): TestClient & Process;
  readonly clock: ReturnType<typeof createFalseClock>;
  /** What is in the segments, oldest first. */
  written(): string;
  segments(): readonly string[];
};

type SpoolClientOptions = Omit<ClientOptions, "spool" | "clock"> & {
  readonly spool?: Partial<NonNullable<ClientOptions["spool"]>>;
  readonly fs?: Partial<Files>;
  readonly host?: string;
};

/** Processes on one spool, in real files, by one false clock. */
export function makeSpool(directory: string): SpoolWorld {
  const clock = createFalseClock();
  const alive = new Set<number>();
  const real = thisMachine();
  let last = 1;
  let isOver = false;
  /** A client goes on after its test. It must not make the test's folder again, which is removed by then. */
  const mkdirSync = ((...args: Parameters<Files["mkdirSync"]>) => {
    if (isOver) throw new Error("the test is over");
    return real.fs.mkdirSync(...args);
  }) as Files["mkdirSync"];

  return {
    clock,
    [Symbol.dispose]() {
      isOver = true;
    },
    start({ spool, fs, host = "here", world, ...options } = {}) {
      last += 1;
      const pid = last;
      let isKilled = false;
      alive.add(pid);
      const isAlive = (one: number): boolean => alive.has(one);
      const machine: Machine = { fs: { ...real.fs, mkdirSync, ...fs }, pid, host, startedAt: 0, isAlive };
      const client = startClient({
        ...options,
        clock,
        spool: { directory, ...spool },
        world: {
          uuid: () => crypto.randomUUID(),
          after: (ms, run) => clock.after(ms, () => !isKilled && run()),
          createSpooling: (parts, settings) => createSpooling(parts, settings, machine),
          ...world,
        },
      });
      return {
        ...client,
        hide: () => void alive.delete(pid),
        kill() {
          isKilled = true;
          alive.delete(pid);
        },
      };
    },
    segments: () => segmentsOf(directory),
    written: () =>
      segmentsOf(directory)
        .map((path) => readFileSync(path, "utf8"))
        .join(""),
  };
}

function segmentsOf(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".log"))
    .map((path) => `${directory}/${path}`)
    .filter((path) => statSync(path).isFile())
    .sort((a, b) => (a.slice(a.lastIndexOf("/")) < b.slice(b.lastIndexOf("/")) ? -1 : 1));
}
