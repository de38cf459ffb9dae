import type { NoticeKind } from "../model/config.ts";
import type { Message, Notice, NoticeItem, NoticeState } from "../model/notice.ts";
import { type At, formatDuration, formatTime } from "../model/units.ts";

export type MessageWorld = {
  /** By the machine's clock. */
  readonly wall: At;
  readonly host: string;
  /** The wall time of a time by `clock.now()`. */
  readonly toWall: (at: At) => At;
};

/** Writes what a person reads on a telephone at night, and what a program sorts by. */
export function writeMessage({ kind, state, items }: Notice, { wall, host, toWall }: MessageWorld): Message {
  const said = items.map((item) => ({ ...item, since: toWall(item.since), until: item.until && toWall(item.until) }));
  const named = said.map(({ subject }) => subject);
  const title = titleOf(kind, state, { named, items });
  const shown = said.slice(0, MOST_FACTS);
  const lines = shown.map((item) => lineOf(kind, state, item));
  if (said.length > shown.length) lines.push(`… and ${said.length - shown.length} more`);
  const facts = shown.map(({ subject, since, until, details }) => ({
    subject,
    since: formatTime(since),
    until: until && formatTime(until),
    ...details,
  }));
  return { kind, state, title: capital(title), text: lines.map(capital).join("\n"), at: formatTime(wall), host, facts };
}

/** What an operator sends to see whether it arrives. */
export function writeTest(name: string, { wall, host }: Pick<MessageWorld, "wall" | "host">): Message {
  const text = `${name} gets notifications about trouble here. Nothing is wrong: this is a test.`;
  return { kind: "test", state: "new", title: "Fairlead: test", text, at: formatTime(wall), host, facts: [] };
}

/** A body has to stay far below what receivers take. */
const MOST_FACTS = 50;
const MOST_NAMES = 5;

type Titled = { readonly named: readonly string[]; readonly items: readonly NoticeItem[] };

function titleOf(kind: NoticeKind, state: NoticeState, { named, items }: Titled): string {
  const only = named.length === 1;
  const list = named.slice(0, MOST_NAMES).join(", ") + (named.length > MOST_NAMES ? ", …" : "");
  if (kind === "deliveries_given_up") return `${countOf(items)} given up: ${list}`;
  const [one, many] = items.every(({ gone }) => gone) ? GONE : TITLES[kind][state];
  return only ? one.replace("%", list) : `${many.replace("%", String(named.length))}: ${list}`;
}

const GONE = ["% is no longer watched", "% are no longer watched"] as const;

type Titles = Readonly<Record<NoticeState, readonly [one: string, many: string]>>;

const TITLES: Readonly<Record<Exclude<NoticeKind, "deliveries_given_up">, Titles>> = {
  destination_failing: {
    new: ["% is failing", "% destinations are failing"],
    ongoing: ["% is still failing", "% destinations are still failing"],
    recovered: ["% works again", "% destinations work again"],
  },
  outbox_nearly_full: {
    new: ["the outbox is nearly full", "the outbox is nearly full"],
    ongoing: ["the outbox is still nearly full", "the outbox is still nearly full"],
    recovered: ["the outbox has room again", "the outbox has room again"],
  },
  config_refused: {
    new: ["% was refused", "% configs were refused"],
    ongoing: ["% is still refused", "% configs are still refused"],
    recovered: ["% is in force again", "% configs are in force again"],
  },
  certificate_expiring: {
    new: ["% is about to expire", "% certificates are about to expire"],
    ongoing: ["% has still not been renewed", "% certificates have still not been renewed"],
    recovered: ["% was renewed", "% certificates were renewed"],
  },
  clock_wrong: {
    new: ["% is wrong", "% clocks are wrong"],
    ongoing: ["% is still wrong", "% clocks are still wrong"],
    recovered: ["% is correct again", "% clocks are correct again"],
  },
};

function countOf(items: readonly NoticeItem[]): string {
  const count = items.reduce((sum, { details }) => sum + Number(details.failed) + Number(details.expired), 0);
  return `${grouped(count)} ${count === 1 ? "delivery" : "deliveries"}`;
}

function lineOf(kind: NoticeKind, state: NoticeState, item: NoticeItem): string {
  const { subject, since, until, says, details } = item;
  if (kind === "deliveries_given_up") {
    const parts = [
      ["expired", details.expired],
      ["failed", details.failed],
    ].filter(([, count]) => Number(count) > 0);
    const counts = parts.map(([word, count]) => `${word} ${grouped(Number(count))}`).join(", ");
    return `${countOf([item])} to ${subject} given up since ${shortTime(since)} (${counts}); the last: ${says}`;
  }
  if (state !== "recovered" || until === null) return says;
  const [one] = item.gone ? GONE : TITLES[kind].recovered;
  return `${one.replace("%", subject)} (${shortTime(until)}, after ${formatDuration(Math.max(0, until - since))})`;
}

/** The name of a destination stays as it is. */
function capital(line: string): string {
  return line.replace(/^the /, "The ");
}

/** As `2026-11-20 12:00 UTC`. */
export function shortTime(at: At): string {
  return `${formatTime(at).slice(0, 16).replace("T", " ")} UTC`;
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}
