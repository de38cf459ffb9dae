import type { NoticeKind } from "../model/config.ts";
import {
  type Fact,
  GROUPING,
  type Notice,
  type NoticeItem,
  type NoticeRules,
  type NoticeState,
} from "../model/notice.ts";
import { type At, MINUTE, type Ms } from "../model/units.ts";

/** When trouble is this much overdue for its `repeat`, the daemon that reported it counts as gone. */
const ORPHANED: Ms = 10 * MINUTE;

type Trouble = {
  /** A name of a kind that another version knows stands here as well. */
  readonly kind: string;
  readonly subject: string;
  readonly since: At;
  toldAt: At | null;
  endedAt: At | null;
  /** Whether it ended because nobody looks any more. */
  isGone: boolean;
  /** Since when there is something new to tell of it: that it has begun, or ended. */
  changedAt: At;
  /** Whether this daemon has seen it itself. */
  isMine: boolean;
  /** Whether it was bad when it was last looked at. */
  isBad: boolean;
  fact: Pick<Fact, "says" | "details">;
};

/** Trouble that was reported before. */
export type Known = { readonly kind: string; readonly subject: string; readonly since: At; readonly at: At };

type Troubles = {
  see(facts: readonly Fact[], now: At): void;
  /** All trouble of this kind in this state, once that of one subject is due. */
  due(kind: NoticeKind, state: NoticeState, now: At): readonly Notice[];
  told(notice: Notice, now: At): void;
  marks(): readonly (readonly [string, number])[];
  /** `gone`: trouble whose end another daemon has reported. */
  adopt(told: readonly Known[], gone: readonly Known[]): void;
};

/** The trouble that has begun and has an end, by kind and subject. Its states are those in `notices.ts`. */
export function createTroubles(world: NoticeRules): Troubles {
  const troubles = new Map<string, Trouble>();

  return {
    see(facts, now) {
      const { on } = world.rules();
      const wanted = new Map(facts.filter(({ kind }) => on.includes(kind)).map((fact) => [keyOf(fact), fact]));
      for (const [key, fact] of wanted) {
        const known = troubles.get(key);
        if (isTrouble(fact, now, world)) troubles.set(key, worsen(known, fact, now));
        else if (known) ease(known, fact.state, now);
      }
      for (const [key, trouble] of troubles) {
        if (!on.some((kind) => kind === trouble.kind)) troubles.delete(key);
        else if (!wanted.has(key)) ease(trouble, "gone", now);
      }
    },
    due(kind, state, now) {
      const { repeat } = world.rules();
      const all = [...troubles.values()].filter((one) => one.kind === kind && stateOf(one) === state);
      const waits = Math.min(...all.map((one) => (state === "ongoing" ? (one.toldAt ?? now) + repeat : one.changedAt)));
      const dueAt = state === "ongoing" ? waits : waits + GROUPING;
      return dueAt <= now ? [{ kind, state, items: all.map(itemOf), waits }] : [];
    },
    told({ kind, state, items }, now) {
      for (const { subject } of items) {
        const key = keyOf({ kind, subject });
        const trouble = troubles.get(key);
        if (trouble && state !== "recovered") trouble.toldAt = now;
        else troubles.delete(key);
      }
    },
    marks: () => [...troubles].flatMap(([key, trouble]) => marksOf(key, trouble)),
    adopt(told, gone) {
      for (const one of told) {
        const trouble = troubles.get(keyOf(one)) ?? remembered(one);
        troubles.set(keyOf(one), trouble);
        trouble.toldAt = Math.max(trouble.toldAt ?? one.at, one.at);
      }
      for (const key of gone.map(keyOf)) {
        const trouble = troubles.get(key);
        // For this daemon it is not over: it reports it again.
        if (trouble?.isBad && trouble.isMine) trouble.toldAt = null;
        else troubles.delete(key);
      }
    },
  };

  function ease(trouble: Trouble, state: Fact["state"] | "gone", now: At): void {
    if (state === "elsewhere") trouble.isMine = false;
    // Once it has ended, it begins again only when it is trouble again.
    trouble.isBad = state === "bad" && trouble.endedAt === null;
    if ((state !== "fine" && state !== "gone") || trouble.endedAt !== null || !isOurs(trouble, now, world)) return;
    trouble.endedAt = now;
    trouble.isGone = state === "gone";
    // Unreported trouble has waited since it began.
    if (trouble.toldAt !== null) trouble.changedAt = now;
  }
}

/** Whether this daemon is to tell its end. */
function isOurs({ isMine, toldAt }: Trouble, now: At, { alone, leads, rules }: NoticeRules): boolean {
  if (isMine || alone()) return true;
  return leads() && toldAt !== null && now - toldAt >= rules().repeat + ORPHANED;
}

function isTrouble({ kind, state, since }: Fact, now: At, { rules }: Pick<NoticeRules, "rules">): boolean {
  return state === "bad" && (kind !== "destination_failing" || now - since >= rules().failingFor);
}

function worsen(known: Trouble | undefined, { kind, subject, since, says, details }: Fact, now: At): Trouble {
  const begun = known ?? { kind, subject, since, toldAt: null, changedAt: now };
  return Object.assign(begun, { endedAt: null, isGone: false, isMine: true, isBad: true, fact: { says, details } });
}

function marksOf(key: string, { toldAt, since }: Trouble): readonly (readonly [string, number])[] {
  if (toldAt === null) return [];
  return [
    [`told/${key}`, toldAt],
    [`since/${key}`, since],
  ];
}

/** Nobody has looked yet whether it lasts. */
function remembered({ kind, subject, since, at }: Known): Trouble {
  const fact = { says: "", details: {} };
  return {
    kind,
    subject,
    since,
    toldAt: at,
    endedAt: null,
    isGone: false,
    changedAt: at,
    isMine: false,
    isBad: false,
    fact,
  };
}

function keyOf({ kind, subject }: Pick<Trouble, "kind" | "subject">): string {
  return `${kind}/${subject}`;
}

/** Null while there is nothing to tell of it. */
function stateOf({ toldAt, endedAt, isBad }: Trouble): NoticeState | null {
  if (endedAt !== null) return "recovered";
  if (toldAt === null) return "new";
  return isBad ? "ongoing" : null;
}

function itemOf({ subject, since, endedAt, isGone, fact }: Trouble): NoticeItem {
  return { subject, since, until: endedAt, gone: isGone, ...fact };
}
