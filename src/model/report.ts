import type { AudienceReport } from "./audience.ts";
import type { DeletionReport } from "./deletion.ts";
import type { Delivery } from "./delivery.ts";
import type { EventType } from "./event.ts";
import type { Answer } from "./outcome.ts";
import type { PauseReport } from "./pause.ts";
import type { PruneCounts } from "./ports.ts";
import type { Refusal } from "./refusal.ts";
import type { Settlement } from "./settlement.ts";
import type { SpaceReport } from "./space.ts";
import type { Duration, Ms } from "./units.ts";
import type { Moved, Redirect } from "./waiting-deliveries.ts";

/** Tells the operator what happened: each call writes one log line, or counts, or both. */
export type Report = PauseReport &
  DeletionReport &
  AudienceReport &
  SpaceReport & {
    requestAnswered(status: number): void;
    /** Calls that are now durable. `duplicates` of them had been there before. */
    callsAccepted(source: string, types: readonly EventType[], duplicates: number): void;
    /** A call, or with `type` null a whole request, that was not taken. `source` is null while nobody knows it. */
    callRejected(refusal: Refusal): void;
    eventUnrouted(source: string, rules: readonly string[]): void;
    attempted(delivery: Delivery, answer: Answer & { readonly url: string; readonly duration: Ms }): void;
    settled(delivery: Delivery, settlement: Settlement): void;
    laneClosed(destination: string, url: string, reason: string, probeIn: Ms): void;
    /** The webhook answers, and has refused everything for a while: it gets a few requests a second. */
    laneSlowed(destination: string, url: string, reason: string): void;
    laneOpened(destination: string, url: string): void;
    /** The daemon stopped before these attempts were over; they begin anew after the start. */
    released(deliveries: number): void;
    storeFailed(doing: string, error: unknown): void;
    slowCommit(duration: Ms, rows: number): void;
    /** Because of their age, or to make space before their time. */
    pruned(counts: PruneCounts, reason: "age" | "space"): void;
    /** What waited for a destination, and no longer does because the operator said so. */
    discarded(destination: string, count: number): void;
    moved(by: Redirect, counts: Pick<Moved, "moved" | "doubled">): void;
    /** What was settled and waits again, because the operator said so. */
    replayed(destination: string, count: number): void;
    daemon(what: DaemonEvent, fields: Readonly<Record<string, string | number | Duration>>): void;
    /** Something that should be impossible. Nothing is lost by it, and it should be reported as a bug. */
    unexpected(doing: string, error: unknown): void;
    /** Tells of lines that were left out because there were many like them: at the stop, when no more will come. */
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
  | "unserved"
  | "untrusted_proxy"
  | "stuck"
  | "unstuck"
  | "notify_failed"
  | "clock_implausible"
  | "clock_plausible"
  | "clock_stepped"
  | "downtime_unknown";
