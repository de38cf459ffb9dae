import * as v from "valibot";
import { type At, formatDuration } from "../model/units.ts";
import { printable } from "./printable.ts";

const time = v.nullable(v.string());

/** How a webhook is, as the daemon says it beside a destination. */
export const saidWebhook = v.object({
  ...{ url: v.string(), state: v.string(), failingSince: time, nextTryAt: time },
  lastFailure: v.nullable(v.object({ at: v.string(), reason: v.string() })),
});

/** Webhooks that do not work, beside deliveries. A daemon from before there were any does not say it. */
export const saidTroubled = v.optional(v.array(v.object({ ...saidWebhook.entries, destination: v.string() })), []);

export type SaidWebhook = v.InferOutput<typeof saidWebhook>;
export type SaidTroubled = v.InferOutput<typeof saidTroubled>[number];

/** A line for each: since when it does not work, its last answer, and when it is asked again. `now`: by the wall clock. */
export function troubleLines(troubled: readonly SaidTroubled[], now: At): readonly string[] {
  return troubled.map((one) => printable(`${one.destination}: ${one.url} ${describeTrouble(one, now)}`));
}

const TROUBLE: Readonly<Record<string, string>> = {
  failing: "takes nothing",
  slowed: "refuses everything",
  down: "does not answer",
  offline: "cannot be reached: this machine has no network",
};

function describeTrouble({ state, failingSince, lastFailure, nextTryAt }: SaidWebhook, now: At): string {
  const since = failingSince === null ? "" : ` for ${formatDuration(Math.max(0, now - Date.parse(failingSince)))}`;
  const last = lastFailure === null ? "" : `, last answer: ${lastFailure.reason}`;
  return `${TROUBLE[state] ?? state}${since}${last}${nextTry(nextTryAt, now)}`;
}

function nextTry(nextTryAt: string | null, now: At): string {
  const wait = nextTryAt === null ? 0 : Date.parse(nextTryAt) - now;
  return wait < 1_000 ? "" : `, next try in ${formatDuration(wait)}`;
}
