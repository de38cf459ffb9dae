import type { LogLevel } from "../../src/model/config.ts";
import type { Delivery } from "../../src/model/delivery.ts";
import { MINUTE } from "../../src/model/units.ts";
import { createLog } from "../../src/runtime/log.ts";
import { createMetrics } from "../../src/runtime/metrics.ts";
import { createReport } from "../../src/runtime/report.ts";
import { refOf } from "../../src/store/sqlite/progress.ts";
import { createFalseClock } from "../flow/clock.ts";

/** A report with a false clock, whose lines are collected without their time. */
export function startReport(level: LogLevel = "debug") {
  const clock = createFalseClock(0);
  const lines: string[] = [];
  const write = (line: string) => lines.push(line.replace(/^time=\S+ level=/, "").trimEnd());
  const log = createLog({ level, format: "logfmt", write, isTerminal: false, journald: false });
  const metrics = createMetrics({ clock, version: "1", runtime: "test" });
  metrics.declare({ sources: [], destinations: ["crm"], webhooks: new Map([["crm", [HOOK]]]), served: ["crm"] });
  const count = async (series: string) => {
    const line = (await metrics.text()).split("\n").find((text) => text.startsWith(`${series} `));
    return line === undefined ? undefined : Number(line.slice(series.length + 1));
  };
  return { clock, lines, log, metrics, count, report: createReport({ log, metrics, clock }) };
}

export const HOOK = "https://ann:pw@crm.example.com/in?token=x";
/** As the log shows it. */
export const LOGGED = "https://crm.example.com/in";

export const delivery: Delivery = {
  ref: refOf(1),
  id: 7,
  destination: "crm",
  source: "website",
  messageId: "m-1",
  type: "track",
  body: "{}",
  acceptedAt: 0,
  replayedAt: null,
  attempts: 2,
  firstAttemptAt: 0,
  attemptedAt: null,
  stoodStill: 0,
  dueAt: 0,
  finals: [],
};

export const progress = { attempts: 3, firstAttemptAt: 0, attemptedAt: 6 * MINUTE, stoodStill: 0, finals: [] };
