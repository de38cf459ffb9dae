import { hostname } from "node:os";
import process from "node:process";
import type { Config } from "../model/config.ts";
import type { BeginScratch, Disk } from "../model/disk.ts";
import type { Clock, Post, Random, Serve } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import { createClock } from "./clock.ts";
import { hasColors } from "./colors.ts";
import { disk } from "./disk.ts";
import { createLog } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { beginScratch } from "./new-file.ts";
import { createLineOutput, isErrorTerminal, isJournal, STDERR, STDOUT } from "./output.ts";
import { createPost } from "./post.ts";
import { createRandom } from "./random.ts";
import { createReport, reportDropped } from "./report.ts";
import { createServe } from "./serve.ts";
import { runtimeName, VERSION } from "./version.ts";

/** Everything that the machine provides for the daemon. */
export type Machine = {
  readonly clock: Clock;
  readonly random: Random;
  readonly post: Post;
  readonly serve: Serve;
  readonly disk: Disk;
  readonly beginScratch: BeginScratch;
  readonly report: Report;
  readonly metrics: Metrics;
  readonly pid: number;
  readonly host: string;
  /** Applies the log settings of a config. */
  configureLog(settings: Config["log"]): void;
  /** Writes a line to standard output, without waiting for its reader. */
  print(line: string): void;
  /** Resolves when everything logged and printed is written, or after a second. */
  flush(): Promise<void>;
};

export function createMachine(settings: Config["log"]): Machine {
  const clock = createClock();
  const metrics = createMetrics({ clock, version: VERSION, runtime: runtimeName() });
  const errors = createLineOutput({
    file: STDERR,
    dropped: metrics.logDropped,
    resumed: (lines) => reportDropped(log, lines),
  });
  const output = createLineOutput({ file: STDOUT, dropped: () => {}, resumed: () => {} });
  const log = createLog({
    ...settings,
    write: errors.write,
    isTerminal: isErrorTerminal(),
    colors: hasColors(STDERR),
    journald: isJournal(),
  });
  const report = createReport({ log, metrics, clock });
  return {
    clock,
    random: createRandom(),
    post: createPost(),
    serve: createServe({ report }),
    disk,
    beginScratch,
    report,
    metrics,
    pid: process.pid,
    host: hostname(),
    configureLog: log.configure,
    print: (line) => output.write(`${line}\n`),
    async flush() {
      await Promise.all([errors.flush(), output.flush()]);
    },
  };
}
