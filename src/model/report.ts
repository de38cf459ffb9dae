import type { AudienceReport } from "./audience.ts";
import type { DeletionReport } from "./deletion.ts";
import type { Answer, Delivery, Settlement } from "./delivery.ts";
import type { PauseReport } from "./destination-clock.ts";
import type { SpaceReport } from "./disk.ts";
import type { EventType } from "./event.ts";
import type { PruneCounts } from "./ports.ts";
import type { Refusal } from "./refusal.ts";
import type { Duration, Ms } from "./units.ts";
import type { Moved, Redirect } from "./waiting-deliveries.ts";

/** What happened, for the operator: each method writes a log line, counts, or both. */
export type Report = PauseReport &
  DeletionReport &
  AudienceReport &
  SpaceReport & {
    /** `duration`: from the headers of the request to the answer. */
    requestAnswered(status: number, duration: Ms): void;
    /** Calls that are now durable. `duplicates` of them were repeats. */
    callsAccepted(source: string, types: readonly EventType[], duplicates: number): void;
    /** A refused call, or with `type` null a refused request. `source` is null if it is unknown. */
    callRejected(refusal: Refusal): void;
    /** The payload of a template would have been too long: its long values are cut. */
    payloadShortened(destination: string, messageId: string): void;
    eventUnrouted(source: string, rules: readonly string[]): void;
    attempted(delivery: Delivery, answer: Answer & { readonly url: string; readonly duration: Ms }): void;
    settled(delivery: Delivery, settlement: Settlement): void;
    laneClosed(destination: string, url: string, reason: string, probeIn: Ms): void;
    /** The webhook answers but has refused everything for a while: it gets a few requests a second. */
    laneSlowed(destination: string, url: string, reason: string): void;
    laneOpened(destination: string, url: string): void;
    /** The daemon stopped before these attempts ended; they are made again after the start. */
    released(deliveries: number): void;
    storeFailed(doing: string, error: unknown): void;
    slowCommit(duration: Ms, rows: number): void;
    /** Deliveries were removed because of their age, or early to free space. */
    pruned(counts: PruneCounts, reason: "age" | "space"): void;
    /** Waiting deliveries were discarded by command. */
    discarded(destination: string, count: number): void;
    moved(by: Redirect, counts: Pick<Moved, "moved" | "doubled">): void;
    /** Settled deliveries wait again by command. */
    replayed(destination: string, count: number): void;
    daemon(what: DaemonEvent, fields: Readonly<Record<string, string | number | Duration>>): void;
    /** A bug: something that should be impossible. Nothing is lost by it. */
    unexpected(doing: string, error: unknown): void;
    /** Logs how many lines were throttled. Called at the stop. */
    summarize(): void;
  };

export type DaemonEvent =
  | "migrating"
  | "copying_outbox"
  | "outbox_copied"
  | "started"
  | "stopping"
  | "stopped"
  | "reloaded"
  | "reload_failed"
  | "config_problem"
  | "config_warning"
  | "database_doubtful"
  | "unserved"
  | "untrusted_proxy"
  | "stuck"
  | "unstuck"
  | "notify_failed"
  | "notification"
  | "notification_refused"
  | "clock_implausible"
  | "clock_plausible"
  | "clock_stepped"
  | "downtime_unknown";
