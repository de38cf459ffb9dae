import type { Clock, Marks } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import { type At, MINUTE, type Ms } from "../../model/units.ts";
import { createTimeline, type KeptTimeline, type Memory } from "../timeline.ts";
import type { Commits, Keeper } from "./commits.ts";
import type { Database } from "./driver.ts";
import { newestIn } from "./stored-tail.ts";

/** Remembers the time across restarts, with at most one extra write a minute, and one after a step of the clock. */
export type Meta = Keeper & {
  readonly timeline: KeptTimeline;
  /** Whether it should be written now, even if there is nothing else to write. */
  isOutdated(): boolean;
  /** Makes the next transaction write, even if it has nothing else to write. */
  touch(): void;
};

/** Continues the clock where the store stopped. To be called before anything else in the store reads the time. */
export function createMeta(db: Database, { clock, report }: { readonly clock: Clock; readonly report: Report }): Meta {
  const save = db.prepare<[string, number]>(
    "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const memory = readMemory(db);
  const timeline = createTimeline({ clock, report, memory, newestAt: newestIn(db) });
  let written: Written = { at: NEVER, shift: memory?.shift ?? null };
  let writing: Written | null = null;

  return {
    timeline,
    isOutdated() {
      // An empty store needs no memory of the time.
      if (written.shift === null) return false;
      const { at, shift } = timeline.look();
      if (shift !== written.shift) return true;
      return !timeline.health().plausible && at - written.at >= WHILE_DOUBTED;
    },
    touch() {
      written = { ...written, at: NEVER };
    },
    write() {
      const now = timeline.look();
      const { at, shift } = now;
      if (at - written.at < MINUTE && shift === written.shift) return;
      for (const [name, value] of namesOf({ ...now, boot: clock.boot() })) save.run(name, value);
      writing = { at, shift };
    },
    committed() {
      written = writing ?? written;
      writing = null;
    },
    rolledBack() {
      writing = null;
    },
  };
}

type MarksParts = { readonly commits: Pick<Commits, "add">; readonly meta: Pick<Meta, "touch"> };

/** Marks are rows beside those of the time. Their names have a slash, which those have not. */
export function createMarks(db: Database, { commits, meta }: MarksParts): Marks {
  const read = db.prepare<[string, string], { name: string; value: number }>(
    "SELECT name, value FROM meta WHERE substr(name, 1, length(?)) = ?",
  );
  const write = db.prepare<[string, number]>(
    "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );
  const remove = db.prepare<[string]>("DELETE FROM meta WHERE name = ?");

  return {
    all: async (prefix) => new Map(read.all(prefix, prefix).map(({ name, value }) => [name, value])),
    save: (marks) => commits.add({ rows: marks.size, run: () => writeAll(marks), keepsUp: true }),
  };

  function writeAll(marks: ReadonlyMap<string, number | null>): null {
    for (const [name, value] of marks) {
      if (value === null) remove.run(name);
      else write.run(name, value);
    }
    // After a crash the store's time continues from here, so that no mark lies in the future.
    meta.touch();
    return null;
  }
}

type Written = { readonly at: At; readonly shift: Ms | null };

/** An idle daemon writes nothing, as the machine's clock tells how long it was idle; unless that clock is implausible. */
const WHILE_DOUBTED: Ms = 10 * MINUTE;

/** Before every time, even on a machine whose clock says 1970. */
const NEVER: At = Number.NEGATIVE_INFINITY;

export function readMemory(db: Database): Memory | null {
  const rows = db.prepare<[], { name: string; value: number }>("SELECT name, value FROM meta").all();
  const values = new Map(rows.map(({ name, value }) => [name, value]));
  const [at, shift, id, uptime] = ["last_at", "wall_ahead", "boot", "uptime"].map((name) => values.get(name));
  if (at === undefined || shift === undefined) return null;
  const boot = id === undefined || uptime === undefined ? null : { id, uptime };
  const [trustedAt, wall] = [values.get("trusted_at"), values.get("trusted_wall")];
  const trusted = trustedAt === undefined || wall === undefined ? null : { at: trustedAt, wall };
  return { at, shift, trusted, boot };
}

function namesOf({ at, shift, trusted, boot }: Memory): readonly (readonly [string, number])[] {
  return [
    ["last_at", at],
    ["wall_ahead", shift],
    ...(trusted
      ? ([
          ["trusted_at", trusted.at],
          ["trusted_wall", trusted.wall],
        ] as const)
      : []),
    // If the boot is unknown, the previous one must not stay: no boot has the id 0.
    ["boot", boot?.id ?? 0],
    ["uptime", boot?.uptime ?? 0],
  ];
}
