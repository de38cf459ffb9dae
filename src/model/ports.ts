/**
 * The ports: what the stages need from the world and from each other. Each is small and named for what its caller wants.
 * `runtime/` and `store/` implement them; tests use fakes.
 */
import type { MemberChange, Members } from "./audience.ts";
import type { Listen, Postgres, Source, Tls, WebhookTls } from "./config.ts";
import type { Migrating } from "./daemon.ts";
import type { Deletion, DeletionRequest, Notice, StoredDeletions } from "./deletion.ts";
import type {
  Answer,
  Delivery,
  DeliveryKey,
  DeliveryRef,
  DeliveryState,
  SettledState,
  Settlement,
} from "./delivery.ts";
import type { StoredClock, StoredClocks } from "./destination-clock.ts";
import type { BeginFile, BeginScratch, Bounds, Disk, StoreHealth } from "./disk.ts";
import type { Event, Preview, Skip } from "./event.ts";
import type { Fault } from "./fault.ts";
import type { Lookup } from "./lookup.ts";
import type { Replay } from "./replay.ts";
import type { Report } from "./report.ts";
import type { Announcement, Sharing } from "./sharing.ts";
import type { Boot, Timeline } from "./timeline.ts";
import type { At, Ms } from "./units.ts";
import type { WaitingDeliveries, Withdraw, Withdrawal } from "./waiting-deliveries.ts";

/** Time. Rows hold `now()`, events hold `wall()`; `store/timeline.ts` converts between the two. */
export type Clock = {
  /** Never steps, even if the machine's clock is set: waits and cutoffs can rely on it. */
  now(): At;
  /** The machine's clock. */
  wall(): At;
  /** Runs once after `ms`, unless cancelled. */
  after(ms: Ms, run: () => void): Cancel;
  /** Resolves after `ms`, or at once when the signal is aborted. Never rejects. */
  sleep(ms: Ms, signal: AbortSignal): Promise<void>;
  /** Resolves at the next turn of the event loop, after everything that has already arrived was handled. */
  nextTurn(): Promise<void>;
  /** Makes `now()` continue from `at`, the latest time in the store. Called once, when the store is opened. */
  continueFrom(at: At): void;
  /** The current boot of the machine; null if unknown. */
  boot(): Boot | null;
  /** When this program was built: a correct clock cannot be earlier. */
  readonly builtAt: At;
};

export type Cancel = () => void;

/** Randomness. */
export type Random = {
  /** Evenly from 0 (included) to 1 (excluded). */
  fraction(): number;
  /** This many random bytes, in lowercase hexadecimal. */
  hex(bytes: number): string;
};

/** One HTTP POST. Never rejects: every failure is a reply. Redirects are not followed. */
export type Post = (request: PostRequest) => Promise<Reply>;

export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly tls: WebhookTls | null;
  /** Ends the attempt, and the reading of its answer, when aborted. */
  readonly signal: PostSignal;
};

