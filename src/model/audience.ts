/**
 * Audiences and computed traits (SPEC.md 6): facts about the users of a source that another program has computed. Both are
 * computations: an audience has the value `true` for each of its members, a trait has a value for each user. All times are
 * by `clock.now()`.
 */
import { type Fault, fault } from "./fault.ts";
import { type At, SECOND } from "./units.ts";

export const COMPUTATION_CLASSES = ["audience", "trait"] as const;
export type ComputationClass = (typeof COMPUTATION_CLASSES)[number];

/** The value of one user. Null: not a member, or no value. */
export type Value = string | number | boolean | null;

/** Characters of a name, and of the trait made from it. */
export const LONGEST_NAME = 100;

export type ComputationName = {
  readonly source: string;
  readonly class: ComputationClass;
  readonly name: string;
  /** The name in snake_case: the trait that receivers get. Unique within a source. */
  readonly key: string;
};

export type Computation = ComputationName & {
  readonly number: number;
  /** For receivers, such as `aud_0f3c…`. */
  readonly id: string;
  /** How many users have a value. */
  readonly size: number;
  readonly createdAt: At;
  /** The latest syncs, newest first; empty before the first one begins. */
  readonly syncs: readonly Sync[];
};

/** `list`: a complete list. `members`: some users. `removal`, `silent_removal`: the computation is deleted. */
export type SyncKind = "list" | "members" | "removal" | "silent_removal";

/** One change of a computation, for any number of users. */
export type Sync = SyncCounts & {
  readonly number: number;
  /** The prefix of its calls' messageIds. */
  readonly id: string;
  readonly kind: SyncKind;
  readonly startedAt: At;
  /** Null while it runs. */
  readonly finishedAt: At | null;
  /** How many of its changes have been written to the outbox. */
  readonly done: number;
};

/** How many users get their first value, get another value, and lose their value. */
export type SyncCounts = { readonly added: number; readonly changed: number; readonly removed: number };

/** A user and the new value. */
export type Member = { readonly user: string; readonly value: Value };

/**
 * A member whose change is not in the outbox yet. `hash` is the end of its call's messageId: it is stable, and does not
 * reveal the user.
 */
export type PendingMember = Member & { readonly hash: string };

/** A member's change as part of a sync. It is written once, in the same commit as the call that reports it. */
export type MemberChange = Member & { readonly sync: number; readonly computation: number };

/** A list that is being uploaded. It belongs to this process and is lost when the process ends. */
export type Upload = {
  /** If a user appears twice, the last value counts. Rejects when the list cannot be stored. */
  add(members: readonly Member[]): Promise<void>;
  /** The number of distinct users. */
  count(): Promise<number>;
  /** Discards the list. May be called twice. */
  close(): Promise<void>;
};

/** `others`: whether users who have a value and are not in the list keep it. */
export type Comparison = {
  readonly upload: Upload | null;
  readonly computation: number | null;
  readonly others: "remove" | "keep";
  /** The last user of the previous page; null for the first page. */
  readonly after: string | null;
};

/** Users whose value changes, in the store's order. `after` is null at the end. */
export type ComparedPage = {
  readonly changes: readonly Member[];
  readonly counts: SyncCounts;
  readonly after: string | null;
};

export type NewSync = Pick<Sync, "id" | "kind">;

/** `id`: of the computation, if it is a new one. `latest`: its latest sync when the changes were computed, if any. */
export type Beginning = ComputationName & SyncCounts & { readonly id: string; readonly latest: number | null };

/** A running sync, with its computation. */
export type OpenSync = { readonly sync: Sync; readonly computation: Computation };

