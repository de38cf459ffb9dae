import type { Behaviour, Sent } from "../../flow/network.ts";
import { OFFLINE, REFUSED, SELF_SIGNED } from "../../flow/network.ts";
import { mix } from "../random.ts";

/** What a receiver does with what it gets. `flaky` answers each request in another way. */
export const MANNERS = {
  well: 200,
  created: 204,
  busy: 503,
  broken: 500,
  unauthorized: 401,
  gone: 410,
  refuses: 400,
  redirects: { status: 302, headers: { Location: "https://elsewhere.example.com/" } },
  slow: { status: 200, after: 3_000 },
  edge: { status: 200, after: 4_999 },
  late: { status: 200, after: 6_000 },
  slow_failure: { status: 502, after: 2_000 },
  endless: { status: 200, body: "never ends" },
  wants_silence: { status: 429, headers: { "Retry-After": "45" } },
  wants_long_silence: { status: 503, headers: { "Retry-After": "400" } },
  hangs: "hang",
  down: REFUSED,
  offline: OFFLINE,
  untrusted: SELF_SIGNED,
} as const satisfies Record<string, Behaviour>;

export type Manner = keyof typeof MANNERS | "flaky";

export const ALL_MANNERS = [...Object.keys(MANNERS), "flaky"] as readonly Manner[];

const FLAKY: readonly (keyof typeof MANNERS)[] = ["well", "busy", "refuses", "slow", "down", "hangs", "well", "broken"];

/** What a receiver of this manner does with a request. */
export function behave(manner: Manner, { url, nth }: Pick<Sent, "url" | "nth">): Behaviour {
  if (manner !== "flaky") return MANNERS[manner];
  const which = FLAKY[mix(url.length, url.charCodeAt(8), nth) % FLAKY.length];
  return MANNERS[which ?? "well"];
}

/** What the receiver's answer means, by the rules of the manual and not by the code of the daemon. */
export type Meaning = "success" | "again" | "final" | "offline" | "nothing";

export function meaningOf(answer: { readonly kind: string; readonly status?: number }): Meaning {
  if (answer.kind === "offline") return "offline";
  if (answer.kind !== "answered") return "again";
  const status = answer.status ?? 0;
  if (status >= 200 && status <= 299) return "success";
  if (status >= 500) return "again";
  return [401, 403, 404, 405, 407, 408, 423, 425, 429].includes(status) ? "again" : "final";
}
