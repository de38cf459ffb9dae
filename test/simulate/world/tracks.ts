/**
 * What became of each delivery as the network saw it: rounds of requests, and what they mean for the next one. A track is a
 * delivery: one event on its way to one destination. It knows nothing of what the daemon thinks, but for its rows after a
 * restart, which are all that a new process has.
 */
import type { PostRequest } from "../../../src/model/ports.ts";
import { type At, MINUTE, type Ms } from "../../../src/model/units.ts";
import type { Meaning } from "./network.ts";
import type { Row, Rows } from "./rows.ts";
import { ownerOf } from "./shape.ts";
import { isDoubtful, type Life } from "./world.ts";

export type Track = {
  readonly destination: string;
  readonly id: string;
  readonly body: string;
  /** Requests under way. */
  open: number;
  /** The last round: when it began, and what was answered. Null before the first, and after a restart. */
  round: {
    readonly startAt: At;
    endAt: At;
    readonly urls: Set<string>;
    readonly meanings: Meaning[];
    silence: Ms;
  } | null;
  /** Rounds that left the machine. */
  rounds: number;
  /** Requests that were ever begun. */
  asked: number;
  firstAt: At | null;
  /** Rounds that began at or after the cutoff. */
  late: number;
  succeededAt: At | null;
  /** Who has refused it for good, with the version of the webhook that did. */
  readonly finals: Map<string, string>;
  /** How often anybody has, ever. */
  refusals: number;
  /** Nothing begins before. */
  freeAt: At;
  /** How often it was begun anew: an answer that comes later is to what was before. */
  epoch: number;
  /** The step in which it was last sent again by command. */
  replayedIn: number | null;
  /** The number of the process that asked last. */
  by: number;
  /** What became of it may be lost, as of all that a daemon does while it is cut off from the others: it may be sent again. */
  excused: boolean;
  /** A receiver had it before it was sent again for that. */
  had: boolean;
};

/** A request, and what its track was before. */
export type Asked = {
  readonly track: Track;
  readonly before: Readonly<
    Pick<Track, "open" | "rounds" | "asked" | "firstAt" | "late" | "succeededAt" | "freeAt">
  > & {
    readonly endAt: At;
  };
  readonly url: string;
  readonly at: At;
  readonly isNewRound: boolean;
  readonly epoch: number;
};

type Rules = {
  readonly cutoff: () => Ms;
  readonly webhooks: (destination: string) => number;
  readonly versionOf: (destination: string) => string;
  /** Whether what is settled may be sent again now, by command. */
  readonly mayReplay: (track: Pick<Track, "id" | "destination" | "body">) => boolean;
  readonly step: () => number;
  /** Whether it is, or may be, paused or not served. */
  readonly isStopped: (destination: string) => boolean;
  /** The row of a track, of those that wait and have its messageId and its destination. */
  readonly rowOf: (track: Pick<Track, "body">, among: readonly Row[], rows: Rows) => Row | undefined;
};

export type Tracks = {
  begin(request: Omit<PostRequest, "signal">, life: Life): Asked;
  end(asked: Asked, answer: { readonly meaning: Meaning; readonly silence: Ms }, at: At): void;
  /** What ran in it is over, and nobody knows how. */
  died(life: Life): void;
  /** What this process has under way may be sent again by another one; and what has ended just now, of which it had no time to say so. */
  excuse(life: Life, at: At): void;
  /** These have ended. */
  endExcuses(waits: (track: Track) => boolean): void;
  /** Another process has only the rows. Answers how many are to be sent again though a receiver has them. */
  reborn(rows: Rows): number;
  /** Each is due now, by command. */
  hurry(messageId: string, destination: string): void;
  /** Each was settled, and waits again by command. */
  replayed(messageId: string, destination: string): void;
  /** Of the webhooks of a destination, as they are now. */
  versionOf(destination: string): string;
  of(messageId: string, destination: string): readonly Track[];
  all(): Iterable<Track>;
  /** Until when a receiver wants to hear nothing. */
  readonly silentUntil: Map<string, At>;
  /** When a lane of a destination was last opened again. */
  readonly reopenedAt: Map<string, At>;
};

/** From an answer until it is written what became of the delivery. */
const TO_SETTLE: Ms = 50;

/** Whether a receiver has it. */
export function isTaken({ succeededAt, had }: Track): boolean {
  return succeededAt !== null || had;
}

/** Of what nobody was asked about yet, or not since it was sent again by command. */
const FRESH = {
  open: 0,
  round: null,
  rounds: 0,
  firstAt: null,
  late: 0,
  succeededAt: null,
  freeAt: 0,
} as const;