/** Storage of memberships and values. Every write can fail with `store_failed`. */
export type Members = {
  /** All computations of all sources, including those being deleted. */
  all(): Promise<readonly Computation[]>;
  find(place: Pick<ComputationName, "source" | "key">): Promise<Computation | null>;
  /** Opens an upload. */
  upload(): Promise<Upload>;
  /** A page of the changes that a list would make, for a few hundred users. Only reads. */
  compare(comparison: Comparison): Promise<ComparedPage>;
  /** The values of those users that have one. At most 1,000 users. */
  values(computation: number, users: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  /** Creates a sync that stays invisible until `begin`. Answers its number. */
  prepare(sync: NewSync): Promise<number | Fault>;
  /** Adds at most 1,000 changes to a prepared sync. */
  note(sync: number, changes: readonly Member[]): Promise<Fault | null>;
  /**
   * Starts a sync whose changes are complete. From here on it survives a crash. Creates the computation if the source has
   * none with this key. Refused with `sync_running` if another sync of the computation has begun since its changes were
   * computed.
   */
  begin(sync: number, of: Beginning): Promise<OpenSync | Fault>;
  /** The running syncs that this daemon sends, oldest first: where several share the store, one sends them all. */
  open(): Promise<readonly OpenSync[]>;
  /** The next changes of a sync that are not in the outbox yet. */
  pending(sync: number, limit: number): Promise<readonly PendingMember[]>;
  /** For a silent removal: clears the values of up to `limit` users without calls. Answers how many it cleared. */
  drop(open: OpenSync, limit: number): Promise<number | Fault>;
  /** Ends a sync, and deletes the computation after a removal. Answers the sync as it is then. */
  finish(open: OpenSync): Promise<OpenSync | Fault>;
  /** Drops a prepared sync that will not begin. */
  abandon(sync: number): Promise<Fault | null>;
  /** Removes some of the data of dropped syncs. Answers whether there may be more. */
  discard(limit: number): Promise<boolean | Fault>;
  /** Removes some users without a value once no call about them is waiting. Answers whether there may be more. */
  sweep(limit: number): Promise<boolean | Fault>;
  /**
   * Removes everything about a user in these sources, or with null in all sources and in uploads that are still being read.
   * Sends nothing. Answers how many computations had the user.
   */
  forget(user: string, sources: readonly string[] | null): Promise<number | Fault>;
};

/** The operator's actions on audiences and traits. */
export type Audiences = {
  all(): Promise<readonly Computation[]>;
  find(wanted: Wanted): Promise<Computation | null>;
  /** Applies a complete list. Rows are read as they arrive; a fault among them ends the upload, and nothing changes. */
  list(wanted: Wanted, rows: AsyncIterable<readonly Member[] | Fault>, options: ListOptions): Promise<Synced | Fault>;
  /** Changes some users, each listed once. */
  change(wanted: Wanted, members: readonly Member[]): Promise<Synced | Fault>;
  remove(wanted: Wanted, options: { readonly silent: boolean }): Promise<Synced | Fault>;
};

export type Wanted = Omit<ComputationName, "key">;

export type ListOptions = {
  /** Count only; change nothing. */
  readonly dryRun: boolean;
  /** Whether a large audience may lose more than half of its users. */
  readonly allowShrink: boolean;
};

/** `sync` is null if nothing changed or on a dry run. `size`: the size afterwards. */
export type Synced = SyncCounts & { readonly key: string; readonly size: number; readonly sync: Sync | null };

/** Each computation has one change at a time. */
export function syncRunning({ class: kind, name }: ComputationName): Fault {
  const what = `another sync of the ${kind} ${JSON.stringify(name)} is running`;
  return fault("sync_running", `${what}; try again when it is finished`, SECOND);
}

/** Log lines and metrics. */
export type AudienceReport = {
  syncStarted(open: OpenSync): void;
  /** `took`: in ms. */
  syncFinished(open: OpenSync, took: number): void;
  /** Nothing has changed. */
  syncFailed(wanted: Wanted, fault: Fault): void;
  /** The sync is blocked, and continues when the reason is gone. */
  syncWaits(open: OpenSync, reason: string): void;
  /** These changes are in the outbox, or were dropped by a silent removal. */
  membersChanged(computation: Computation, changes: readonly Pick<Member, "value">[]): void;
};
