import type { Computation, ComputationName, ListOptions, Member, Upload } from "../model/audience.ts";
import { type Fault, fault, isFault } from "../model/fault.ts";
import { type BeginWorld, type Begun, beginSync, STOPPING, unchanged } from "./begin.ts";
import { type AllowedWorld, allowedPages, comparedPages, count } from "./pages.ts";
import { refuseShrinking } from "./shrink.ts";

export type ListAsk = {
  readonly name: ComputationName;
  readonly known: Computation | null;
  readonly rows: AsyncIterable<readonly Member[] | Fault>;
  readonly options: ListOptions;
};

/** Takes a whole list in, finds out what it changes, and begins that. Nothing is written before all of it is here. */
export async function takeList(
  { name, known, rows, options }: ListAsk,
  world: BeginWorld & AllowedWorld,
): Promise<Begun | Fault> {
  const upload = world.members.upload();
  try {
    const refusal = await stage(upload, rows, world);
    if (refusal) return refusal;
    const others = name.class === "audience" ? "remove" : "keep";
    const compared = { upload, known, others } as const;
    const { suppressed } = world;
    const counts = await count(allowedPages(comparedPages(compared, world), name, { suppressed }));
    const shrinking = known && !options.allowShrink ? refuseShrinking(known, counts) : null;
    if (shrinking) return shrinking;
    if (options.dryRun) return unchanged(name, known, counts);
    const pages = allowedPages(comparedPages(compared, world), name, world);
    return await beginSync({ name, known, kind: "list", pages }, world);
  } finally {
    upload.close();
  }
}

async function stage(
  upload: Upload,
  rows: ListAsk["rows"],
  { stopping, clock }: Pick<BeginWorld, "stopping" | "clock">,
): Promise<Fault | null> {
  for await (const some of rows) {
    if (stopping()) return STOPPING;
    const refusal = isFault(some) ? some : add(upload, some);
    if (refusal) return refusal;
    await clock.nextTurn();
  }
  return null;
}

function add(upload: Upload, members: readonly Member[]): Fault | null {
  try {
    upload.add(members);
    return null;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return fault("store_failed", `the list cannot be kept in a temporary file: ${why}; see where TMPDIR points to`);
  }
}