/** What a POST needs of an AbortSignal. Making a real one costs more than all else that is prepared for an attempt. */
export type PostSignal = {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
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

/** Stores events together with their deliveries. Resolves after the commit, with one receipt for each entry. */
export type Append = (entries: readonly Entry[]) => Promise<readonly Receipt[] | Fault>;

/** An event to be stored, with its body and its destinations. */
export type Entry = {
  readonly source: string;
  readonly event: Event;
  /** With the payloads of destinations that have their own (model/payload.ts). */
  readonly body: string;
  readonly deliverTo: readonly string[];
  readonly skipped: readonly Skip[];
  /** Deliveries that end with the commit of this event; ignored if the event is a repeat. */
  readonly withdraws?: Withdrawal;
  /** The deletion that it belongs to. A second event for the same notice counts as a duplicate. */
  readonly notice?: Notice;
  /**
   * The membership or value that the event reports. It is written in the same commit, and waiting deliveries of the previous
   * event about it fail as superseded. If the change is obsolete, the event is not stored and counts as a duplicate.
   */
  readonly change?: MemberChange;
};

/** What accompanies an event. */
export type Extra = Pick<Entry, "withdraws" | "notice" | "change"> & {
  /** Destinations that get it although they take no new events now. */
  readonly alsoTo?: readonly string[];
  /** The only destination that gets it, whatever the rules say: it is a test of that one. */
  readonly testOf?: string;
  /** It is a notification: the webhook of `notify` that gets it, by its name as a destination, and what is stored as its body. */
  readonly notification?: { readonly to: string; readonly body: string };
};

/**
 * `accepted`: the event is durable, and these deliveries wait. `duplicate`: it was accepted before. `suppressed`: its user
 * was deleted and their calls are refused; nothing was stored.
 */
export type Receipt =
  | { readonly kind: "accepted"; readonly deliveries: readonly Delivery[] }
  | { readonly kind: "duplicate" }
  | { readonly kind: "suppressed" };

/**
 * Reads waiting deliveries of one destination, at most `limit` and a few MB of bodies. Reading does not claim them: the
 * delivery loop remembers what it holds.
 */
export type ReadQueue = (ask: QueueAsk) => Promise<QueuePage>;

export type QueuePage = {
  readonly deliveries: readonly Delivery[];
  /** Whether more may follow the last one. */
  readonly more: boolean;
  /** The position up to which was read, if that is not the last delivery's: others were unreadable or passed over. */
  readonly upTo?: QueuePosition;
  /** The sources of what was passed over. */
  readonly passedOver?: ReadonlySet<string>;
};

export type QueueAsk = {
  readonly destination: string;
  /** First attempts are ordered by age, retries by due time. */
  readonly queue: Queue;
  /** The last position read, or null to start from the beginning. */
  readonly after: QueuePosition | null;
  /** Retries due later than this are left. */
  readonly dueBy: At;
  readonly limit: number;
  /** For first attempts: reads the newest ones first and ignores `after`. */
  readonly newestFirst?: boolean;
  /** For first attempts: passes over those of these sources. After a while a page ends, with `upTo`, whatever it has found. */
  readonly notOf?: ReadonlySet<string>;
};

export type Queue = "first" | "retry";
export type QueuePosition = { readonly dueAt: At; readonly id: number };

/** Writes the result of a delivery. `gone`: it was no longer waiting, or is elsewhere. Fault: `store_failed`; try again. */
export type Settle = (delivery: Delivery, settlement: Settlement) => Promise<"written" | "gone" | Fault>;

/** What the loop and the gauges can ask about stored deliveries. */
export type Backlog = {
  /** When the destination's next retry after this position is due; null if there is none. */
  nextRetryAt(destination: string, after: QueuePosition | null): Promise<At | null>;
  /** When the delivery that waits longest was accepted, or sent again by the operator; null if none waits. */
  oldestWaitingAt(destination: string): Promise<At | null>;
  /**
   * The number of deliveries. Cheap: counts are maintained, not computed. A destination that once had deliveries keeps a row
   * of zeros. Resolves when the settlements so far are written, or could not be: one that waits for another write does not.
   */
  counts(): Promise<readonly DeliveryCount[]>;
};

export type DeliveryCount = { readonly destination: string; readonly state: DeliveryState; readonly count: number };

/**
 * Removes rows past their retention, about `limit` of each kind, and answers how many; null if there was nothing to do.
 * Until then there may be more, whatever the counts say.
 */
export type Prune = (before: PruneBefore, limit: number) => Promise<PruneCounts | Fault | null>;
export type PruneBefore = {
  readonly delivered: At;
  readonly failed: At;
  readonly seen: At;
  /**
   * Delivered ones accepted before this that share storage with waiting ones: the waiting ones are moved if that saves
   * space. If left out, they stay.
   */
  readonly sparse?: At;
};
export type PruneCounts = Readonly<Record<SettledState | "unrouted" | "seen", number>>;

/** Copies a store whose file is gone, as far as the daemon still has it open. Refused while the file is in place. */
export type Rescue = () => Promise<{ readonly size: number; readonly bytes: ReadableStream<Uint8Array> } | Fault>;

/** Changes that the daemon must learn at once and did not make itself through the port concerned. */
export type StoreChange =
  /**
   * Waiting deliveries have moved to another queue or destination, or to this daemon: they must be read again. `what`: whether
   * these are only deliveries that the operator has sent again, which are retries that are due now.
   */
  | { readonly kind: "moved"; readonly what: "all" | "retries" }
  /** These no longer wait and must not be sent. `elsewhere`: another daemon has ended their wait, and has said so in its log. */
  | { readonly kind: "withdrawn"; readonly deliveries: readonly DeliveryKey[]; readonly elsewhere?: true }
  /** These now belong to another daemon: everything known about them here is dropped. */
  | { readonly kind: "lost"; readonly has: (ref: DeliveryRef) => boolean }
  /** Another daemon has saved these clocks of destinations, such as by a pause: they hold here too. */
  | { readonly kind: "clocks"; readonly clocks: readonly StoredClock[] }
  /** The store is so full that settled deliveries should be pruned early. */
  | { readonly kind: "crowded" }
  /** So many daemons share the store now, with this one. */
  | { readonly kind: "daemons"; readonly alive: number }
  /** There may be work on deletions and audiences for this daemon, of those that share the store. */
  | { readonly kind: "work" }
  /** Another daemon has announced this. */
  | Announcement;

/** A few numbers that outlive a restart, each under a name. Daemons that share the store share them. */
export type Marks = {
  /** Those whose names begin so. Rejects when the store fails. */
  all(prefix: string): Promise<ReadonlyMap<string, number>>;
  /** Null removes one. Fault: nothing was changed. */
  save(marks: ReadonlyMap<string, number | null>): Promise<Fault | null>;
};

export type StoreOptions = {
  /** Where the outbox is: a file, or the shown form of the database's URL. */
  readonly path: string;
  /** The database, if it is on PostgreSQL. */
  readonly postgres?: Postgres | null;
  /** What this daemon tells operators, and other daemons that share the outbox, about itself. */
  readonly about?: DaemonAbout;
  /** The limits at which calls are refused. A reload may change them. */
  readonly bounds: () => Bounds;
  readonly disk: Disk;
  /** Called before each step of a migration. */
  readonly migrating?: Migrating | undefined;
  /** Writes the copy that is kept before the first migration step. If left out, no copy is kept. */
  readonly beginFile?: BeginFile | undefined;
  /** Creates the file for a copy that an operator downloads. If left out, downloads are refused. */
  readonly beginScratch?: BeginScratch | undefined;
  /** The id of this process, shown to others that find the outbox locked. */
  readonly pid: number;
  readonly clock: Clock;
  readonly report: Report;
};

/** `name`: different with each start. */
export type DaemonAbout = {
  readonly name: string;
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** By the wall clock. */
  readonly startedAt: At;
};

/** Opens the store, or creates it. Rejects with a message for the operator. */
export type OpenStore = (options: StoreOptions) => Promise<Store>;

/** Everything that a store offers; each part of the daemon takes only the ports that it needs. */
export type Store = {
  /**
   * Calls `hear` with each change right after its commit. There is one listener. `sending` answers the destinations that have
   * attempts under way, for other daemons that share the store.
   */
  changes(hear: (change: StoreChange) => void, sending?: () => readonly string[]): void;
  readonly append: Append;
  readonly readQueue: ReadQueue;
  readonly settle: Settle;
  readonly backlog: Backlog;
  readonly prune: Prune;
  readonly waiting: WaitingDeliveries;
  readonly replay: Replay;
  readonly withdraw: Withdraw;
  readonly deletions: StoredDeletions;
  readonly clocks: StoredClocks;
  readonly marks: Marks;
  readonly members: Members;
  readonly lookup: Lookup;
  readonly health: StoreHealth;
  readonly timeline: Timeline;
  /** Null if only this daemon can have the store. */
  readonly sharing: Sharing | null;
  readonly rescue: Rescue;
  /** The daemon stops: from now on, no write waits for another to share its commit. */
  hurry(): void;
  /** Commits pending writes and closes the files. May be called twice. */
  close(): Promise<void>;
};

/**
 * Accepts events: routes them, stores them, and starts their delivery (accept/accept.ts). `extras[n]` belongs to the nth
 * event.
 */
export type Accept = (
  source: string,
  events: readonly Event[],
  extras?: readonly Extra[],
) => Promise<readonly Receipt[] | Fault>;

/** Accepts a test call for one destination of the config, which is enabled (accept/test-call.ts). */
export type SendTest = (destination: string) => Promise<Fault | DeliveryName>;

/** A delivery that was accepted: the messageId of its event, and its own id, as `42-crm`. */
export type DeliveryName = { readonly messageId: string; readonly delivery: string };

/** Who would get a call of a source if it came now, and why the others would not; or why it would be refused. */
export type TryCall = (source: Source, call: unknown) => readonly Preview[] | Fault;

/** Deletes users everywhere (SPEC.md 6). Resolves when the request is durable. */
export type RequestDeletion = (request: DeletionRequest) => Promise<DeletionReceipt | Fault>;

/** What was started: one notification for each user and source. */
export type DeletionReceipt = Pick<Deletion, "id" | "status" | "sources" | "untold"> & {
  readonly notifications: number;
};

/** Resolves the references in a config: its only dependency on the world outside its file. */
export type Resolve = {
  env(name: string): string | undefined;
  /** The path is absolute, or relative to the same folder as the config file's own path. */
  file(path: string): FileText;
  /** The names in a folder, sorted, without hidden files and the copies that editors leave behind. */
  folder(path: string): FolderNames;
  /** A credential that systemd passed to the unit. */
  credential(name: string): FileText;
};

/** The content of a file, or why it cannot be read. The reason does not repeat the path. */
export type FileText =
  | { readonly ok: true; readonly text: string; readonly worldReadable: boolean }
  | { readonly ok: false; readonly why: string };

/** What is in a folder, or why it cannot be listed. The reason does not repeat the path. */
export type FolderNames =
  | { readonly ok: true; readonly names: readonly string[] }
  | { readonly ok: false; readonly why: string };

/** Answers one HTTP request. */
export type Handle = (request: Request, peer: Peer) => Response | Promise<Response>;
/** The other end of the connection. */
export type Peer = {
  /** Its IP address. Null over a Unix socket, and after the connection is closed. */
  readonly address: string | null;
  /** Whether the connection came over a Unix socket, so from a program on this machine. */
  readonly overSocket: boolean;
};

/** Listens for HTTP, or with `tls` (over TCP only) for HTTPS. Rejects when it cannot. */
export type Serve = (listen: Listen, handle: Handle, tls?: Tls | null) => Promise<Listener>;
export type Listener = {
  /** The address as a URL or `unix:/path`, with the port that the system assigned. */
  readonly address: string;
  /**
   * Serves new connections with another certificate; open ones keep theirs. When it rejects, nothing has changed. Only for a
   * listener that was opened with `tls`.
   */
  renew(tls: Tls): Promise<void>;
  /** Accepts no more connections, and resolves when running requests are answered. */
  stop(): Promise<void>;
};
