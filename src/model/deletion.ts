/** Requests that users be deleted everywhere (SPEC.md 6), as they are kept, and what the daemon does for them. */
import type { Delivery, DeliveryState } from "./delivery.ts";
import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

/** What is asked for. `sources` null means all of them. */
export type DeletionRequest = {
  readonly userIds: readonly string[];
  readonly sources: readonly string[] | null;
  /** Whether what this store has of them goes, too, once the notifications have gone out. */
  readonly erase: boolean;
  /** Whether their later calls are refused. */
  readonly suppress: boolean;
};

/** `running` until each notification is delivered or given up; `failed` if any was given up. */
export type DeletionStatus = "running" | "finished" | "failed";

/** What the daemon does for it now: `done` is for good. */
export type DeletionStage = "notices" | "settling" | "erasing" | "done";

/** A request as it is kept. The times are of the wall clock. */
export type Deletion = Pick<DeletionRequest, "erase" | "suppress"> & {
  readonly id: string;
  readonly status: DeletionStatus;
  readonly stage: DeletionStage;
  readonly requestedAt: At;
  /** When the status became what it is; null while it runs. */
  readonly endedAt: At | null;
  /** How many. */
  readonly users: number;
  /** The sources that were named; null: all. */
  readonly scope: readonly string[] | null;
  /** Those of them whose events go to somebody: each sends a notification for each user. */
  readonly sources: readonly string[];
  /** Destinations that have got events once, and are not in the config any more: they are not told. */
  readonly untold: readonly string[];
  /** The number of the newest event when it came: what is older is not sent any more. */
  readonly upTo: number;
  readonly notices: readonly NoticeCount[];
  /** What went from the store; null before anything did. */
  readonly erased: ErasedCount | null;
  /** Whether the operator wants it to be erased though a notification was given up. */
  readonly forced: boolean;
};

/** How far a notification is to a destination. `forgotten`: it was settled, and how is not known any more. */
export type NoticeState = DeliveryState | "forgotten";

/** The notifications of one source to one destination. */
export type NoticeCount = { readonly source: string; readonly destination: string } & Readonly<
  Record<NoticeState, number>
>;

export type ErasedCount = { readonly events: number; readonly deliveries: number };

/** `userId` is null once it is erased: then only the hash says who it was. */
export type DeletedUser = {
  readonly nth: number;
  readonly userId: string | null;
  readonly hash: string;
  /** Whether calls of this user are refused now, from whichever source. */
  readonly suppressed: boolean;
};

/** `hash` of a user is the SHA-256 of the store's salt, a colon and the userId, in hexadecimal. */
export type Receipt = Deletion & { readonly people: readonly DeletedUser[] };

export type NewDeletion = DeletionRequest &
  Pick<Deletion, "id" | "requestedAt" | "untold"> & { readonly affected: readonly string[] };

/** A user of a request whose notification has not been made yet. */
export type Unnoticed = { readonly nth: number; readonly userId: string };

/** That an event is the notification of a request: it is noted in the event's commit, and made once only. */
export type Notice = { readonly deletion: string; readonly nth: number };

/** Whose events are looked for. */
export type TheirEvents = {
  readonly users: ReadonlySet<string>;
  /** Null: of all sources. */
  readonly sources: readonly string[] | null;
  readonly upTo: number;
};

/** An event that still waits for somebody, and whom it is about. */
export type WaitingEvent = { readonly event: number; readonly source: string; readonly userId: string };

/** Where a walk goes on, as its store has it. */
export type WalkCursor = readonly [table: "segments" | "tried", event: number, destination: string];

export type DeletionPage = { readonly deletions: readonly Deletion[]; readonly cursor: string | null };
/** `user`: only those of this userId; null for all. */
export type DeletionsAsk = { readonly limit: number; readonly cursor: string | null; readonly user: string | null };

/** What the store knows of deletions. Each step is short: whoever has many takes turns with others. */
export type StoredDeletions = {
  /**
   * Keeps a request. Its users are suppressed from this moment on, if it says so, and are in no audience and have no trait of
   * its sources any more. Faults: `store_full`, `store_failed`; then nothing was done.
   */
  record(request: NewDeletion): Promise<Deletion | Fault>;
  /** Some of those that are in this stage, by their ids, from behind this one on. */
  unfinished(stage: DeletionStage, after: string): Promise<readonly Deletion[]>;
  /** The newest first. */
  page(ask: DeletionsAsk): Promise<DeletionPage>;
  receipt(id: string): Promise<Receipt | null>;
  /** Of the hashes in receipts. */
  salt(): Promise<string>;
  /** Users whose notification from this source has not been made, at most `limit`. */
  unnoticed(of: { readonly id: string; readonly source: string }, limit: number): Promise<readonly Unnoticed[]>;
  /** The userIds that are still known. */
  people(id: string): Promise<readonly string[]>;
  /** A step through what waits. `next` null: there is no more. */
  waiting(of: TheirEvents, after: WalkCursor | null): Promise<WaitingStep>;
  /** Looks what has become of the notifications. Answers the request as it stands then. */
  check(id: string): Promise<CheckedDeletion | Fault>;
  /** Notes a step forward. */
  advance(id: string, to: Pick<Deletion, "status" | "stage" | "endedAt">): Promise<Deletion | Fault>;
  /** The operator wants it to be erased whatever became of its notifications. */
  force(id: string): Promise<Deletion | Fault>;
  /** A step of erasing. `busy`: something of them waits still and was left. */
  erase(deletion: Deletion, of: TheirEvents, after: WalkCursor | null): Promise<ErasedStep | Fault>;
  /** Forgets who the users were. Answers false if another request needs to know still. */
  forgetPeople(deletion: Deletion): Promise<boolean | Fault>;
  /** Writes anew what rows have moved in, so that no copies of those that went are left; null if the signal was aborted. */
  rewrite(signal: AbortSignal): Promise<true | Fault | null>;
  /** Then: removes what the engine has left of deleted rows in its files. Answers false if somebody else keeps it from that. */
  scrub(): Promise<boolean | Fault>;
  readonly suppressed: Suppressed;
};

export type WaitingStep = { readonly found: readonly WaitingEvent[]; readonly next: WalkCursor | null };

/** `closed`: nothing can become of its notifications any more. */
export type CheckedDeletion = Deletion & { readonly closed: boolean };

export type ErasedStep = { readonly next: WalkCursor | null; readonly busy: boolean };

/** Users whose calls are refused. `Append` refuses them by itself. */
export type Suppressed = {
  /** Those of these users whose calls from this source are refused. */
  among(userIds: readonly string[], source: string): Promise<ReadonlySet<string>>;
  /** Takes their calls again, from all sources. Answers how many of them were suppressed. Faults: `store_failed`. */
  lift(userIds: readonly string[]): Promise<number | Fault>;
};

/** Whether a delivery is about a user who was deleted after its event came: it is not sent again. */
export type IsForgotten = (delivery: Pick<Delivery, "id" | "destination"> & Whose) => boolean;
type Whose = {
  readonly source: string;
  readonly type: string;
  readonly messageId: string;
  readonly userId: string | null;
};

export type RequestedDeletion = Pick<Deletion, "users" | "sources" | "untold"> & { readonly notifications: number };

/** What the operator hears of it. */
export type DeletionReport = {
  deletionRequested(what: RequestedDeletion): void;
  deletionEnded(deletion: Deletion): void;
  /** What waited, and does not any more because its user was deleted or something newer has come. */
  withdrawn(destination: string, count: number): void;
};
