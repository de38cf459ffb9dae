import type { Inspected } from "../../config/load.ts";
import { fullPath } from "../../config/references.ts";
import { child, listOf, mapOf, type Tree, textOf } from "../../config/tree.ts";
import type { WebhookTls } from "../../model/destination.ts";
import type { Clock, Resolve } from "../../model/ports.ts";
import { SECOND } from "../../model/units.ts";
import { reach } from "../../runtime/handshake.ts";
import type { WebhookFacts } from "./webhooks.ts";

/** As long as a delivery waits. */
const TIMEOUT = 5 * SECOND;
/** Connections at once. */
const AT_ONCE = 16;

type World = { readonly inspected: Inspected; readonly file: string; readonly resolve: Resolve; readonly clock: Clock };

/** Goes to each webhook of each destination that is enabled, as far as one gets without a request. */
export async function lookAtWebhooks(world: World): Promise<readonly WebhookFacts[]> {
  const targets = webhooksOf(world);
  const looks: WebhookFacts[] = [];
  for (let from = 0; from < targets.length; from += AT_ONCE) {
    looks.push(...(await Promise.all(targets.slice(from, from + AT_ONCE).map((target) => look(target, world)))));
  }
  return looks;
}

type Target = { readonly name: string; readonly url: string | null; readonly tls: WebhookTls | null };

async function look({ name, url, tls }: Target, { clock }: World): Promise<WebhookFacts> {
  const parsed = url === null ? null : URL.parse(url);
  if (url === null || parsed === null) {
    const why = "its url cannot be known here";
    return { name, origin: "", reached: { kind: "unknown", why } };
  }
  return { name, origin: parsed.origin, reached: await reach({ url, tls, timeout: TIMEOUT }, clock.now) };
}

function webhooksOf(world: World): readonly Target[] {
  const { tree, config } = world.inspected;
  const destinations = [...mapOf(child(tree ?? undefined, "destinations"))];
  const enabled = destinations.filter(([, destination]) => child(destination, "enabled")?.value !== false);
  return enabled.flatMap(([name, destination]) => {
    const checked = config?.destinations.find((one) => one.name === name);
    return listOf(child(destination, "webhooks")).map((webhook, index) => ({
      name: `${name}, webhook ${index + 1}`,
      url: textOf(child(webhook, "url")),
      tls: checked ? (checked.webhooks[index]?.tls ?? null) : authoritiesOf(webhook, world),
    }));
  });
}

/** Of a config that cannot be used as a whole, for another reason. */
function authoritiesOf(webhook: Tree, { file, resolve }: World): WebhookTls | null {
  const ca = textOf(child(webhook, "ca"));
  const content = ca === null ? null : resolve.file(fullPath(ca, file));
  return content?.ok ? { ca: content.text, cert: null, key: null } : null;
}
