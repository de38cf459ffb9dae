/** What a run gives, and whether other programs have disturbed it: then it is repeated when they are done. */
import type { Server } from "./contender.ts";
import type { Story } from "./million.ts";
import type { Bench } from "./run.ts";
import { cpuSeconds, cpuSecondsOf, machineSeconds, mainThreadTime, peakMemoryOf } from "./usage.ts";

/** What one run has given: a number for each thing measured, by name. */
export type Measured = {
  readonly values: Readonly<Record<string, number>>;
  readonly shares: Shares;
  /** How it went, of the runs that are drawn. */
  readonly story?: Story;
};

/** How busy each part was, in cores. */
export type Shares = {
  readonly server: number;
  /** Of it, the thread that runs JavaScript. */
  readonly mainThread: number;
  /** How much of the time that thread could have run, had a core been free. */
  readonly queued: number;
  readonly load: number;
  readonly receiver: number;
  /** All other programs of the machine, and the kernel's own threads. */
  readonly others: number;
};

type Work = (cpu: () => number) => Promise<Record<string, number>>;

/** Looks at what every process uses from the beginning of the work until its end. */
export async function watch(server: Server, bench: Bench, work: Work): Promise<Measured> {
  const before = look(server, bench);
  const values = await work(() => cpuSecondsOf(server) - before.server);
  const after = look(server, bench);
  return { values: { ...values, peakMemory: peakMemoryOf(server) }, shares: sharesOf(before, after) };
}

type Look = ReturnType<typeof look>;

function look(server: Server, { load, receiver }: Bench) {
  const main = mainThreadTime(server.pid);
  return {
    at: performance.now() / 1_000,
    server: cpuSecondsOf(server),
    mainThread: main.busy,
    queued: main.queued,
    load: cpuSeconds(load.pid),
    receiver: cpuSeconds(receiver.pid),
    machine: machineSeconds(),
  };
}

function sharesOf(before: Look, after: Look): Shares {
  const [server, load, receiver] = [share("server"), share("load"), share("receiver")];
  return {
    server,
    mainThread: share("mainThread"),
    queued: share("queued"),
    load,
    receiver,
    others: Math.max(0, share("machine") - server - load - receiver),
  };

  function share(of: keyof Look): number {
    return (after[of] - before[of]) / (after.at - before.at);
  }
}

/** In cores: what a quiet machine and the kernel's own threads take. */
const QUIET = 0.15;
/** In ms. */
const REST = 2_000;

/** How many of the runs other programs have disturbed. */
export function countDisturbed(runs: readonly Pick<Measured, "shares">[]): number {
  return runs.filter(isDisturbed).length;
}

function isDisturbed({ shares }: Pick<Measured, "shares">): boolean {
  return shares.others > QUIET;
}

/** Repeats a run that was disturbed. */
type Undisturbed = (run: () => Promise<Measured>) => Promise<Measured>;

/** `patience`: how many seconds all repetitions together may take. After that, whatever a run gives is taken. */
export function createUndisturbed(patience: number): Undisturbed {
  let left = patience * 1_000;
  return async function undisturbed(run) {
    for (;;) {
      const startedAt = performance.now();
      const measured = await run();
      if (!isDisturbed(measured) || left <= 0) return measured;
      console.error(`other programs took ${measured.shares.others.toFixed(2)} cores: once more`);
      await Bun.sleep(REST);
      left -= performance.now() - startedAt;
    }
  };
}