export function createTracks(rules: Rules): Tracks {
  const tracks = new Map<string, Track>();
  const byId = new Map<string, Track[]>();
  const silentUntil = new Map<string, At>();
  const reopenedAt = new Map<string, At>();

  return {
    silentUntil,
    reopenedAt,
    versionOf: rules.versionOf,
    begin({ url, body, headers }, life) {
      const track = find(ownerOf(url), headers["webhook-id"] ?? "", body);
      const at = life.clock.now();
      // If it waits still, this knows less of it from here on.
      if (rules.mayReplay(track)) renew(track);
      track.excused ||= isDoubtful(life);
      if (track.excused && (track.open === 0 || track.by !== life.number)) beginAnew(track);
      track.by = life.number;
      const { open, rounds, asked, firstAt, late, succeededAt, freeAt, round } = track;
      const isNewRound = round === null || open === 0 || round.urls.has(url);
      const before = { open, rounds, asked, firstAt, late, succeededAt, freeAt, endAt: round?.endAt ?? 0 };
      if (isNewRound) track.round = { startAt: at, endAt: at, urls: new Set(), meanings: [], silence: 0 };
      track.round?.urls.add(url);
      track.open += 1;
      track.asked += 1;
      return { track, before, url, at, isNewRound, epoch: track.epoch };
    },
    end({ track, url, epoch }, { meaning, silence }, at) {
      if (silence > 0)
        silentUntil.set(url, Math.max(silentUntil.get(url) ?? 0, at + Math.min(silence, rules.cutoff())));
      if (epoch !== track.epoch) {
        if (track.excused) noteBelated(track, meaning);
        return;
      }
      track.open -= 1;
      const { round } = track;
      if (round === null) return;
      round.endAt = at;
      round.meanings.push(meaning);
      round.silence = Math.max(round.silence, silence);
      if (meaning === "success") track.succeededAt ??= at;
      if (meaning === "final") track.refusals += 1;
      if (meaning === "final") track.finals.set(url, rules.versionOf(track.destination));
      if (track.open === 0) close(track, round);
    },
    died({ number }) {
      for (const track of tracks.values())
        if (track.by === number) Object.assign(track, { open: 0, round: track.open > 0 ? null : track.round });
    },
    excuse({ number }, at) {
      for (const track of tracks.values()) {
        const endAt = track.round?.endAt ?? Number.NEGATIVE_INFINITY;
        if (track.by === number && (track.open > 0 || at - endAt <= TO_SETTLE)) track.excused = true;
      }
    },
    endExcuses(waits) {
      for (const track of tracks.values()) if (track.excused && track.open === 0) track.excused = waits(track);
    },
    reborn(rows) {
      silentUntil.clear();
      reopenedAt.clear();
      const all = [...rows.deliveries.values()].filter(({ state }) => state === "waiting");
      const waiting = Map.groupBy(all, ({ messageId, destination }) => idOf(messageId, destination));
      let doubled = 0;
      for (const track of tracks.values()) {
        const row = rules.rowOf(track, waiting.get(idOf(track.id, track.destination)) ?? [], rows);
        if (row && track.succeededAt !== null) doubled += 1;
        takeOver(track, row);
      }
      return doubled;
    },
    hurry(messageId, destination) {
      for (const track of byId.get(idOf(messageId, destination)) ?? []) track.freeAt = 0;
    },
    replayed(messageId, destination) {
      for (const track of byId.get(idOf(messageId, destination)) ?? []) renew(track);
    },
    of: (messageId, destination) => byId.get(idOf(messageId, destination)) ?? [],
    all: () => tracks.values(),
  };

  function find(destination: string, id: string, body: string): Track {
    const key = `${destination}\n${id}\n${body}`;
    const known = tracks.get(key);
    if (known) return known;
    const none = { asked: 0, replayedIn: null, refusals: 0, epoch: 0, by: 0, excused: false, had: false };
    const track: Track = { destination, id, body, ...FRESH, ...none, finals: new Map() };
    tracks.set(key, track);
    byId.set(idOf(id, destination), [...(byId.get(idOf(id, destination)) ?? []), track]);
    return track;
  }

  /** An answer to what is not known to have been sent: it counts for the receiver. */
  function noteBelated(track: Track, meaning: Meaning): void {
    if (meaning === "success") track.had = true;
    if (meaning === "final") track.refusals += 1;
  }

  /** Another daemon sends it, who knows nothing of this. */
  function beginAnew(track: Track): void {
    track.epoch += 1;
    track.had ||= track.succeededAt !== null;
    track.finals.clear();
    Object.assign(track, FRESH);
  }

  /** What was settled is as new, when it is sent again by command. */
  function renew(track: Track): void {
    // What waits, and is under way, is not replayed.
    if ((track.open > 0 && track.succeededAt === null) || track.replayedIn === rules.step()) return;
    track.epoch += 1;
    track.finals.clear();
    Object.assign(track, FRESH, { replayedIn: rules.step() });
  }

  function close(track: Track, { startAt, endAt, meanings, silence }: NonNullable<Track["round"]>): void {
    const offline = meanings.every((meaning) => meaning === "offline");
    // One that never left the machine counts for nothing; and where nothing is delivered any more when it ends, nothing is given
    // up: the operator wants it to wait, and it has its last attempt when it is delivered to again.
    if (offline || rules.isStopped(track.destination)) track.late = Math.max(0, track.late - 1);
    if (!offline) {
      track.rounds += 1;
      track.firstAt ??= startAt;
    }
    const wait = offline ? 10_000 : Math.min(600_000, 1_000 * 2 ** Math.min(track.rounds - 1, 20));
    const wanted = rules.webhooks(track.destination) === 1 ? Math.max(0.8 * wait, silence) : 0.8 * wait;
    const cutoffAt = track.firstAt === null ? Number.POSITIVE_INFINITY : track.firstAt + rules.cutoff();
    // The last attempt is made when the cutoff comes, however long the wait would be.
    track.freeAt = Math.min(endAt + wanted, Math.max(endAt, cutoffAt));
  }
}

