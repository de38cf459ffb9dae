import type { Contents } from "../../../model/contents.ts";
import { type Database, openExisting } from "../driver.ts";
import { readContents } from "./contents.ts";

/** What is wrong with a store, with a code that stays; null if nothing is. */
export type Damage = { readonly code: "store_damaged" | "store_unknown" | "schema_newer"; readonly message: string };

/** A store that can be used, and what is in it. */
export type Checked = { readonly contents: Contents };

export type CheckOptions = {
  /** The newest schema that this Fairlead knows. */
  readonly newest: number;
  /** `quick` leaves out whether each index agrees with its table. */
  readonly depth: "full" | "quick";
};

/**
 * Makes one self-contained file of a store that nobody else has open, without a write-ahead log beside it, and says what is in
 * it, or what is wrong with it.
 */
export async function checkCopy(path: string, options: CheckOptions): Promise<Checked | Damage> {
  let db: Database | null = null;
  try {
    db = await openExisting(path);
    // In WAL mode, as it was copied, whoever only wants to look at it would need to write beside it.
    db.pragma("journal_mode = DELETE");
    return checkStore(db, options);
  } catch (error) {
    return { code: "store_damaged", message: messageOf(error) };
  } finally {
    db?.close();
  }
}

/** Says what is in a store, or what is wrong with it. Reads all of it. */
export function checkStore(db: Database, { newest, depth }: CheckOptions): Checked | Damage {
  const version = Number(db.pragma("user_version", { simple: true }));
  if (version > newest) {
    const message = `its schema is version ${version}, and this Fairlead knows up to ${newest}`;
    return { code: "schema_newer", message };
  }
  const faults = db.pragma(depth === "full" ? "integrity_check(5)" : "quick_check(5)") as Record<string, string>[];
  const found = faults.flatMap((row) => Object.values(row)).filter((text) => text !== "ok");
  if (found.length > 0) return { code: "store_damaged", message: found.join("; ") };
  const contents = version === 0 ? null : readContents(db);
  return contents
    ? { contents }
    : { code: "store_unknown", message: "it is an SQLite file, but no outbox of Fairlead" };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
