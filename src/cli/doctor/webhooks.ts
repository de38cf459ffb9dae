import { type At, DAY, formatDuration, formatTime, type Ms } from "../../model/units.ts";
import type { Reached } from "../../runtime/handshake.ts";
import { type Finding, say } from "./finding.ts";

/** A webhook, and how far one gets to it. */
export type WebhookFacts = {
  /** As `crm, webhook 1`. */
  readonly name: string;
  /** Scheme, host and port: a path may be a secret. */
  readonly origin: string;
  readonly reached: Reached | { readonly kind: "unknown"; readonly why: string };
};

/** Whoever renews by hand needs so long. */
const SOON: Ms = 14 * DAY;

/** Whether each webhook can be reached and trusted, and for how long. */
export function judgeWebhooks(webhooks: readonly WebhookFacts[], now: At): readonly Finding[] {
  if (webhooks.length === 0) return [say("webhooks").skipped("none", "there is no webhook to look at")];
  return webhooks.map((webhook) => judge(webhook, now));
}

function judge({ name, origin, reached }: WebhookFacts, now: At): Finding {
  const { ok, skipped, warning, error } = say("webhooks");
  const place = `${name} (${origin})`;
  switch (reached.kind) {
    case "unknown":
      return skipped("unseen", `${name}: ${reached.why}`);
    case "behind proxy":
      return skipped(
        "behind_proxy",
        `${place} is behind the proxy ${reached.proxy}, which answers; no further without a request`,
      );
    case "failed":
      return error("webhook_unreachable", `${place} cannot be reached: ${reached.reason}`, SEE_RECEIVER);
    case "untrusted":
      return error(
        "webhook_untrusted",
        `${place}: ${reached.reason}`,
        "nothing is sent until then; docs/receivers.md has more",
      );
    case "reached":
      return judgeReached(reached);
  }

  function judgeReached({ ms, until }: Extract<Reached, { kind: "reached" }>): Finding {
    const way = `${place} is reached in ${formatDuration(ms)}`;
    if (until === null) return ok(way);
    const left = until - now;
    const end = `its certificate ends ${formatTime(until)}, in ${formatDuration(Math.max(0, left))}`;
    if (left < SOON) return warning("certificate_ends", `${way}; ${end}`, "it has to be renewed there");
    return ok(`${way}; ${end}`);
  }
}

const SEE_RECEIVER = "is it running, and does a firewall stand between? Until then deliveries wait";