function takeOver(track: Track, row: Row | undefined): void {
  if (row) {
    const { attempts: rounds, firstAttemptAt: firstAt, dueAt } = row;
    Object.assign(track, { rounds, firstAt, freeAt: rounds > 0 ? dueAt : 0, succeededAt: null });
  }
  // An attempt that was cut off counts for nothing, and neither does a refusal that was not written down.
  Object.assign(track, { late: 0, round: null, open: 0 });
  track.finals.clear();
}

function idOf(messageId: string, destination: string): string {
  return `${messageId} ${destination}`;
}

/** When receivers were asked: what waits for one that answers has its turn soon. */

export type Turns = {
  /** By URL: since when a receiver has answered everything at once. */
  readonly answering: Map<string, At>;
  /** By URL: since when it has taken nothing; how long that was the last time; and the last that each process told of its lane. */
  readonly failing: Map<string, At>;
  readonly failed: Map<string, Ms>;
  readonly lanes: Map<string, string>;
  /** When something was last different that a lane, or the store, may have to get over. */
  upsetAt: At;
  /** By destination: when a round began, and when one that was the first of its delivery. */
  readonly rounds: Map<string, At[]>;
  readonly firsts: Map<string, At[]>;
};

export function createTurns(): Turns {
  const known = { failing: new Map(), failed: new Map(), lanes: new Map() };
  return { ...known, answering: new Map(), upsetAt: 0, rounds: new Map(), firsts: new Map() };
}

/** What waits has to wait from here on, as if it had just come. */
export function upset(turns: Turns, at: At): void {
  turns.upsetAt = at;
}

/** A process that has just begun, and is alone, knows of nobody. */
export function forgetTurns(turns: Turns, at: At): void {
  const { answering, failing, failed, lanes, rounds, firsts } = turns;
  for (const map of [answering, failing, failed, lanes, rounds, firsts]) map.clear();
  upset(turns, at);
}

/** A receiver has taken something at this moment, or has not. */
export function noteTaken({ failing, failed }: Turns, url: string, { taken, startAt, at }: Taken): void {
  const since = failing.get(url);
  if (!taken) failing.set(url, Math.min(since ?? startAt, startAt));
  else failing.delete(url);
  if (taken) failed.set(url, since === undefined ? 0 : at - since);
}

type Taken = { readonly taken: boolean; readonly startAt: At; readonly at: At };

/** Something is told of a lane. Answers whether its receiver is back from an outage: what waits for it need not wait any longer. */
export function isBack({ lanes, failed }: Turns, { url, life }: Lane, what: string): boolean {
  const lane = `${life} ${url}`;
  const before = lanes.get(lane);
  lanes.set(lane, what);
  return what === "laneOpened" && (before === "laneClosed" || (failed.get(url) ?? 0) >= SHORTEST_OUTAGE);
}

/** `life`: the number of the process that has it. */
type Lane = { readonly url: string; readonly life: number };

const SHORTEST_OUTAGE: Ms = 5 * MINUTE;

export function noteTurn(of: Map<string, At[]>, destination: string, at: At): void {
  const known = of.get(destination);
  if (known) known.push(at);
  else of.set(destination, [at]);
}

/** How many there were from then on. */
export function countSince(of: ReadonlyMap<string, readonly At[]>, destination: string, since: At): number {
  const times = of.get(destination) ?? [];
  let count = 0;
  for (let nth = times.length - 1; nth >= 0 && (times[nth] ?? 0) >= since; nth -= 1) count += 1;
  return count;
}
