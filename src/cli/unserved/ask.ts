import type { Complaint } from "../complain.ts";
import { askDaemon } from "../daemon/ask.ts";
import { explainDestination } from "../daemon/destinations.ts";
import type { DaemonOptions } from "../daemon/find.ts";
import type { Refusal } from "../daemon/said.ts";
import type { Answer } from "./pages.ts";

/** What `fairlead move` and `fairlead discard` post, and what they understand of the answer. */
export type Wish<Said> = {
  readonly path: string;
  readonly body: object;
  readonly isSaid: (said: unknown) => said is Said;
};

/** Asks the daemon for a page, or on a dry run how many deliveries wait. */
export async function askPage<Said>(options: DaemonOptions, wish: Wish<Said>): Promise<Answer<Said>> {
  let busy = false;
  const explain = (refusal: Refusal): Complaint | null => {
    busy = refusal.code === "destination_busy";
    return explainDestination(refusal);
  };
  const answer = await askDaemon(options, { ...wish, explain });
  return "code" in answer ? { kind: "refused", why: answer, busy } : { kind: "page", page: answer.said };
}

export function isWaiting(said: unknown): said is { readonly waiting: number } {
  return hasNumbers(said, "waiting");
}

/** Whether all of these keys have a count. */
export function hasNumbers<Key extends string>(said: unknown, ...keys: readonly Key[]): said is Record<Key, number> {
  if (typeof said !== "object" || said === null) return false;
  const values = said as Record<string, unknown>;
  return keys.every((key) => Number.isSafeInteger(values[key]));
}

export function hasMore(said: object): boolean {
  return "more" in said && typeof said.more === "boolean";
}
