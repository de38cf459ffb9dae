import { type Database, isDamaged, messageOf, openAtOnce, openDatabase, withRemedy } from "./driver.ts";

export type Lock = {
  /** Of the small file that is held. */
  readonly path: string;
  /** Holds the one that is at the path by now, or makes it. Answers false if somebody else has that. */
  renew(): boolean;
  release(): void;
};

/**
 * Keeps a second daemon from the same outbox: a small SQLite file beside it is held in a write transaction for as long
 * as the daemon lives. The system frees it when the process ends, however it ends. Others may read it, and so can say
 * who holds it.
 */
export async function lockOutbox(path: string, pid: number): Promise<Lock> {
  const file = `${await realPath(path)}.lock`;
  let held = await openDatabase(file);
  try {
    hold(held, pid);
  } catch (cause) {
    const message = refusal(held, path, cause);
    held.close();
    throw new Error(message, { cause });
  }
  return {
    path: file,
    renew() {
      let next: Database | null = null;
      try {
        next = openAtOnce(file);
        hold(next, pid);
      } catch {
        next?.close();
        return false;
      }
      held.close();
      held = next;
      return true;
    },
    release: () => held.close(),
  };
}

function hold(db: Database, pid: number): void {
  db.pragma("busy_timeout = 0");
  db.exec("CREATE TABLE IF NOT EXISTS holder (pid INTEGER NOT NULL)");
  db.exec(`BEGIN IMMEDIATE; DELETE FROM holder; INSERT INTO holder VALUES (${pid}); COMMIT; BEGIN IMMEDIATE`);
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
