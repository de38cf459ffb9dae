import type { Config } from "../model/config.ts";
import type { Destination, Webhook } from "../model/destination.ts";
import { Secret } from "../model/secret.ts";
import type { Source } from "../model/source.ts";
import { formatDuration, formatSize } from "../model/units.ts";

/**
 * What is different between two configs, in words for the log and the operator: `destination crm: +1 webhook, secret
 * changed`. Of secrets, and of URLs, which may hold some, only that they changed.
 */
export function describeChanges(old: Config, next: Config): readonly string[] {
  return [
    ...settings(old, next),
    ...entries("source", old.sources, next.sources, sourceChanges),
    ...entries("destination", old.destinations, next.destinations, destinationChanges),
  ];
}

/** How a setting is shown, or null if it must not be. */
type Shown = { readonly value: unknown; readonly text: string | null };

function settings(old: Config, next: Config): readonly string[] {
  const [before, after] = [shownSettings(old), shownSettings(next)];
  return Object.entries(after).flatMap(([key, { value, text }]) => {
    const was = before[key];
    if (!was || same(was.value, value)) return [];
    // What is rounded can look the same.
    if (text === null || was.text === null || was.text === text) return [`${key} changed`];
    return [`${key} ${was.text} → ${text}`];
  });
}

function shownSettings({ ingest, admin, outbox, delivery, log }: Config): Readonly<Record<string, Shown>> {
  return {
    "ingest.trustedProxies": listed(ingest.trustedProxies),
    "ingest.corsOrigins": listed(ingest.corsOrigins),
    "ingest.maxCall": { value: ingest.maxCall, text: formatSize(ingest.maxCall) },
    "ingest.maxBatch": { value: ingest.maxBatch, text: formatSize(ingest.maxBatch) },
    "ingest.tls": hidden(ingest.tls),
    "admin.token": hidden(admin.token),
    "outbox.maxSize": { value: outbox.maxSize, text: formatSize(outbox.maxSize) },
    "outbox.freeDisk": { value: outbox.freeDisk, text: formatSize(outbox.freeDisk) },
    "outbox.keepDelivered": { value: outbox.keepDelivered, text: formatDuration(outbox.keepDelivered) },
    "outbox.keepFailed": { value: outbox.keepFailed, text: formatDuration(outbox.keepFailed) },
    "delivery.timeout": { value: delivery.timeout, text: formatDuration(delivery.timeout) },
    "delivery.cutoff": { value: delivery.cutoff, text: formatDuration(delivery.cutoff) },
    "delivery.concurrency": { value: delivery.concurrency, text: String(delivery.concurrency) },
    "log.level": { value: log.level, text: log.level },
    "log.format": { value: log.format, text: log.format },
  };
}

function listed(values: readonly string[]): Shown {
  return { value: values, text: `[${values.join(", ")}]` };
}

function hidden(value: unknown): Shown {
  return { value, text: null };
}

type Named = { readonly name: string };

function entries<Entry extends Named>(
  word: string,
  old: readonly Entry[],
  next: readonly Entry[],
  changesOf: (was: Entry, is: Entry) => readonly string[],
): readonly string[] {
  const before = new Map(old.map((entry) => [entry.name, entry]));
  const names = new Set(next.map(({ name }) => name));
  const removed = old.filter(({ name }) => !names.has(name)).map(({ name }) => `${word} ${name} removed`);
  const others = next.flatMap((entry) => {
    const was = before.get(entry.name);
    if (!was) return [`${word} ${entry.name} added`];
    const changes = changesOf(was, entry);
    return changes.length > 0 ? [`${word} ${entry.name}: ${changes.join(", ")}`] : [];
  });
  return [...removed, ...others];
}

function sourceChanges(was: Source, is: Source): readonly string[] {
  return [
    ...enabled(was, is),
    ...(same(was.writeKey, is.writeKey) ? [] : ["write key changed"]),
    ...choice("type", was.type, is.type),
    ...choice("ip", was.ip, is.ip),
  ];
}

