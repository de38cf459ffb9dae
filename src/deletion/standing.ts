import type { Deletion } from "../model/deletion.ts";

/** Whether any of its notifications waits still, and whether any was given up. */
export function standingOf({ notices }: Pick<Deletion, "notices">): "waiting" | "given up" | "gone out" {
  if (notices.some(({ waiting }) => waiting > 0)) return "waiting";
  return notices.some(({ failed, expired }) => failed + expired > 0) ? "given up" : "gone out";
}
