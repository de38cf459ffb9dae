/**
 * What the stages ask of the world and of each other. Each port is small and named for what its caller wants; the
 * daemon gets real ones from `runtime/` and `store/`, a test gets false ones.
 */
import type { MemberChange, Members } from "./audience.ts";
import type { Listen, Tls } from "./config.ts";
import type { Deletion, DeletionRequest, Notice, StoredDeletions } from "./deletion.ts";
import type { Delivery, DeliveryKey, DeliveryRef, DeliveryState, SettledState } from "./delivery.ts";
import type { WebhookTls } from "./destination.ts";
import type { StoredClocks } from "./destination-clock.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { Lookup } from "./lookup.ts";
import type { BeginFile, BeginScratch } from "./new-file.ts";
import type { Answer } from "./outcome.ts";
import type { Replay } from "./replay.ts";
import type { Report } from "./report.ts";
import type { Settlement } from "./settlement.ts";
import type { Bounds, Disk, StoreHealth } from "./space.ts";
import type { Migrating } from "./supervisor.ts";
import type { Boot, Timeline } from "./timeline.ts";
import type { At, Ms } from "./units.ts";
import type { Skip } from "./verdict.ts";
import type { WaitingDeliveries } from "./waiting-deliveries.ts";
import type { Withdraw, Withdrawal } from "./withdrawal.ts";

/** Time. Rows hold `now()`, stamps on events hold `wall()`; `store/timeline.ts` says how the two belong together. */
export type Clock = {
  /** Never steps, whatever is done to the machine's clock: waits and cutoffs can be trusted. */
  now(): At;
  /** What the machine's clock says at this moment. */
  wall(): At;
  /** Runs once, `ms` from now, unless cancelled. */
  after(ms: Ms, run: () => void): Cancel;
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: Ms, signal: AbortSignal): Promise<void>;
  /** Resolves at the next turn of the event loop, when all that has arrived by now was handled. */
  nextTurn(): Promise<void>;
  /** From here on `now()` goes on from `at`: where the line of the store is. Once, when the store is opened. */
  continueFrom(at: At): void;
  /** Which start of the machine this is; null where nobody can say. */
  boot(): Boot | null;
  /** When this program was built: no right clock says less. */
  readonly builtAt: At;
};

export type Cancel = () => void;

/** Chance. */
export type Random = {
  /** Evenly from 0 (included) to 1 (excluded). */
  fraction(): number;
  /** So many random bytes, in lowercase hexadecimal. */
  hex(bytes: number): string;
};

/** One HTTP POST. Never rejects: whatever happens is a reply. Redirects are not followed. */
export type Post = (request: PostRequest) => Promise<Reply>;

export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tls: WebhookTls | null;
  /** Ends the attempt, and the reading of its answer, when aborted. */
  readonly signal: AbortSignal;
};

export type Reply =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly retryAfter: string | null;
      readonly location: string | null;
      /** The first KB of the answer's body, once it has been read or cut off. Never rejects. */
      readonly body: Promise<string>;
    }
  | { readonly kind: "aborted" }
  | Exclude<Answer, { kind: "answered" | "timeout" | "released" }>;

/** Makes events durable together with their deliveries. Answers only after the commit, one receipt for each entry. */
export type Append = (entries: readonly Entry[]) => Promise<readonly Receipt[] | Fault>;

/** An event as it is stored: what it is, what goes out, and to whom. */
export type Entry = {
  readonly source: string;
  readonly event: Event;
  readonly body: string;
  readonly deliverTo: readonly string[];
  readonly skipped: readonly Skip[];
  /** What must not go out any more from the commit of this event on; not done if it is a repeat. */
  readonly withdraws?: Withdrawal;
  /** What it is to a deletion. Of the same notice there is one event only: another one is a duplicate. */
  readonly notice?: Notice;
  /**
   * The membership or value that the event tells of: it is written in the same commit, and what waits of the event before
   * about it has failed as superseded. If it is not to be written any more, the event is not stored either: a duplicate.
   */
  readonly change?: MemberChange;
};

