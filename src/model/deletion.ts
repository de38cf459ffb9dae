/** Requests to delete users everywhere (SPEC.md 6), as they are stored, and what the daemon does for them. */
import type { Delivery, DeliveryState } from "./delivery.ts";
import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

/** `sources` null means all sources. */
export type DeletionRequest = {
  readonly userIds: readonly string[];
  readonly sources: readonly string[] | null;
  /** Whether this store's own data about them is erased too, once the notifications have been sent. */
  readonly erase: boolean;
  /** Whether later calls of these users are refused. */
  readonly suppress: boolean;
};

/** `running` until each notification is delivered or given up; `failed` if any was given up. */
export type DeletionStatus = "running" | "finished" | "failed";

/** The daemon's current step. `done` is final. */
export type DeletionStage = "notices" | "settling" | "erasing" | "done";

/** A stored request. Times are by the wall clock. */
export type Deletion = Pick<DeletionRequest, "erase" | "suppress"> & {
  readonly id: string;
  readonly status: DeletionStatus;
  readonly stage: DeletionStage;
  readonly requestedAt: At;
  /** When it finished or failed; null while it runs. */
  readonly endedAt: At | null;
  /** The number of users. */
  readonly users: number;
  /** The sources named in the request; null: all. */
  readonly scope: readonly string[] | null;
  /** Of these, the sources with a destination: each sends a notification for each user. */
  readonly sources: readonly string[];
  /** Destinations that received events once and are no longer in the config. They are not notified. */
  readonly untold: readonly string[];
  /** The newest event when the request arrived. Older events are no longer sent. */
  readonly upTo: number;
  readonly notices: readonly NoticeCount[];
  /** What was erased from the store; null before anything was. */
  readonly erased: ErasedCount | null;
  /** Whether the operator wants the data erased although a notification was given up. */
  readonly forced: boolean;
};

/** The state of one notification. `forgotten`: it was settled, but the result is no longer known. */
export type NoticeState = DeliveryState | "forgotten";

/** The notifications of one source to one destination. */
export type NoticeCount = { readonly source: string; readonly destination: string } & Readonly<
  Record<NoticeState, number>
>;

export type ErasedCount = { readonly events: number; readonly deliveries: number };

/** `userId` is null once it is erased. Then only the hash identifies the user. */
export type DeletedUser = {
  readonly nth: number;
  readonly userId: string | null;
  readonly hash: string;
  /** Whether calls about this user are refused now, from any source. */
  readonly suppressed: boolean;
};

/** `hash` of a user is the SHA-256 of the store's salt, a colon and the userId, in hexadecimal. */
export type Receipt = Deletion & { readonly people: readonly DeletedUser[] };

export type NewDeletion = DeletionRequest &
  Pick<Deletion, "id" | "requestedAt" | "untold"> & { readonly affected: readonly string[] };

/** A user who has no notification yet. */
export type Unnoticed = { readonly nth: number; readonly userId: string };

/** Marks an event as the notification of a request. Written in the event's commit, so that it is created only once. */
export type Notice = { readonly deletion: string; readonly nth: number };

export type TheirEvents = {
  readonly users: ReadonlySet<string>;
  /** Null: all sources. */
  readonly sources: readonly string[] | null;
  readonly upTo: number;
};

/** An event with a waiting delivery, and its user. */
export type WaitingEvent = { readonly event: number; readonly source: string; readonly userId: string };

/** Where a walk through the store continues. Only its engine reads it. */
export type WalkCursor = string;

export type DeletionPage = { readonly deletions: readonly Deletion[]; readonly cursor: string | null };
/** `user`: only requests about this userId; null for all. */
export type DeletionsAsk = { readonly limit: number; readonly cursor: string | null; readonly user: string | null };

/** Storage of deletion requests. Each step is short, so that a caller with many steps can yield between them. */
export type StoredDeletions = {
  /**
   * Stores a request. In the same commit its users are suppressed, if requested, and lose their audiences and traits in its
   * sources. Faults: `store_full`, `store_failed`; then nothing was done.
   */
  record(request: NewDeletion): Promise<Deletion | Fault>;
  /** Some requests in this stage, by id, after the given one. */
  unfinished(stage: DeletionStage, after: string): Promise<readonly Deletion[]>;
  /** Newest first. */
  page(ask: DeletionsAsk): Promise<DeletionPage>;
  receipt(id: string): Promise<Receipt | null>;
  /** The salt of the hashes in receipts. */
  salt(): Promise<string>;
  /** Up to `limit` users without a notification from this source. */
  unnoticed(of: { readonly id: string; readonly source: string }, limit: number): Promise<readonly Unnoticed[]>;
  /** The userIds that are not erased yet. */
  people(id: string): Promise<readonly string[]>;
  /** One step through the waiting deliveries. `next` is null at the end. */
  waiting(of: TheirEvents, after: WalkCursor | null): Promise<WaitingStep>;
  /** Reads the state of the notifications. Answers the updated request. */
  check(id: string): Promise<CheckedDeletion | Fault>;
  /** Stores the progress of a request. */
  advance(id: string, to: Pick<Deletion, "status" | "stage" | "endedAt">): Promise<Deletion | Fault>;
  /** Marks a request to be erased whatever became of its notifications. */
  force(id: string): Promise<Deletion | Fault>;
  /** One step of erasing. `busy`: a delivery was still waiting, and was skipped. */
  erase(deletion: Deletion, of: TheirEvents, after: WalkCursor | null): Promise<ErasedStep | Fault>;
  /** Erases the userIds. Answers false if another request still needs them. */
  forgetPeople(deletion: Deletion): Promise<boolean | Fault>;
  /** Rewrites files from which rows were moved, so that no copy of erased rows remains; null if the signal was aborted. */
  rewrite(signal: AbortSignal): Promise<true | Fault | null>;
  /**
   * Afterwards: removes the remains of deleted rows from the engine's files. Answers false if another reader prevents that.
   */
  scrub(): Promise<boolean | Fault>;
  readonly suppressed: Suppressed;
};

export type WaitingStep = { readonly found: readonly WaitingEvent[]; readonly next: WalkCursor | null };

/** `closed`: the states of its notifications are final. */
export type CheckedDeletion = Deletion & { readonly closed: boolean };

export type ErasedStep = { readonly next: WalkCursor | null; readonly busy: boolean };

/** Users whose calls are refused. `Append` does the refusing. */
export type Suppressed = {
  /** Which of these users are suppressed for this source. */
  among(userIds: readonly string[], source: string): Promise<ReadonlySet<string>>;
  /** Accepts calls of these users again, from all sources. Answers how many were suppressed. Faults: `store_failed`. */
  lift(userIds: readonly string[]): Promise<number | Fault>;
};

/** Whether a delivery is about a user who was deleted after its event arrived. It is not sent again. */
export type IsForgotten = (delivery: Pick<Delivery, "id" | "destination"> & Whose) => boolean;
type Whose = {
  readonly source: string;
  readonly type: string;
  readonly messageId: string;
  readonly userId: string | null;
};

export type RequestedDeletion = Pick<Deletion, "users" | "sources" | "untold"> & { readonly notifications: number };

/** Log lines and metrics. */
export type DeletionReport = {
  deletionRequested(what: RequestedDeletion): void;
  deletionEnded(deletion: Deletion): void;
  /** Waiting deliveries were ended because their user was deleted or a newer call replaced them. */
  withdrawn(destination: string, count: number): void;
};
