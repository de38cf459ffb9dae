import { type Database, isDamaged, messageOf, openDatabase, withRemedy } from "./driver.ts";

/**
 * Keeps a second daemon from the same outbox: a small SQLite file beside it is held in a write transaction for as long
 * as the daemon lives. The system frees it when the process ends, however it ends. Others may read it, and so can say
 * who holds it.
 */
export async function lockOutbox(path: string, pid: number): Promise<{ release(): void }> {
  const db = await openDatabase(`${await realPath(path)}.lock`);
  try {
    db.pragma("busy_timeout = 0");
    db.exec("CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)");
    db.exec(`BEGIN IMMEDIATE; DELETE FROM holder; INSERT INTO holder VALUES (${pid}); COMMIT; BEGIN IMMEDIATE`);
  } catch (cause) {
    const message = refusal(db, path, cause);
    db.close();
    throw new Error(message, { cause });
  }
  return { release: () => db.close() };
}

/** Two paths may lead to one file, through a symbolic link. SQLite knows where they end. */
async function realPath(path: string): Promise<string> {
  const db = await openDatabase(path);
  const [main] = db.pragma("database_list") as { file: string }[];
  db.close();
  return main?.file || path;
}

function refusal(db: Database, path: string, cause: unknown): string {
  // What is said of an outbox that is damaged would mislead: there is nothing of worth in this file.
  if (isDamaged(cause)) return `cannot lock outbox ${path}: ${messageOf(cause)}; remove ${path}.lock`;
  if (!isBusy(cause)) return `cannot lock outbox ${path}: ${messageOf(withRemedy(cause))}`;
  const holder = holderOf(db);
  return `cannot open outbox ${path}: another Fairlead${holder} has it open; stop that one, or set another outbox.path`;
}

function isBusy(cause: unknown): boolean {
  return cause instanceof Error && "code" in cause && String(cause.code).startsWith("SQLITE_BUSY");
}

function holderOf(db: Database): string {
  try {
    const row = db.prepare<[], { pid: number }>("SELECT pid FROM holder").get();
    return row ? ` (pid ${row.pid})` : "";
  } catch {
    // It is being written at this moment: the first part of the message is enough.
    return "";
  }
}
