import { StoreAway } from "../../model/fault.ts";

/** The connection is gone, or there is none. Whether what was sent over it has happened is not known. */
export class ConnectionLost extends StoreAway {
  readonly code = "connection_lost";
}

/** The connection was lost before the answer to a commit: whether it was made is not known. */
export class CommitLost extends ConnectionLost {
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/**
 * The server closes the connection with these: it shuts down, crashed, is starting, dropped the database, or ended a session
 * or a transaction that was idle or too long.
 */
const FAREWELLS = ["57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04"];

/** Whether the connection cannot be used any more. Another one may work. */
export function isLost(error: unknown): boolean {
  const code = codeOf(error);
  return error instanceof ConnectionLost || code.startsWith("08") || FAREWELLS.includes(code);
}

/** A statement or a lock took too long; and what begins with 53: no room for another connection, no memory, a full disk. */
const BUSY = ["57014", "55P03"];

/** Turns the error into the one for a store that is away, if that is its cause. */
export function asAway(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ConnectionLost) return error;
  if (isLost(error)) return new ConnectionLost(error.message);
  const code = codeOf(error);
  return BUSY.includes(code) || code.startsWith("53") ? new StoreAway(error.message) : error;
}

/** Serialization failures and deadlocks. */
const TRANSIENT = ["40001", "40P01"];

/** Whether the transaction failed only because of others at the same time: it may be run again as it is. */
export function isTransient(error: unknown): boolean {
  return TRANSIENT.includes(codeOf(error)) || isStale(error);
}

/** A statement was prepared on this connection before a migration changed its tables. It has to be prepared again. */
export function isStale(error: unknown): boolean {
  return codeOf(error) === "0A000" && error instanceof Error && "routine" in error && error.routine === REVALIDATION;
}

const REVALIDATION = "RevalidateCachedQuery";

const NOT_ALLOWED = ["42501", "3F000"];

/** Whether the role may not do this, or sees no schema in which it could. */
export function isNotAllowed(error: unknown): boolean {
  return NOT_ALLOWED.includes(codeOf(error));
}

/** Why this daemon does not use the database as it is. Its message is for the operator, and says what to do. */
export class OutboxRefused extends Error {
  readonly code: RefusalCode;
  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type RefusalCode =
  | "schema_missing"
  | "schema_older"
  | "schema_newer"
  | "grants_missing"
  | "copy_unfinished"
  | "daemons_older"
  | "server_too_old"
  | "server_is_standby";

/** The SQLSTATE of an error of the server; empty for any other. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
