/**
 * Audiences and computed traits (SPEC.md 6): what a program outside has worked out about the users of a source. Both are
 * computations: an audience has the value `true` for each of its members, a trait a value of its own for each user. All
 * points in time are of `clock.now()`.
 */
import type { Fault } from "./fault.ts";
import type { At } from "./units.ts";

export const COMPUTATION_CLASSES = ["audience", "trait"] as const;
export type ComputationClass = (typeof COMPUTATION_CLASSES)[number];

/** Of one user. Null is the same as none: no member, no value. */
export type Value = string | number | boolean | null;

/** Characters of a name, and of the trait that it becomes. */
export const LONGEST_NAME = 100;

/** What a computation is called. */
export type ComputationName = {
  readonly source: string;
  readonly class: ComputationClass;
  readonly name: string;
  /** The name in snake_case: the trait that receivers get. No two of a source share it. */
  readonly key: string;
};

export type Computation = ComputationName & {
  readonly number: number;
  /** For receivers: as `aud_0f3c…`. */
  readonly id: string;
  /** How many users have a value. */
  readonly size: number;
  readonly createdAt: At;
  /** The latest ones, the newest first; none before the first has begun. */
  readonly syncs: readonly Sync[];
};

/** `list`: the whole of it. `members`: some users. `removal`, `silent_removal`: the computation itself goes. */
export type SyncKind = "list" | "members" | "removal" | "silent_removal";

/** One change of a computation, however many users it concerns. */
export type Sync = SyncCounts & {
  readonly number: number;
  /** What the messageIds of its calls begin with. */
  readonly id: string;
  readonly kind: SyncKind;
  readonly startedAt: At;
  /** Null while it runs. */
  readonly finishedAt: At | null;
  /** How many of its changes are in the outbox. */
  readonly done: number;
};

/** How many users get a value that had none, get another, and have none any more. */
export type SyncCounts = { readonly added: number; readonly changed: number; readonly removed: number };

/** A user with the value it is to have. */
export type Member = { readonly user: string; readonly value: Value };

/** A member whose change is not in the outbox yet. `hash` ends the messageId of its call: always the same, and it says nothing of the user. */
export type PendingMember = Member & { readonly hash: string };

/** The same as a part of a sync: written with the call that tells of it, in its commit, once. */
export type MemberChange = Member & { readonly sync: number; readonly computation: number };

/** A list that is being uploaded. Only this daemon sees it, and it goes with the process. */
export type Upload = {
  /** A user that comes again has the last value. Rejects when it cannot be kept. */
  add(members: readonly Member[]): Promise<void>;
  /** How many users it has. */
  count(): Promise<number>;
  /** Lets go of it. May be called twice. */
  close(): Promise<void>;
};

/** `others`: what becomes of users who have a value and are not in the list. */
export type Comparison = {
  readonly upload: Upload | null;
  readonly computation: number | null;
  readonly others: "remove" | "keep";
  /** The last user of the page before; null for the first page. */
  readonly after: string | null;
};

/** Who is to have another value, in the order of the store. `after` is null at the end. */
export type ComparedPage = {
  readonly changes: readonly Member[];
  readonly counts: SyncCounts;
  readonly after: string | null;
};

/** A sync as it begins. */
export type NewSync = Pick<Sync, "id" | "kind">;

/** A sync that has begun, with its computation. */
export type OpenSync = { readonly sync: Sync; readonly computation: Computation };

/** What the store does with memberships and values. All that it writes can be refused with `store_failed`. */
export type Members = {
  /** All of all sources, those included that are being removed. */
  all(): Promise<readonly Computation[]>;
  /** The one with this key, or null. */
  find(place: Pick<ComputationName, "source" | "key">): Promise<Computation | null>;
  /** Room for a list. */
  upload(): Promise<Upload>;
  /** A page of what a list would change, of a few hundred users. Reads only. */
  compare(comparison: Comparison): Promise<ComparedPage>;
  /** Those of the users who have a value. At most a thousand. */
  values(computation: number, users: readonly string[]): Promise<ReadonlyMap<string, Value>>;
  /** Makes room for the changes of a sync, which nobody sees until it is begun. Answers its number. */
  prepare(sync: NewSync): Promise<number | Fault>;
  /** Puts down changes of one that is prepared: at most a thousand. */
  note(sync: number, changes: readonly Member[]): Promise<Fault | null>;
  /** All are there: from now on it survives a crash. Makes the computation if there is none of this source and key. */
  begin(sync: number, of: ComputationName & SyncCounts & { readonly id: string }): Promise<OpenSync | Fault>;
  /** Those that were begun and are not finished, the oldest first. */
  open(): Promise<readonly OpenSync[]>;
  /** The next changes of a sync that are not in the outbox. */
  pending(sync: number, limit: number): Promise<readonly PendingMember[]>;
  /** For a silent removal: so many users lose their value, and no call tells of it. Answers how many did. */
  drop(open: OpenSync, limit: number): Promise<number | Fault>;
  /** It is done; after a removal, the computation is gone. Answers it as it is now. */
  finish(open: OpenSync): Promise<OpenSync | Fault>;
  /** One that was prepared will not be begun. */
  abandon(sync: number): Promise<Fault | null>;
  /** Removes some of what those have left. Answers whether there may be more. */
  discard(limit: number): Promise<boolean | Fault>;
  /** Forgets some of those who have no value any more, once no call about it waits. Answers whether there may be more. */
  sweep(limit: number): Promise<boolean | Fault>;
  /**
   * Forgets all about a user in these sources, and sends nothing; with null in all there are, and in lists that are only
   * being taken in, of which nobody knows yet whose they are. Answers in how many computations the user was.
   */
  forget(user: string, sources: readonly string[] | null): Promise<number | Fault>;
};

/** What an operator wants of audiences and traits. */
export type Audiences = {
  all(): Promise<readonly Computation[]>;
  find(wanted: Wanted): Promise<Computation | null>;
  /** Takes a whole list. The rows come as they are read; a fault among them ends it, and nothing is changed. */
  list(wanted: Wanted, rows: AsyncIterable<readonly Member[] | Fault>, options: ListOptions): Promise<Synced | Fault>;
  /** Changes some users. They are different ones. */
  change(wanted: Wanted, members: readonly Member[]): Promise<Synced | Fault>;
  remove(wanted: Wanted, options: { readonly silent: boolean }): Promise<Synced | Fault>;
};

export type Wanted = Omit<ComputationName, "key">;

export type ListOptions = {
  /** Only counts. */
  readonly dryRun: boolean;
  /** Whether a large one may lose more than half of its users. */
  readonly allowShrink: boolean;
};

/** `sync` is null if there was nothing to change, or it was a dry run. `size`: what it is, or will be, afterwards. */
export type Synced = SyncCounts & { readonly key: string; readonly size: number; readonly sync: Sync | null };

/** What became of it all, for the operator. */
export type AudienceReport = {
  syncStarted(open: OpenSync): void;
  /** `took`: in ms. */
  syncFinished(open: OpenSync, took: number): void;
  /** Nothing was changed. */
  syncFailed(wanted: Wanted, fault: Fault): void;
  /** It goes on when that is over. */
  syncWaits(open: OpenSync, reason: string): void;
  /** These are in the outbox now, or were dropped by a silent removal. */
  membersChanged(computation: Computation, changes: readonly Pick<Member, "value">[]): void;
};
