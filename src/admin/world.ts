import type { Bodies } from "../http/body.ts";
import type { Streams } from "../http/stream.ts";
import type { Audiences } from "../model/audience.ts";
import type { Config, Destination, Source } from "../model/config.ts";
import type { Reload } from "../model/daemon.ts";
import type { StoredDeletions } from "../model/deletion.ts";
import type { Pauses } from "../model/destination-clock.ts";
import type { StoreHealth } from "../model/disk.ts";
import type { Fault } from "../model/fault.ts";
import type { Live } from "../model/live.ts";
import type { Lookup } from "../model/lookup.ts";
import type { Backlog, Clock, RequestDeletion, Rescue, SendTest, TryCall } from "../model/ports.ts";
import type { Rejections } from "../model/refusal.ts";
import type { Replay } from "../model/replay.ts";
import type { Report } from "../model/report.ts";
import type { Series } from "../model/series.ts";
import type { Sharing } from "../model/sharing.ts";
import type { Activity, Arrivals, ConfigStatus, Health, HeldBack, LimitStatuses } from "../model/status.ts";
import type { Timeline } from "../model/timeline.ts";
import type { At } from "../model/units.ts";
import type { WaitingDeliveries, WhileIdle } from "../model/waiting-deliveries.ts";

/** What the operator's API needs from the daemon. */
export type AdminWorld = {
  readonly clock: Pick<Clock, "now" | "wall" | "sleep">;
  readonly timeline: Timeline;
  readonly sharing: Sharing | null;
  readonly version: string;
  readonly pid: number;
  /** By `clock.now()`. */
  readonly startedAt: At;
  readonly report: Report;
  readonly metrics: { text(): Promise<string>; readonly contentType: string };

  // By the current config.
  readonly admin: () => Config["admin"];
  readonly outbox: () => Pick<Config["outbox"], "path" | "postgres">;
  readonly sources: () => readonly Source[];
  readonly destinations: () => readonly Destination[];
  readonly reload: Reload;
  readonly lastReload: () => ConfigStatus;
  /** As YAML, without secrets. */
  readonly configText: () => Promise<string>;

  readonly bodies: Bodies;
  readonly streams: Streams;
  readonly arrivals: Arrivals;
  readonly limits: LimitStatuses;
  readonly rejections: Rejections;
  readonly series: Series;
  readonly live: Live;

  readonly pauses: Pauses;
  readonly whileIdle: WhileIdle;
  /** Probes a destination at once. */
  readonly tryNow: (destination: string) => void;
  /** Sends all its waiting deliveries, due or not, whatever its receivers have asked for; so do other daemons. */
  readonly retry: (destination: string) => Promise<Fault | null>;
  readonly activity: Activity;
  readonly webhooks: Health;
  readonly heldBack: HeldBack;

  readonly health: StoreHealth;
  readonly rescue: Rescue;
  readonly backlog: Pick<Backlog, "counts" | "oldestWaitingAt">;
  readonly lookup: Lookup;
  readonly replay: Replay;
  readonly waiting: WaitingDeliveries;
  readonly audiences: Audiences;
  readonly deletions: StoredDeletions;
  readonly requestDeletion: RequestDeletion;
  readonly sendTest: SendTest;
  readonly tryCall: TryCall;
  readonly wakeDeletion: () => void;
};
