import type { Complaint } from "../complain.ts";
import { EXIT } from "../exit.ts";
import { printable } from "../printable.ts";
import type { Refusal } from "./said.ts";

/** Where the operator's API does this with a destination. */
export function pathOf(name: string, what: "discard" | "move" | "pause" | "resume" | "retry"): string {
  return `/api/destinations/${encodeURIComponent(name)}/${what}`;
}

/** What the daemon has against it, in its own words; null if it refused for another reason than the destination. */
export function explainDestination({ code, message }: Refusal): Complaint | null {
  // It has understood what it was asked for, and its message says all there is to know.
  return ABOUT_DESTINATIONS.has(code) ? { code: EXIT.failed, message: printable(message), error: code } : null;
}

const ABOUT_DESTINATIONS: ReadonlySet<string> = new Set([
  ...["unknown_destination", "destination_in_use", "destination_busy", "invalid_request"],
]);