/** What comes with an event, beside the event itself. */
export type Extra = Pick<Entry, "withdraws" | "notice" | "change"> & {
  /** Destinations for which it waits although they take nothing now. */
  readonly alsoTo?: readonly string[];
};

/**
 * `accepted`: the event is durable, and these deliveries wait. `duplicate`: it was accepted before. `suppressed`: it is
 * about a user who was deleted and whose calls are refused; nothing of it is stored.
 */
export type Receipt =
  | { readonly kind: "accepted"; readonly deliveries: readonly Delivery[] }
  | { readonly kind: "duplicate" }
  | { readonly kind: "suppressed" };

/**
 * Reads waiting deliveries of one destination, at most `limit` and a few MB of bodies. Reading claims nothing: the
 * delivery loop knows what it has.
 */
export type Claims = (ask: ClaimAsk) => Promise<ClaimPage>;

export type ClaimPage = {
  readonly deliveries: readonly Delivery[];
  /** Whether there may be others after the last one. */
  readonly more: boolean;
  /** Up to where was read, if what is there could not be: without it, up to the last delivery. */
  readonly upTo?: QueuePosition;
};

export type ClaimAsk = {
  readonly destination: string;
  /** First attempts come by age, retries by the time they are due. */
  readonly queue: Queue;
  /** The last one read before, or null to read from the start. */
  readonly after: QueuePosition | null;
  /** Retries due later than this are left. */
  readonly dueBy: At;
  readonly limit: number;
  /** Of first attempts: reads the last ones that were accepted, the newest first, whatever `after` says. */
  readonly newestFirst?: boolean;
};

export type Queue = "first" | "retry";
export type QueuePosition = { readonly dueAt: At; readonly id: number };

/** Writes what became of a delivery. `gone`: it was not waiting any more, or not here. Fault: `store_failed`; try again. */
export type Settle = (delivery: Delivery, settlement: Settlement) => Promise<"written" | "gone" | Fault>;

/** What the loop and the gauges know of the deliveries that are stored. */
export type Backlog = {
  /** When the next retry of this destination after this position is due, or null if none waits there. */
  nextRetryAt(destination: string, after: QueuePosition | null): Promise<At | null>;
  /** When the delivery that waits longest was accepted, or sent again by the operator; null if none waits. */
  oldestWaitingAt(destination: string): Promise<At | null>;
  /** How many deliveries there are. Cheap: nothing is counted. A destination that had some once has a row of zero. */
  counts(): Promise<readonly DeliveryCount[]>;
};

export type DeliveryCount = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/**
 * Removes what has been kept long enough, about `limit` rows of each kind, and says how many it removed; null if there was
 * nothing to do. There may be more until then, whatever the counts say.
 */
export type Prune = (before: PruneBefore, limit: number) => Promise<PruneCounts | null>;
export type PruneBefore = {
  readonly delivered: At;
  readonly failed: At;
  readonly seen: At;
  /**
   * Delivered ones that are stored together with some that wait, accepted before this, go where that saves space; left
   * out, they stay.
   */
  readonly sparse?: At;
};
export type PruneCounts = Readonly<Record<SettledState | "unrouted" | "seen", number>>;

/** Copies what the daemon still has of a store whose file is gone, as one file. Refused while the file is in its place. */
export type Rescue = () => Promise<{ readonly size: number; readonly bytes: ReadableStream<Uint8Array> } | Fault>;

/** What the daemon has to know at once of a change that it did not make by a port itself, or not by the one that hears of it. */
export type StoreChange =
  /** Waiting deliveries have come to another queue or destination, or to this daemon: they are to be read again. */
  | { readonly kind: "moved" }
  /** These do not wait any more, and must not be sent. */
  | { readonly kind: "withdrawn"; readonly deliveries: readonly DeliveryKey[] }
  /** These are another daemon's now: whatever is known of them here is forgotten. */
  | { readonly kind: "lost"; readonly has: (ref: DeliveryRef) => boolean }
  /** The store is so full that settled deliveries should go before their time. */
  | { readonly kind: "crowded" };

