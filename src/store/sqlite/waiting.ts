import type { DeliveryKey } from "../../model/delivery.ts";
import { MB } from "../../model/units.ts";
import type { Redirect, WaitingDeliveries, Withdrawal } from "../../model/waiting-deliveries.ts";
import { DISCARDED, hasAlready } from "../replay.ts";
import type { Commits, Tx } from "./commits.ts";
import type { Waiting } from "./kept.ts";
import type { Tables } from "./tables.ts";

/** Bytes of bodies that one page writes, so that its commit stays short. */
const MOST_BODY = 2 * MB;

type WaitingParts = { readonly commits: Commits; readonly moved: () => void };

/** Discards or moves, page by page, the waiting deliveries of a destination that is not served. */
export function createWaiting(tables: Tables, { commits, moved }: WaitingParts): WaitingDeliveries {
  const { progress, tried, kept } = tables;
  const giveUp = createGiveUp(tables);
  const moveOne = createMove(tables);

  return {
    discard(destination, limit) {
      return commits.add({
        rows: limit,
        run(tx) {
          const discarded = forEachWaiting(destination, limit, (one) => giveUp(tx, one, DISCARDED));
          return { discarded, more: isLeft(destination) };
        },
      });
    },
    async move(redirect, limit) {
      const { from, to } = redirect;
      const run = (tx: Tx) => {
        let doubled = 0;
        const done = forEachWaiting(from, limit, (one) => {
          if (!isThere(tx, one, to)) return moveOne(tx, one, redirect);
          doubled += 1;
          return giveUp(tx, one, hasAlready(to));
        });
        return { moved: done - doubled, doubled, more: isLeft(from) };
      };
      const answer = await commits.add({ rows: limit, run });
      if ("moved" in answer && answer.moved > 0) moved();
      return answer;
    },
  };

  /** `run` answers how many bytes of bodies it has written. Answers how many deliveries it ran for. */
  function forEachWaiting(destination: string, limit: number, run: (one: Waiting) => number): number {
    let [done, body] = [0, 0];
    for (const one of kept.waitingFor(destination, limit)) {
      if (body >= MOST_BODY) break;
      body += run(one);
      done += 1;
    }
    return done;
  }

  function isLeft(destination: string): boolean {
    return kept.waitingFor(destination, 1).length > 0;
  }

  function isThere(tx: Tx, one: Waiting, destination: string): boolean {
    const there = { ...one, destination };
    return (progress.letter(tx, there) ?? "-") !== "-" || tried.has(there);
  }
}

/** Moves a waiting delivery. Answers how many bytes of bodies were written. */
function createMove(tables: Tables): (tx: Tx, one: Waiting, redirect: Redirect) => number {
  const { counts, progress, tried, kept } = tables;
  return function move(tx, one, { to, rewrite }) {
    const stored = rewrite ? kept.body(one) : "";
    const body = rewrite ? rewrite(stored, kept.event(one)) : stored;
    const there = { ...one, destination: to };
    progress.move(tx, one, to);
    if (one.kind === "row") tried.move(tx, one, to);
    if (body !== stored) {
      if (one.kind === "letter") setApart(tx, there, { tables, body });
      else tried.rewrite(tx, there, body);
    }
    counts.add(tx, one.destination, "waiting", -1);
    counts.add(tx, to, "waiting", 1);
    return Math.max(body.length, one.size);
  };
}

export type Withdrawn = DeliveryKey;

export type WithdrawRows = {
  /** Fails the waiting deliveries of these events, for any destination. Answers which they were. */
  run(tx: Tx, withdrawal: Withdrawal): readonly Withdrawn[];
  /** Whether a delivery of this event waits. */
  waits(event: number): boolean;
};

/** Ends the waiting of events that must no longer be sent. */
export function createWithdraw(tables: Tables): WithdrawRows {
  const { kept } = tables;
  const giveUp = createGiveUp(tables);
  return {
    run(tx, { events, reason }) {
      // In the order of their numbers, so that each segment is opened once.
      const withdrawn = events.toSorted((one, other) => one - other).flatMap(kept.waitingOf);
      for (const one of withdrawn) giveUp(tx, one, reason);
      return withdrawn.map(({ id, destination }) => ({ id, destination }));
    },
    waits: (event) => kept.waitingOf(event).length > 0,
  };
}

/** Fails a waiting delivery without another attempt. Answers how many bytes of bodies were written. */
type GiveUp = (tx: Tx, one: Waiting, reason: string) => number;

function createGiveUp(tables: Tables): GiveUp {
  const { counts, tried, kept } = tables;
  return function giveUp(tx, one, reason) {
    const bytes = one.kind === "letter" ? setApart(tx, one, { tables, body: kept.body(one) }) : one.size;
    tried.giveUp(tx, one, reason);
    counts.add(tx, one.destination, "waiting", -1);
    counts.add(tx, one.destination, "failed", 1);
    return bytes;
  };
}

/** Gives a letter a row of its own. Answers how many bytes of bodies were written. */
function setApart(tx: Tx, one: Waiting, { tables, body }: { readonly tables: Tables; readonly body: string }): number {
  const { progress, tried, kept } = tables;
  const acceptedAt = kept.segmentOf(one.id)?.acceptedAt ?? tx.now;
  progress.setApart(tx, one, tx.now);
  tried.add(tx, { ...one, body, acceptedAt, dueAt: acceptedAt, attempts: 0, stoodStill: 0 });
  return body.length;
}
