import type { Loaded } from "../../config/load.ts";
import { fullPath } from "../../config/references.ts";
import { child, listOf, mapOf, type Tree, textOf } from "../../config/tree.ts";
import { isNotifyName, notifyName, receiversOf, type WebhookTls } from "../../model/config.ts";
import type { Clock, Resolve } from "../../model/ports.ts";
import { type At, DAY, formatDuration, formatTime, type Ms, SECOND } from "../../model/units.ts";
import { type Reached, reach } from "../../runtime/handshake.ts";
import { type Finding, findingsOf } from "./judge.ts";

export type Configured = {
  readonly inspected: Loaded;
  /** The config file. */
  readonly file: string;
  readonly resolve: Resolve;
};

/** For one whose config has errors: others may take as long as an attempt. */
const TIMEOUT = 5 * SECOND;
/** Concurrent connections. */
const AT_ONCE = 16;

/** Connects to each webhook of each enabled destination, and closes the connection before a request. */
export async function examineWebhooks(
  configured: Configured,
  { clock, begins }: { readonly clock: Clock; readonly begins: (what: string) => void },
): Promise<readonly Finding[]> {
  const targets = webhooksOf(configured);
  if (targets.length === 0) return [webhooks.skipped("none", "the config has no enabled webhook")];
  const findings: Finding[] = [];
  for (let from = 0; from < targets.length; from += AT_ONCE) {
    begins(`connecting to webhooks, ${from} of ${targets.length} done`);
    const some = targets.slice(from, from + AT_ONCE).map((target) => lookAtWebhook(target, clock));
    findings.push(...(await Promise.all(some)).map((facts) => judgeWebhook(facts, clock.wall())));
  }
  return findings;
}

const webhooks = findingsOf("webhooks");

type Target = {
  readonly name: string;
  readonly url: string | null;
  readonly tls: WebhookTls | null;
  readonly timeout: Ms;
};

async function lookAtWebhook({ name, url, tls, timeout }: Target, clock: Clock): Promise<WebhookFacts> {
  const parsed = url === null ? null : URL.parse(url);
  if (url === null || parsed === null) {
    const why = "its url is not known, because the config has errors or a secret is missing here";
    return { name, origin: "", reached: { kind: "unknown", why } };
  }
  return { name, origin: parsed.origin, reached: await reach({ url, tls, timeout }, clock.now) };
}

function webhooksOf(configured: Configured): readonly Target[] {
  const { tree, config } = configured.inspected;
  const root = tree ?? undefined;
  const all = [
    ...[...mapOf(child(root, "destinations"))].map(
      ([name, one]) => [name, one, listOf(child(one, "webhooks"))] as const,
    ),
    // An entry of notify is its webhook.
    ...[...mapOf(child(root, "notify"))].map(([name, one]) => [notifyName(name), one, [one]] as const),
  ];
  const enabled = all.filter(([, receiver]) => child(receiver, "enabled")?.value !== false);
  return enabled.flatMap(([name, , webhooks]) => {
    const checked = config && receiversOf(config).find((one) => one.name === name);
    return webhooks.map((webhook, index) => ({
      name: isNotifyName(name) ? name : `${name}, webhook ${index + 1}`,
      url: textOf(child(webhook, "url")),
      tls: checked ? (checked.webhooks[index]?.tls ?? null) : authoritiesOf(webhook, configured),
      timeout: checked?.timeout ?? TIMEOUT,
    }));
  });
}

/** The trusted authorities of a webhook whose config has errors elsewhere. */
function authoritiesOf(webhook: Tree, { file, resolve }: Configured): WebhookTls | null {
  const ca = textOf(child(webhook, "ca"));
  const content = ca === null ? null : resolve.file(fullPath(ca, file));
  return content?.ok ? { ca: content.text, cert: null, key: null } : null;
}

/** A webhook, and the result of a connection to it. */
export type WebhookFacts = {
  /** As `crm, webhook 1`. */
  readonly name: string;
  /** Scheme, host and port: a path may be a secret. */
  readonly origin: string;
  readonly reached: Reached | { readonly kind: "unknown"; readonly why: string };
};

/** Enough time to renew a certificate by hand. */
const SOON: Ms = 14 * DAY;

/** Judges whether a webhook can be reached and trusted, and for how long. */
export function judgeWebhook({ name, origin, reached }: WebhookFacts, now: At): Finding {
  const place = `${name} (${origin})`;
  switch (reached.kind) {
    case "unknown":
      return webhooks.skipped("unseen", `${name}: ${reached.why}`);
    case "behind proxy": {
      const what = `${place} is behind the proxy ${reached.proxy}, which answers; the webhook itself was not tried`;
      return webhooks.skipped("behind_proxy", what);
    }
    case "failed":
      return webhooks.error("webhook_unreachable", `${place} cannot be reached: ${reached.reason}`, SEE_RECEIVER);
    case "untrusted": {
      const remedy = "nothing is sent until that is fixed; see docs/receive/https.md";
      return webhooks.error("webhook_untrusted", `${place}: ${reached.reason}`, remedy);
    }
    case "reached": {
      const way = `${place} answers in ${formatDuration(reached.ms)}`;
      if (reached.until === null) return webhooks.ok(way);
      const left = reached.until - now;
      const end = `its certificate expires ${formatTime(reached.until)}, in ${formatDuration(Math.max(0, left))}`;
      if (left < SOON) return webhooks.warning("certificate_ends", `${way}; ${end}`, "renew the certificate");
      return webhooks.ok(`${way}; ${end}`);
    }
  }
}

const SEE_RECEIVER = "check that it runs, and that no firewall blocks the way; deliveries wait until then";
