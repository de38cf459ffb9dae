import { type AttemptLog, NO_ATTEMPTS } from "../../model/attempt.ts";
import { withoutQuery } from "../../model/url.ts";
import type { Delivered } from "./progress.ts";

/** The log of a delivery that its first attempt delivered: it has none of its own, as what is kept of it says as much. */
export function logOfFirst({ at, url, status }: Delivered): AttemptLog {
  const outcome = { outcome: "delivered", status, reason: String(status), answer: null } as const;
  const attempt = { at, url: withoutQuery(url), duration: null, ...outcome, trigger: "first" } as const;
  return { ...NO_ATTEMPTS, first: [attempt] };
}
