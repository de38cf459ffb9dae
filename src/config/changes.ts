import type { Config, DeliveryPolicy, Destination, Notifier, Source, Webhook } from "../model/config.ts";
import type { Filter } from "../model/filter.ts";
import { Secret } from "../model/secret.ts";
import { formatDuration, formatPortion, formatRate, formatSize } from "../model/units.ts";

/**
 * What a reload changes, for the log and the operator: `destination crm: +1 webhook, secret changed`. Of secrets, and of
 * URLs, which may hold some, it only says that they changed.
 */
export function describeChanges(old: Config, next: Config): readonly string[] {
  return [
    ...settingChanges(old, next),
    ...entryChanges("source", [old.sources, next.sources], sourceChanges),
    ...entryChanges("destination", [old.destinations, next.destinations], (was, is) => [
      ...destinationChanges(was, is),
      ...policyChanges([was, old.delivery], [is, next.delivery]),
    ]),
    ...entryChanges("notify", [old.notify, next.notify], notifierChanges),
  ];
}

/** The settings, each with the text that shows it. Settings without a text are secret. */
function settingsOf({ ingest, admin, outbox, delivery, log }: Config) {
  return {
    "ingest.trustedProxies": { value: ingest.trustedProxies, text: `[${ingest.trustedProxies.join(", ")}]` },
    "ingest.corsOrigins": { value: ingest.corsOrigins, text: `[${ingest.corsOrigins.join(", ")}]` },
    "ingest.maxCall": { value: ingest.maxCall, text: formatSize(ingest.maxCall) },
    "ingest.maxBatch": { value: ingest.maxBatch, text: formatSize(ingest.maxBatch) },
    "ingest.tls": { value: ingest.tls, text: null },
    "admin.token": { value: admin.token, text: null },
    "admin.readToken": { value: admin.readToken, text: null },
    "admin.dashboard": { value: admin.dashboard, text: String(admin.dashboard) },
    "outbox.maxSize": { value: outbox.maxSize, text: formatSize(outbox.maxSize) },
    "outbox.freeDisk": { value: outbox.freeDisk, text: formatSize(outbox.freeDisk) },
    "outbox.keepDelivered": { value: outbox.keepDelivered, text: formatDuration(outbox.keepDelivered) },
    "outbox.keepFailed": { value: outbox.keepFailed, text: formatDuration(outbox.keepFailed) },
    "delivery.timeout": { value: delivery.timeout, text: formatDuration(delivery.timeout) },
    "delivery.cutoff": { value: delivery.cutoff, text: formatDuration(delivery.cutoff) },
    "delivery.concurrency": { value: delivery.concurrency, text: String(delivery.concurrency) },
    "log.level": { value: log.level, text: log.level },
    "log.format": { value: log.format, text: log.format },
  } as const;
}

function settingChanges(old: Config, next: Config): readonly string[] {
  const [before, after] = [settingsOf(old), settingsOf(next)];
  return (Object.keys(after) as (keyof typeof after)[]).flatMap((key) => {
    const [was, is] = [before[key], after[key]];
    if (isSame(was.value, is.value)) return [];
    // Texts are rounded: those of two values can be the same.
    return is.text === null || was.text === is.text ? [`${key} changed`] : [`${key} ${was.text} → ${is.text}`];
  });
}

function entryChanges<Entry extends { readonly name: string }>(
  word: string,
  [old, next]: readonly [readonly Entry[], readonly Entry[]],
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
    ...enabledChange(was.enabled, is.enabled),
    ...(isSame(was.writeKey, is.writeKey) ? [] : ["write key changed"]),
    ...choiceChange("type", was.type, is.type),
    ...choiceChange("ip", was.ip, is.ip),
    ...choiceChange("rate", rateText(was), rateText(is)),
    ...choiceChange("maxWaiting", portionText(was), portionText(is)),
  ];
}

function destinationChanges(was: Destination, is: Destination): readonly string[] {
  return [
    ...enabledChange(was.enabled, is.enabled),
    ...choiceChange("sources", was.sources, is.sources),
    ...choiceChange("types", was.types, is.types),
    ...choiceChange("historical", was.historical, is.historical),
    ...filterChanges(was.filter, is.filter),
    ...bodyChange(was, is),
    ...webhookChanges(was.webhooks, is.webhooks),
    ...secretChange(was.sharedSecrets, is.sharedSecrets),
    ...choiceChange("standardWebhooks", was.standardWebhooks, is.standardWebhooks),
    ...choiceChange("rate", rateText(was), rateText(is)),
    ...choiceChange("order", was.order, is.order),
  ];
}

function bodyChange(was: Destination, is: Destination): readonly string[] {
  if (isSame([was.template, was.noticeTemplate], [is.template, is.noticeTemplate])) return [];
  return [(is.template ?? is.noticeTemplate) ? "body changed" : "body default again"];
}

function notifierChanges(was: Notifier, is: Notifier): readonly string[] {
  return [
    ...destinationChanges(was.destination, is.destination),
    ...choiceChange("on", was.on, is.on),
    ...choiceChange("failingFor", formatDuration(was.failingFor), formatDuration(is.failingFor)),
    ...choiceChange("repeat", formatDuration(was.repeat), formatDuration(is.repeat)),
    ...choiceChange("perHour", String(was.perHour), String(is.perHour)),
  ];
}

function rateText({ rate }: Pick<Source | Destination, "rate">): string {
  return rate === null ? "none" : `${formatRate(rate.requests, rate.per)} (burst ${rate.burst})`;
}

