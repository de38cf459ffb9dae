import type { Report } from "../model/report.ts";
import type { Disk } from "../model/space.ts";
import type { Measures } from "./bounds.ts";

export type LookOutWorld = {
  /** Of the store's file. */
  readonly path: string;
  /** The engine's log beside it, and how many bytes it may have. */
  readonly log: { readonly path: string; readonly most: number };
  readonly disk: Pick<Disk, "space" | "size">;
  readonly report: Pick<Report, "diskUnknown">;
  readonly seen: (measures: Omit<Measures, "used">) => void;
};

/** What nobody can say is no reason to refuse anything. */
const UNKNOWN: Omit<Measures, "used"> = { free: null, overflow: 0 };

/** Asks the machine about the disk, one question at a time, however many want to know. The answer never rejects. */
export function createLookOut({ path, log, disk, report, seen }: LookOutWorld): () => Promise<void> {
  let looking: Promise<void> | null = null;
  let isKnown = true;

  return function look() {
    looking ??= ask().finally(() => {
      looking = null;
    });
    return looking;
  };

  async function ask(): Promise<void> {
    try {
      const [{ free }, size] = await Promise.all([disk.space(path), disk.size(log.path)]);
      isKnown = true;
      seen({ free, overflow: Math.max(0, size - log.most) });
    } catch (error) {
      if (isKnown) report.diskUnknown(path, error);
      isKnown = false;
      seen(UNKNOWN);
    }
  }
}
