import type {
  Computation,
  ComputationName,
  Members,
  OpenSync,
  SyncCounts,
  Synced,
  SyncKind,
} from "../model/audience.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import type { Clock, Random } from "../model/ports.ts";
import { type At, SECOND } from "../model/units.ts";
import { NOBODY, type Pages, plus } from "./pages.ts";
import type { Worker } from "./worker.ts";

export type BeginWorld = {
  readonly members: Members;
  readonly worker: Pick<Worker, "begin" | "wake">;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether the daemon is about to end. */
  readonly stopping: () => boolean;
};

/** `finished`: null if there is nothing to wait for. */
export type Begun = { readonly answer: Synced; readonly finished: Promise<OpenSync> | null };

export type SyncAsk = {
  readonly name: ComputationName;
  readonly known: Computation | null;
  readonly kind: SyncKind;
  readonly pages: Pages;
};

/** Writes down what is to be changed, and begins it. */
export async function beginSync({ name, known, kind, pages }: SyncAsk, world: BeginWorld): Promise<Begun | Fault> {
  const { members, worker, clock, random } = world;
  const id = `${name.class}-${hexTime(clock.wall())}${random.hex(4)}`;
  const number = await members.prepare({ id, kind });
  if (typeof number !== "number") return number;
  const counts = await note(number, pages, world);
  const ownId = `${ID_PREFIX[name.class]}_${random.hex(10)}`;
  const open = isFault(counts) ? counts : await members.begin(number, { ...name, id: ownId, ...counts });
  if (isFault(open)) {
    await members.abandon(number);
    worker.wake();
    return open;
  }
  const { answer } = unchanged(name, known, open.sync);
  return { answer: { ...answer, sync: open.sync }, finished: worker.begin(open) };
}

const ID_PREFIX = { audience: "aud", trait: "tra" } as const;

/** So that ids are in the order of time. */
function hexTime(at: At): string {
  return at.toString(16).padStart(12, "0");
}

export const STOPPING = fault("stopping", "the daemon is about to end; send it again when it is back", SECOND);

async function note(sync: number, pages: Pages, { members, stopping }: BeginWorld): Promise<SyncCounts | Fault> {
  let sum = NOBODY;
  for await (const { changes, counts } of pages) {
    if (stopping()) return STOPPING;
    const refusal = changes.length > 0 ? await members.note(sync, changes) : null;
    if (refusal) return refusal;
    sum = plus(sum, counts);
  }
  return sum;
}

/** What is, or would be, without a sync. */
export function unchanged(
  { key }: ComputationName,
  known: Computation | null,
  { added, changed, removed }: SyncCounts,
): Begun {
  const size = (known?.size ?? 0) + added - removed;
  return { answer: { key, size, added, changed, removed, sync: null }, finished: null };
}
