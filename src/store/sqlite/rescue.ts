import type { BeginFile, BeginScratch, Gone, NewFile, Scratch } from "../../model/disk.ts";
import { type Fault, fault } from "../../model/fault.ts";
import type { Rescue } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { MB, SECOND } from "../../model/units.ts";
import { type Database, messageOf, sizeOf } from "./driver.ts";

/** Bytes copied at a time; the daemon works in between. */
const STEP = MB;

type RescueParts = {
  readonly path: string;
  readonly gone: () => Gone | null;
  /** Left out, no copy can be made. */
  readonly beginScratch?: BeginScratch | undefined;
};

/**
 * Copies the outbox through the daemon's own connection, which still sees a file that nobody can open by its name. Deliveries that
 * settle meanwhile are in the copy as well.
 */
export function createRescue(db: Database, { path, beginScratch }: Omit<RescueParts, "gone">): Rescue {
  let isCopying = false;
  return async function rescue() {
    if (isCopying) return fault("overloaded", "another copy of the outbox is being made", 10 * SECOND);
    isCopying = true;
    let file: Scratch | null = null;
    try {
      if (!beginScratch) throw new Error("there is no room for a copy");
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

type KeepParts = Pick<RescueParts, "path" | "gone"> & {
  /** Left out, nothing is kept. */
  readonly beginFile?: BeginFile | undefined;
  readonly report: Pick<Report, "storeRescued" | "storeFailed">;
};

/** Where a daemon keeps its outbox when it stops while the file is gone. */
function rescuedOf(path: string): string {
  return `${path}.rescued`;
}

/** Copies an outbox whose file is gone to a file beside its path, if possible. To be called before the outbox is closed. */
export async function keepRescued(db: Database, { path, gone, beginFile, report }: KeepParts): Promise<void> {
  if (gone() === null || !beginFile) return;
  const target = rescuedOf(path);
  let file: NewFile | null = null;
  try {
    file = beginFile(target);
    await copy(db, file.path);
    file.keep();
    report.storeRescued(target);
  } catch (error) {
    report.storeFailed("save the rest of the outbox", error);
  } finally {
    file?.drop();
  }
}

async function copy(db: Database, path: string): Promise<void> {
  const pages = Math.ceil(STEP / Number(db.pragma("page_size", { simple: true })));
  await db.backup(path, { progress: () => pages });
}

function cannotCopy(error: unknown): Fault {
  return fault("store_failed", `cannot copy what the daemon still holds of the outbox: ${messageOf(error)}`);
}
