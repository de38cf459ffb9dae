import type { NoticeKind, Notifier } from "./config.ts";
import type { JsonObject } from "./event.ts";
import { type At, MINUTE, type Ms } from "./units.ts";

/** What the webhooks of `notify` get (`notify/notices.ts`). */

export type Fact = {
  readonly kind: NoticeKind;
  readonly subject: string;
  /** `unknown`: nobody can say now. `elsewhere`: another daemon reports it. */
  readonly state: "bad" | "fine" | "unknown" | "elsewhere";
  /** Since when it is bad. Times are by `clock.now()`. */
  readonly since: At;
  /** What is bad, as a sentence, and the same for programs. */
  readonly says: string;
  readonly details: JsonObject;
};

/** One notification: trouble of one kind, in one state. */
export type Notice = {
  readonly kind: NoticeKind;
  readonly state: NoticeState;
  readonly items: readonly NoticeItem[];
  /** Since when the first of them waits to be reported. */
  readonly waits: At;
};
export type NoticeState = "new" | "ongoing" | "recovered";

export type NoticeItem = Pick<Fact, "subject" | "since" | "says" | "details"> & {
  /** When it ended; null while it lasts. */
  readonly until: At | null;
  /** Whether it ended because nobody looks any more: a destination was disabled or removed. */
  readonly gone: boolean;
};

export type GivenUp = { readonly destination: string; readonly state: "failed" | "expired"; readonly reason: string };

/** What decides when something is reported, and by which daemon. */
export type NoticeRules = {
  /** As the config has them now. */
  readonly rules: () => Pick<Notifier, "on" | "failingFor" | "repeat" | "perHour">;
  /** Whether this daemon is the only one, so that it tells the end of what others have told. */
  readonly alone: () => boolean;
  /** Whether it tells the end of what nobody else goes on telling. */
  readonly leads: () => boolean;
};

/** How long others of the same kind are waited for. */
export const GROUPING: Ms = MINUTE;

/** A notification as its receiver gets it, unless its entry has a template. */
export type Message = {
  readonly kind: NoticeKind | "test";
  /** `new`, `ongoing` or `recovered`. */
  readonly state: NoticeState;
  /** A line. */
  readonly title: string;
  /** A line for each fact. */
  readonly text: string;
  readonly at: string;
  /** The machine that tells. */
  readonly host: string;
  readonly facts: readonly JsonObject[];
};
