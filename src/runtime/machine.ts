import process from "node:process";
import type { Config } from "../model/config.ts";
import type { BeginScratch } from "../model/new-file.ts";
import type { Clock, Post, Random, Serve } from "../model/ports.ts";
import type { Report } from "../model/report.ts";
import type { Disk } from "../model/space.ts";
import { createClock } from "./clock.ts";
import { disk } from "./disk.ts";
import { createLog } from "./log.ts";
import { createMetrics, type Metrics } from "./metrics.ts";
import { createPost } from "./post.ts";
import { createRandom } from "./random.ts";
import { createReport } from "./report.ts";
import { beginScratch } from "./scratch.ts";
import { createServe } from "./serve.ts";
import { isErrorTerminal, isJournal, printError } from "./terminal.ts";
import { runtimeName, VERSION } from "./version.ts";

/** Everything that the machine gives to the daemon. */
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
  /** Takes what the config says about logs. */
  configureLog(settings: Config["log"]): void;
};

export function createMachine(settings: Config["log"]): Machine {
  const clock = createClock();
  const log = createLog({ ...settings, write: printError, isTerminal: isErrorTerminal(), journald: isJournal() });
  const metrics = createMetrics({ clock, version: VERSION, runtime: runtimeName() });
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
    configureLog: log.configure,
  };
}
