/** What a line of the table says, and the runs that its numbers come from. */
import { measureAudience, type Sync } from "./audience.ts";
import type { Contender } from "./contender.ts";
import { type Flood, measureFairness } from "./fairness.ts";
import { measureBacklog, measureReloads, measureSingles, measureSteady, type Rate } from "./measure.ts";
import { measureMillion } from "./million.ts";
import { measureSecure, measureSpread, type Scheme, type SecureLoad } from "./receivers.ts";
import type { Ids } from "./requests.ts";
import type { Bench } from "./run.ts";
import { type Load, measureComeback, measureIsolation, type Neighbours } from "./sick-receivers.ts";
import { measureIdle, measureStart, measureWaiting } from "./starting.ts";
import { measurePaced, type Pace } from "./steady.ts";
import type { Measured } from "./watch.ts";

export const ROW_NAMES = [
  "singles",
  "batches",
  "drain",
  "https",
  "spread",
  "cpu",
  "latency",
  "steady",
  "memory",
  "start",
  "idle",
  "million",
  "reload",
  "isolation",
  "comeback",
  "fairness",
  "audience",
] as const;
export type RowName = (typeof ROW_NAMES)[number];

export type Line = {
  readonly row: RowName;
  readonly label: string;
  /** How numbers of this kind are written. */
  readonly unit: "/s" | "s" | "ms" | "MB" | "µs" | "KB" | "%" | "connections" | "handshakes" | "";
  /**
   * The run that gives the number to compare with: the floor's, or Fairlead's own when nothing disturbs it. Null for what
   * neither does.
   */
  readonly base: Turn | null;
  /** The run that gives Fairlead's number. */
  readonly run: RunName;
  /** What the number is called in both runs. */
  readonly value: string;
  /** Null where a number only explains the others. */
  readonly wanted: Wanted | null;
  /** What part of the Go program's number it must be at least, when that was measured. */
  readonly leastOfGo?: number;
};

/** Fairlead's number, as a part of the other, or by itself (`upTo`, in the line's unit). */
export type Wanted = { readonly least: number } | { readonly most: number } | { readonly upTo: number };

/** A run of one of the servers. */
export type Turn = { readonly run: RunName; readonly contender: Contender };

/** What is done with a server in one go. */
export type RunName =
  | `singles ${Ids}`
  | `batches ${Ids}`
  | "backlog"
  | `https ${SecureLoad}`
  | `spread ${Scheme}`
  | "steady"
  | `paced ${Pace}`
  | "idle"
  | "start"
  | "million"
  | "waiting"
  | ReloadRun
  | `audience ${Sync}`
  | `isolation ${Load} ${Neighbours}`
  | `fairness ${Flood}`
  | "comeback";

/** With a config of so many sources, which is left alone or reloaded all the while. */
type ReloadRun = `${"calm" | "reloaded"} ${Rate} ${number}`;

export function measure(run: RunName, contender: Contender, bench: Bench): Promise<Measured> {
  const [kind, how, rest] = run.split(" ");
  const ids = (how ?? "none") as Ids;
  if (kind === "singles") return measureSingles(contender, ids, bench);
  if (kind === "batches") return measureBacklog(contender, { ids, drain: false }, bench);
  if (kind === "backlog") return measureBacklog(contender, { ids: "none", drain: true }, bench);
  if (kind === "isolation") return measureIsolation(how as Load, rest as Neighbours, bench);
  if (kind === "fairness") return measureFairness(how as Flood, bench);
  if (kind === "audience") return measureAudience(how as Sync, bench);
  if (kind === "comeback") return measureComeback(bench);
  if (kind === "idle") return measureIdle(contender, bench);
  if (kind === "start") return measureStart(contender, bench);
  if (kind === "million") return measureMillion(contender, bench);
  if (kind === "waiting") return measureWaiting(bench);
  if (kind === "https") return measureSecure(contender, how as SecureLoad, bench);
  if (kind === "spread") return measureSpread(how as Scheme, bench);
  if (kind === "paced") return measurePaced(contender, Number(how) as Pace, bench);
  if (kind === "steady") return measureSteady(contender, "none", bench);
  return measureReloads({ rate: how as Rate, sources: Number(rest), reloads: kind === "reloaded" }, bench);
}

/** An average of half a minute need not be made again. */
export function isMeasuredOnce(run: RunName): boolean {
  return run === "idle";
}

/** Whether a minimal worker on a queue can do it as well. That of `million` would take it minutes. */
export function isForPeers({ run, contender }: Turn): boolean {
  return contender === "floor" && run !== "million";
}
