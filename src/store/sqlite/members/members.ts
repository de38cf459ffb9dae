import type { Members, OpenSync } from "../../../model/audience.ts";
import type { Fault } from "../../../model/fault.ts";
import type { Clock } from "../../../model/ports.ts";
import type { Commits } from "../commits.ts";
import type { Database } from "../driver.ts";
import type { CallHash } from "./call-hash.ts";
import { createCompare } from "./compare.ts";
import { type ComputationRows, createComputationRows } from "./computations.ts";
import { createLeaving, type ForgetMembers } from "./leaving.ts";
import { type MemberRows, toValue } from "./rows.ts";
import { createSyncRows, type SyncRows } from "./syncs.ts";
import type { Uploads } from "./upload.ts";

export type MembersParts = {
  readonly commits: Commits;
  readonly clock: Pick<Clock, "now">;
  readonly memberRows: MemberRows;
  /** Whether anything of an event still waits. */
  readonly waits: (event: number) => boolean;
  readonly uploads: Uploads;
  readonly forgetMembers: ForgetMembers;
  readonly callHash: Pick<CallHash, "of">;
  /** When the store cannot be written. */
  readonly failed: (error: unknown) => Fault;
};

/** Audiences and traits: who has which value, and the syncs that change it. */
export function createMembers(db: Database, parts: MembersParts): Members {
  const { uploads, forgetMembers } = parts;
  const syncs = createSyncRows(db);
  const computations = createComputationRows(db, syncs);
  const leaving = createLeaving(db, parts.waits);
  const write = createWrite(parts);
  const compare = createCompare(db, uploads);
  return {
    all: async () => computations.all(),
    find: async ({ source, key }) => computations.find(source, key),
    upload: async () => uploads.open(),
    compare: async (comparison) => compare(comparison),
    values: createValues(db),
    ...createSyncing({ syncs, computations, write, clock: parts.clock, callHash: parts.callHash }),
    drop({ sync, computation }, limit) {
      return write(limit, () => {
        const dropped = leaving.drop(computation.number, limit);
        const of = { sync: sync.number, computation: computation.number };
        parts.memberRows.count(of, { done: dropped, grown: -dropped });
        return dropped;
      });
    },
    async discard(limit) {
      return syncs.isUntidy() && write(limit, () => syncs.discard(limit));
    },
    async sweep(limit) {
      if (!leaving.isUntidy() && !computations.isUntidy()) return false;
      return write(limit, () => {
        const more = leaving.sweep(limit);
        if (!more) computations.forgetRemoved();
        return more;
      });
    },
    forget: (user, sources) => write(1, () => forgetMembers([user], sources)),
  };
}

type Write = <T>(rows: number, run: () => T) => Promise<T | Fault>;

function createWrite({ commits, failed }: MembersParts): Write {
  return <T>(rows: number, run: () => T) => commits.add<T | Fault>({ rows, run, failed });
}

function createValues(db: Database): Members["values"] {
  const find = db
    .prepare<[number, string], string | null>("SELECT value FROM members WHERE computation = ? AND user = ?")
    .pluck();
  return async (computation, users) =>
    new Map(
      users.flatMap((user) => {
        const value = toValue(find.get(computation, user) ?? null);
        return value === null ? [] : [[user, value] as const];
      }),
    );
}

type Syncing = {
  readonly syncs: SyncRows;
  readonly computations: ComputationRows;
  readonly write: Write;
  readonly clock: Pick<Clock, "now">;
  readonly callHash: Pick<CallHash, "of">;
};

function createSyncing({
  syncs,
  computations,
  write,
  clock,
  callHash,
}: Syncing): Pick<Members, "prepare" | "note" | "abandon" | "begin" | "open" | "pending" | "finish"> {
  function read(sync: number, computation: number): OpenSync {
    const found = { sync: syncs.read(sync), computation: computations.read(computation) };
    if (!found.sync || !found.computation) throw new Error(`sync ${sync} of computation ${computation} is not there`);
    return { sync: found.sync, computation: found.computation };
  }
  return {
    prepare: (sync) => write(1, () => syncs.prepare(sync, clock.now())),
    note(sync, changes) {
      return write(changes.length, () => {
        syncs.note(sync, changes);
        return null;
      });
    },
    abandon(sync) {
      return write(1, () => {
        syncs.abandon(sync);
        return null;
      });
    },
    begin(sync, of) {
      return write(1, () => {
        const now = clock.now();
        const computation = computations.put(of, now);
        syncs.begin(sync, computation, { ...of, now });
        return read(sync, computation);
      });
    },
    open: async () => syncs.running().map(({ sync, computation }) => read(sync.number, computation)),
    pending: async (sync, limit) =>
      syncs.pending(sync, limit).map((member) => ({ ...member, hash: callHash.of(member.user) })),
    finish({ sync, computation }) {
      return write(1, () => {
        const now = clock.now();
        syncs.finish(sync.number, computation.number, now);
        const done = read(sync.number, computation.number);
        if (sync.kind === "list" || sync.kind === "members") return done;
        computations.remove(computation.number, now);
        syncs.removeAll(computation.number);
        return done;
      });
    },
  };
}
