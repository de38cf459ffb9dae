import { type Fault, fault } from "../../model/fault.ts";
import type { BeginFile, BeginScratch, NewFile, Scratch } from "../../model/new-file.ts";
import type { Rescue } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Gone } from "../../model/space.ts";
import { MB, SECOND } from "../../model/units.ts";
import { type Database, messageOf, sizeOf } from "./driver.ts";

/** Copied at a time: whatever else the daemon does goes on in between. */
const STEP = MB;

export type RescueWorld = {
  readonly path: string;
  readonly gone: () => Gone | null;
  /** Left out, there is nothing to copy to. */
  readonly beginScratch?: BeginScratch | undefined;
};

/**
 * Copies the outbox through the connection that the daemon has, which still sees what nobody can open by its name. What is
 * settled while the copy is made gets into it as well.
 */
export function createRescue(db: Database, { path, beginScratch }: Omit<RescueWorld, "gone">): Rescue {
  let isCopying = false;
  return async function rescue() {
    if (isCopying) return fault("overloaded", "another copy of the outbox is being made", 10 * SECOND);
    isCopying = true;
    let file: Scratch | null = null;
    try {
      if (!beginScratch) throw new Error("there is no place for a copy");
      file = beginScratch(path, sizeOf(db));
      await copy(db, file.path);
      return await file.handOver();
    } catch (error) {
      return cannotCopy(error);
    } finally {
      file?.drop();
      isCopying = false;
    }
  };
}

export type LeaveWorld = Pick<RescueWorld, "path" | "gone"> & {
  /** Left out, nothing is kept. */
  readonly beginFile?: BeginFile | undefined;
  readonly report: Pick<Report, "storeRescued" | "storeFailed">;
};

/** Where what a daemon still had of its outbox is kept when it stops while that is gone. */
export function rescuedOf(path: string): string {
  return `${path}.rescued`;
}

/** Before the daemon lets go of an outbox that is gone: what nobody else can open is kept beside its path, if that can be. */
export async function keepRescued(db: Database, { path, gone, beginFile, report }: LeaveWorld): Promise<void> {
  if (gone() === null || !beginFile) return;
  const target = rescuedOf(path);
  let file: NewFile | null = null;
  try {
    file = beginFile(target);
    await copy(db, file.path);
    file.keep();
    report.storeRescued(target);
  } catch (error) {
    report.storeFailed("keep what is left of the outbox", error);
  } finally {
    file?.drop();
  }
}

async function copy(db: Database, path: string): Promise<void> {
  const pages = Math.ceil(STEP / Number(db.pragma("page_size", { simple: true })));
  await db.backup(path, { progress: () => pages });
}

function cannotCopy(error: unknown): Fault {
  return fault("store_failed", `what the daemon still has of the outbox cannot be copied: ${messageOf(error)}`);
}
