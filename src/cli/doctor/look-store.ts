import { type At, GB } from "../../model/units.ts";
import { disk } from "../../runtime/disk.ts";
import { accessTo, storedFile } from "../../runtime/stored-file.ts";
import { damageOfLog, readContents } from "../../store/sqlite/copy.ts";
import { type Database, messageOf, openToRead } from "../../store/sqlite/driver.ts";
import { logOf } from "../../store/sqlite/files.ts";
import { readMemory } from "../../store/sqlite/meta.ts";
import { unfinishedStep } from "../../store/sqlite/migrate.ts";
import { SCHEMA_VERSION } from "../../store/sqlite/migrations.ts";
import type { StoreFacts } from "./store.ts";

/** `usual` leaves a large one alone: to look through it takes a while, and holds up the log of a daemon that writes. */
export type Depth = "usual" | "full";

export type StoreLook = {
  readonly facts: StoreFacts;
  /** The latest time that it has seen on a clock that could be believed; null if there was none. */
  readonly seenAt: At | null;
};

const LARGE = 2 * GB;

/** Looks into the outbox beside a daemon that may have it open, and changes nothing in it. */
export async function lookAtStore(path: string, depth: Depth): Promise<StoreLook> {
  const access = accessTo(path);
  if (access === "missing") return { facts: { kind: "missing", path }, seenAt: null };
  if (access === "denied") return { facts: { kind: "closed", path, why: "permission denied" }, seenAt: null };
  try {
    const db = await openToRead(path, storedFile(logOf(path)));
    try {
      db.pragma("query_only = ON");
      return read(db, { path, depth, lost: await damageOfLog(path, disk) });
    } finally {
      db.close();
    }
  } catch (error) {
    return { facts: { kind: "broken", path, why: messageOf(error) }, seenAt: null };
  }
}

type Look = { readonly path: string; readonly depth: Depth; readonly lost: string | null };

function read(db: Database, { path, depth, lost }: Look): StoreLook {
  const schema = Number(db.pragma("user_version", { simple: true }));
  // What was written last may be in its log only.
  const bytes = [path, logOf(path)].reduce((sum, file) => sum + (storedFile(file)?.size ?? 0), 0);
  const isLeftOut = depth === "usual" && bytes > LARGE;
  const inFile = isLeftOut ? null : damageIn(db, depth);
  const damage = lost === null ? inFile : [lost, ...(inFile ?? [])];
  const contents = schema > 0 ? readContents(db) : null;
  const found = { schema, newest: SCHEMA_VERSION, unfinished: unfinishedStep(db) !== null, contents, damage };
  const seenAt = contents === null ? null : (readMemory(db)?.trusted?.wall ?? null);
  return { facts: { kind: "read", path, bytes, ...found }, seenAt };
}

function damageIn(db: Database, depth: Depth): readonly string[] {
  const rows = db.pragma(depth === "full" ? "integrity_check(5)" : "quick_check(5)") as Record<string, string>[];
  return rows.flatMap((row) => Object.values(row)).filter((text) => text !== "ok");
}