function destinationChanges(was: Destination, is: Destination): readonly string[] {
  return [
    ...enabled(was, is),
    ...choice("sources", was.sources, is.sources),
    ...choice("types", was.types, is.types),
    ...choice("historical", was.historical, is.historical),
    ...webhookChanges(was.webhooks, is.webhooks),
    ...secretChange(was.sharedSecrets, is.sharedSecrets),
    ...choice("standardWebhooks", was.standardWebhooks, is.standardWebhooks),
  ];
}

function enabled(was: { readonly enabled: boolean }, is: { readonly enabled: boolean }): readonly string[] {
  if (was.enabled === is.enabled) return [];
  return [is.enabled ? "enabled" : "disabled"];
}

/** Of names out of the config; null stands for all of them. */
type Choice = string | boolean | readonly string[] | null;

function choice(key: string, was: Choice, is: Choice): readonly string[] {
  return same(was, is) ? [] : [`${key} ${shown(was)} → ${shown(is)}`];
}

function shown(choice: Choice): string {
  if (choice === null) return "all";
  return typeof choice === "object" ? `[${choice.join(", ")}]` : String(choice);
}

/** A webhook is known by its URL. */
function webhookChanges(was: readonly Webhook[], is: readonly Webhook[]): readonly string[] {
  const before = new Map(was.map((webhook) => [webhook.url, webhook]));
  const after = new Map(is.map((webhook) => [webhook.url, webhook]));
  const added = is.filter(({ url }) => !before.has(url)).length;
  const removed = was.filter(({ url }) => !after.has(url)).length;
  function altered(part: "headers" | "tls"): number {
    return is.filter(({ url, [part]: value }) => before.has(url) && !same(before.get(url)?.[part], value)).length;
  }
  const [headers, tls] = [altered("headers"), altered("tls")];
  return [
    ...(added > 0 ? [`+${count(added)}`] : []),
    ...(removed > 0 ? [`-${count(removed)}`] : []),
    ...(headers > 0 ? [`headers of ${count(headers)} changed`] : []),
    ...(tls > 0 ? [`certificates of ${count(tls)} changed`] : []),
    ...(added + removed + headers + tls === 0 && !same(was, is) ? ["webhooks in another order"] : []),
  ];
}

function count(webhooks: number): string {
  return `${webhooks} webhook${webhooks === 1 ? "" : "s"}`;
}

function secretChange(was: readonly Secret[], is: readonly Secret[]): readonly string[] {
  if (same(was, is)) return [];
  if (was.length === 0) return ["signed now"];
  return is.length === 0 ? ["not signed any more"] : ["secret changed"];
}

/** By value; of secrets too, which would all be written as `***`. */
function same(one: unknown, other: unknown): boolean {
  return written(one) === written(other);
}

function written(value: unknown): string {
  function revealed(this: Readonly<Record<string, unknown>>, key: string): unknown {
    const inner = this[key];
    return inner instanceof Secret ? inner.reveal() : inner;
  }
  return JSON.stringify({ value }, revealed);
}

/** What a running daemon cannot change: another value counts after the next start. */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  "ingest.listen": (config) => config.ingest.listen,
  "ingest.tls": (config) => config.ingest.tls !== null,
  "admin.listen": (config) => config.admin.listen,
  "outbox.path": (config) => config.outbox.path,
};

/** The keys that a running daemon cannot change; of `ingest.tls`, only whether there is one. */
export const FIXED_KEYS: readonly string[] = Object.keys(FIXED);

/** The keys of which `next` says something else than what the daemon was started with. */
export function keysForRestart(old: Config, next: Config): readonly string[] {
  return Object.keys(FIXED).filter((key) => JSON.stringify(FIXED[key]?.(old)) !== JSON.stringify(FIXED[key]?.(next)));
}

/** The next config, as far as a running daemon can work by it. */
export function withFixedKeys(old: Config, next: Config): Config {
  const { listen, tls } = old.ingest;
  const isSameKind = (tls === null) === (next.ingest.tls === null);
  // A listener that stays where the world reaches it must not lose its token.
  const token = next.admin.token ?? (isSame(old.admin.listen, next.admin.listen) ? null : old.admin.token);
  return {
    ...next,
    ingest: { ...next.ingest, listen, tls: isSameKind ? next.ingest.tls : tls },
    admin: { listen: old.admin.listen, token },
    outbox: { ...next.outbox, path: old.outbox.path },
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
