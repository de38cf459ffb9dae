import { type At, formatDuration } from "../../model/units.ts";
import { printable } from "../printable.ts";
import { table } from "../table.ts";
import { type SaidTroubled, toLines } from "../trouble.ts";
import type { SaidDelivery } from "./said.ts";

/** What was asked for. `more`: whether there are others. `now`: by the wall clock. */
export type Asked = {
  readonly limit: number;
  readonly most: number;
  readonly more: boolean;
  readonly now: At;
  /** The webhooks that keep some of them back. */
  readonly troubled?: readonly SaidTroubled[];
};

/** For a person: a line for each, the newest first. */
export function toWords(deliveries: readonly SaidDelivery[], asked: Asked): string {
  if (deliveries.length === 0) return NONE;
  const rows = deliveries.map((one) => [
    printable(one.id),
    printable(one.state),
    one.settledAt ?? one.replayedAt ?? one.acceptedAt,
    String(one.attempts),
    printable(one.source),
    printable(one.type),
    cut(printable(one.userId ?? "-"), MOST_OF_USER),
    cut(printable(whyOf(one, asked.now)), MOST_OF_REASON),
  ]);
  const head = ["id", "state", "since", "attempts", "source", "type", "user", "why"];
  const trouble = toLines(asked.troubled ?? [], asked.now);
  return [table([head, ...rows]), "", ...trouble, summary(deliveries.length, asked)].join("\n");
}

const NONE =
  "There is no such delivery, or not any more: outbox.keepDelivered and outbox.keepFailed say how long they are kept.";

/** Columns: a line should fit on a screen. */
const MOST_OF_USER = 24;
const MOST_OF_REASON = 80;

export function whyOf({ state, dueAt, attempts, replayedAt, reason, status, url }: SaidDelivery, now: At): string {
  if (state === "delivered") return `${status} from ${url}`;
  if (state !== "waiting") return reason ?? "";
  if (attempts === 0 && reason === null) return replayedAt ? "it is sent again" : "its first attempt is due";
  return `next ${whenDue(dueAt, now)}: ${reason ?? "no attempt yet"}`;
}

export function whenDue(dueAt: string | null, now: At): string {
  const wait = dueAt === null ? 0 : Date.parse(dueAt) - now;
  return wait > 0 ? `in ${formatDuration(wait)}` : "when its turn comes";
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function summary(shown: number, { limit, most, more }: Asked): string {
  const count = shown === 1 ? "One delivery" : `${shown} deliveries, the newest first`;
  if (!more) return `${count}.`;
  const rest =
    limit < most ? `--limit ${Math.min(limit * 10, most)} shows more` : "--until the time of the last line shows more";
  return `${count}. There are others: ${rest}.`;
}