/** What an engine is opened with. */
export type StoreOptions = {
  /** Where the outbox is. */
  readonly path: string;
  /** When nothing more is taken in. A reload may change it. */
  readonly bounds: () => Bounds;
  readonly disk: Disk;
  /** Hears how an outbox of an older version is brought up to date. */
  readonly migrating?: Migrating | undefined;
  /** Writes the copy that is kept before a large step of that. Left out, none is kept. */
  readonly beginFile?: BeginFile | undefined;
  /** Where a copy is made for an operator who asks the daemon for one. Left out, none is. */
  readonly beginScratch?: BeginScratch | undefined;
  /** Of this process, for whoever finds the outbox locked. */
  readonly pid: number;
  readonly clock: Clock;
  readonly report: Report;
};

/** Opens the store, or makes it. Rejects with a message for the operator when it cannot. */
export type OpenStore = (options: StoreOptions) => Promise<Store>;

/** Everything that a store gives; each part of the daemon asks for the one port that it needs. */
export type Store = {
  /** From now on, calls `hear` with each change, right after its commit. One listener; without one, nobody hears. */
  changes(hear: (change: StoreChange) => void): void;
  readonly append: Append;
  readonly claims: Claims;
  readonly settle: Settle;
  readonly backlog: Backlog;
  readonly prune: Prune;
  readonly waiting: WaitingDeliveries;
  readonly replay: Replay;
  readonly withdraw: Withdraw;
  readonly deletions: StoredDeletions;
  readonly clocks: StoredClocks;
  readonly members: Members;
  readonly lookup: Lookup;
  readonly health: StoreHealth;
  readonly timeline: Timeline;
  readonly rescue: Rescue;
  /** Commits what is under way, and lets go of the files. May be called twice. */
  close(): Promise<void>;
};

/**
 * Takes events in: routes them, makes them durable, and sets their delivery off (accept/accept.ts). `extras[n]` comes with
 * the nth event.
 */
export type Accept = (
  source: string,
  events: readonly Event[],
  extras?: readonly Extra[],
) => Promise<readonly Receipt[] | Fault>;

/** Has users deleted everywhere (SPEC.md 6). Answers when the request is durable. */
export type RequestDeletion = (request: DeletionRequest) => Promise<DeletionReceipt | Fault>;

/** What was set off: one notification for each user and source. */
export type DeletionReceipt = Pick<Deletion, "id" | "status" | "sources" | "untold"> & {
  readonly notifications: number;
};

/** Where the references of a config are looked up: the only way in which it depends on the world outside its file. */
export type Resolve = {
  env(name: string): string | undefined;
  /** The path is absolute, or relative to where the config file's own path is relative to. */
  file(path: string): FileText;
  /** A credential that systemd handed to the unit. */
  credential(name: string): FileText;
};

/** What a file holds, or why it cannot be read; the reason does not repeat the path. */
export type FileText =
  | { readonly ok: true; readonly text: string; readonly worldReadable: boolean }
  | { readonly ok: false; readonly why: string };

/** Answers one HTTP request. */
export type Handle = (request: Request, peer: Peer) => Response | Promise<Response>;
/** Who asks: the other end of the connection. */
export type Peer = {
  /** Its IP address. Null over a Unix socket, and once the connection is gone: nobody can say any more. */
  readonly address: string | null;
  /** Whether the connection came over a Unix socket, where only programs of this machine are. */
  readonly overSocket: boolean;
};

/** Listens for HTTP, or with `tls` (over TCP only) for HTTPS. Rejects when it cannot. */
export type Serve = (listen: Listen, handle: Handle, tls?: Tls | null) => Promise<Listener>;
export type Listener = {
  /** Where it listens, as a URL or `unix:/path`; the port is the one the system gave. */
  readonly address: string;
  /**
   * Serves new connections with another certificate; those that are open go on with theirs. Rejects when it cannot, and
   * then goes on as before. Only for a listener that was opened with `tls`.
   */
  renew(tls: Tls): Promise<void>;
  /** Takes no more connections, and resolves when the running requests are answered. */
  stop(): Promise<void>;
};
