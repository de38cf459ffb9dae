import type { Complaint } from "../complain.ts";
import type { Refusal } from "../daemon/said.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import type { Kind } from "./said.ts";

/** Where the operator's API has an audience, or a trait. */
export function pathOf(kind: Kind, source: string, name: string): string {
  return `/api/sources/${encodeURIComponent(source)}/${kind}s/${encodeURIComponent(name)}`;
}

/** Where it lists those of a source, or of all. */
export function listPathOf(kind: Kind, source: string | undefined): string {
  return source === undefined ? `/api/${kind}s` : `/api/sources/${encodeURIComponent(source)}/${kind}s`;
}

/** What the daemon has against the list or its place, in its own words; null if it refused for another reason. */
export function explainComputation({ code, message }: Refusal): Complaint | null {
  return ABOUT_LISTS.has(code) ? { code: EXIT.failed, message: printable(message), error: code } : null;
}

const ABOUT_LISTS: ReadonlySet<string> = new Set([
  ...["unknown_source", "source_disabled", "unknown_audience", "unknown_trait", "name_taken", "sync_running"],
  ...["list_shrinks", "invalid_request", "invalid_encoding", "body_too_large", "body_incomplete", "body_too_slow"],
]);