function portionText({ maxWaiting }: Source): string {
  return maxWaiting === null ? "none" : formatPortion(maxWaiting);
}

function filterChanges(was: Filter | null, is: Filter | null): readonly string[] {
  const keys = ["events", "where", "sample"] as const;
  return keys.filter((key) => !isSame(was?.[key] ?? null, is?.[key] ?? null)).map((key) => `${key} changed`);
}

type WithDefault = readonly [DeliveryPolicy, DeliveryPolicy];

/** What a destination has from `delivery` changes with it, and is not repeated. */
function policyChanges([was, wasDefault]: WithDefault, [is, isDefault]: WithDefault): readonly string[] {
  const formats = { timeout: formatDuration, cutoff: formatDuration, concurrency: String } as const;
  return (Object.keys(formats) as (keyof typeof formats)[]).flatMap((key) => {
    const isInherited = was[key] === wasDefault[key] && is[key] === isDefault[key];
    return isInherited ? [] : choiceChange(key, formats[key](was[key]), formats[key](is[key]));
  });
}

function enabledChange(was: boolean, is: boolean): readonly string[] {
  if (was === is) return [];
  return [is ? "enabled" : "disabled"];
}

/** Names from the config; null stands for all of them. */
type Choice = string | boolean | readonly string[] | null;

function choiceChange(key: string, was: Choice, is: Choice): readonly string[] {
  return isSame(was, is) ? [] : [`${key} ${choiceText(was)} → ${choiceText(is)}`];
}

function choiceText(choice: Choice): string {
  if (choice === null) return "all";
  return typeof choice === "object" ? `[${choice.join(", ")}]` : String(choice);
}

/** A webhook is known by its URL. */
function webhookChanges(was: readonly Webhook[], is: readonly Webhook[]): readonly string[] {
  const before = new Map(was.map((webhook) => [webhook.url, webhook]));
  const kept = is.filter(({ url }) => before.has(url));
  const [added, removed] = [is.length - kept.length, was.length - kept.length];
  const headers = kept.filter((webhook) => !isSame(before.get(webhook.url)?.headers, webhook.headers)).length;
  const tls = kept.filter((webhook) => !isSame(before.get(webhook.url)?.tls, webhook.tls)).length;
  const changes = [
    ...(added > 0 ? [`+${count(added)}`] : []),
    ...(removed > 0 ? [`-${count(removed)}`] : []),
    ...(headers > 0 ? [`headers of ${count(headers)} changed`] : []),
    ...(tls > 0 ? [`certificates of ${count(tls)} changed`] : []),
  ];
  return changes.length === 0 && !isSame(was, is) ? ["webhooks in another order"] : changes;
}

function count(webhooks: number): string {
  return `${webhooks} webhook${webhooks === 1 ? "" : "s"}`;
}

function secretChange(was: readonly Secret[], is: readonly Secret[]): readonly string[] {
  if (isSame(was, is)) return [];
  if (was.length === 0) return ["signed now"];
  return is.length === 0 ? ["no longer signed"] : ["secret changed"];
}

/** Compares by value. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (one instanceof Secret || other instanceof Secret) {
    return one instanceof Secret && other instanceof Secret && one.reveal() === other.reveal();
  }
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => isSame(one[key], other[key]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** The keys whose value is fixed while the daemon runs. Of `ingest.tls`, only whether there is one is fixed. */
const FIXED: Readonly<Record<string, (config: Config) => unknown>> = {
  "ingest.listen": (config) => config.ingest.listen,
  "ingest.reusePort": (config) => config.ingest.reusePort,
  "ingest.tls": (config) => config.ingest.tls !== null,
  "admin.listen": (config) => config.admin.listen,
  "outbox.path": ({ outbox }) => outbox.postgres === null && outbox.path,
  "outbox.url": ({ outbox }) => outbox.postgres && [outbox.path, outbox.postgres.password],
  "outbox.tls": ({ outbox }) => outbox.postgres?.tls ?? null,
  "outbox.connections": ({ outbox }) => outbox.postgres?.connections ?? null,
};

export const FIXED_KEYS: readonly string[] = Object.keys(FIXED);

/** The fixed keys that are different in `next`: they need a restart. */
export function keysForRestart(old: Config, next: Config): readonly string[] {
  return Object.entries(FIXED).flatMap(([key, get]) => (isSame(get(old), get(next)) ? [] : [key]));
}

/** The next config with the fixed keys of the old one. */
export function withFixedKeys(old: Config, next: Config): Config {
  const { listen, reusePort } = old.ingest;
  const isTlsKept = (old.ingest.tls === null) === (next.ingest.tls === null);
  // A listener that stays where other machines reach it must not lose its token.
  const tokenless = next.admin.token === null && !isSame(old.admin.listen, next.admin.listen);
  const { token, readToken } = tokenless ? old.admin : next.admin;
  return {
    ...next,
    ingest: { ...next.ingest, listen, reusePort, tls: isTlsKept ? next.ingest.tls : old.ingest.tls },
    admin: { ...next.admin, listen: old.admin.listen, token, readToken },
    outbox: { ...next.outbox, ...placeOf(old, next) },
  };
}

/** The free disk is a bound of a file, so it stays with it. */
function placeOf({ outbox: { path, postgres, freeDisk } }: Config, next: Config): Partial<Config["outbox"]> {
  const isSameKind = (postgres === null) === (next.outbox.postgres === null);
  return { path, postgres, freeDisk: isSameKind ? next.outbox.freeDisk : freeDisk };
}
