import type { Delivery, SettledState, Settlement } from "../../model/delivery.ts";
import { type AttemptLog, NO_ATTEMPTS, withAttempts } from "../../model/delivery.ts";
import { storedBodyFor } from "../../model/payload.ts";
import type { At } from "../../model/units.ts";
import { checksum, damaged } from "../segment.ts";
import { type Delivered, logOfFirst } from "../takers.ts";
import type { Tx } from "./commits.ts";
import type { Database } from "./driver.ts";
import { type Place, segmentOf } from "./progress.ts";
import type { Tables } from "./tables.ts";

/** Writes the settlement of a delivery. Answers false if the delivery no longer waits. */
export function createSettle({ counts, progress, tail, tried }: Tables) {
  return function settle(tx: Tx, delivery: Delivery, settlement: Settlement): boolean {
    const { destination, id, ref } = delivery;
    const place = { id, destination, segment: segmentOf(ref) };
    if (isFirstSuccess(delivery, settlement)) {
      const done = tail.deliver(tx, place, takenBy(settlement));
      if (done !== null) return done;
    } else if (delivery.attemptedAt === null) {
      // It gets a row of its own, which is made from those of its segment.
      tail.fold(tx);
    }
    if (!write(tx, delivery, { place, settlement })) return false;
    if (settlement.state !== "waiting") {
      counts.add(tx, destination, "waiting", -1);
      counts.add(tx, destination, settlement.state, 1);
    }
    return true;
  };

  /** Most deliveries succeed at the first attempt, and only change a letter; the others get a row of their own. */
  function write(tx: Tx, delivery: Delivery, { place, settlement }: Written): boolean {
    if (delivery.attemptedAt !== null) return tried.settle(tx, delivery, settlement);
    if (progress.letter(tx, place) !== "w") return tried.settle(tx, delivery, settlement);
    if (isFirstSuccess(delivery, settlement)) {
      progress.deliver(tx, place, takenBy(settlement));
      return true;
    }
    progress.setApart(tx, place, settlement.attemptedAt);
    tried.add(tx, { ...delivery, segment: place.segment });
    return tried.settle(tx, delivery, settlement);
  }
}

type Written = { readonly place: Place; readonly settlement: Settlement };
type Success = Extract<Settlement, { state: "delivered" }>;

/** If another attempt of the same round failed, that has to be in a log, which only a row has. */
function isFirstSuccess({ attemptedAt }: Delivery, settlement: Settlement): settlement is Success {
  return attemptedAt === null && settlement.state === "delivered" && settlement.attempts === 1 && !settlement.log;
}

function takenBy({ attemptedAt: at, url, status }: Success): Delivered {
  return { at, url, status };
}

/** The deliveries that were not delivered at their first attempt, each with a row of its own. */
type Tried = {
  /** Adds a row for a delivery that waits in a segment, or that is sent `again`. */
  add(tx: Tx, delivery: NewRow, again?: Again): void;
  /** Writes the settlement of a waiting delivery. Answers false if none waits. */
  settle(tx: Tx, delivery: Delivery, settlement: Settlement): boolean;
  /** Fails a waiting delivery without another attempt. */
  giveUp(tx: Tx, place: TriedPlace, reason: string): void;
  /** Moves a waiting delivery to another destination, as one that was never tried. */
  move(tx: Tx, place: TriedPlace, to: string): void;
  /** Gives a delivery another body. */
  rewrite(tx: Tx, place: TriedPlace, body: string): void;
  /** Makes a delivery that is in this state wait again, with all of its time. Answers false if there is none. */
  replay(tx: Tx, place: TriedPlace, from: SettledState): boolean;
  /** Makes a waiting delivery due now. Answers false if it is due already, or if there is none. */
  hurry(tx: Tx, place: TriedPlace): boolean;
  /** Whether the destination has a row for the event. */
  has(place: TriedPlace): boolean;
};

type TriedPlace = Pick<Delivery, "id" | "destination">;

/** The attempts before the operator sent it again. */
type Again = { readonly log: AttemptLog };

type NewRow = Pick<Delivery, "id" | "destination" | "dueAt" | "attempts" | "stoodStill" | "acceptedAt" | "body"> & {
  readonly segment: number;
};

export function createTried(db: Database): Tried {
  const { insert, update, giveUp, move, rewrite, replay, hurry, readBy, readLog, find } = prepare(db);

  return {
    add({ now }, { id, destination, segment, dueAt, attempts, stoodStill, acceptedAt, body }, again) {
      const waiting = [id, destination, dueAt, attempts, stoodStill, acceptedAt] as const;
      const before = again ? [now, JSON.stringify(again.log)] : [null, null];
      const { changes } = insert.run(
        ...waiting,
        ...before,
        String(id - segment),
        storedBodyFor(body, destination),
        segment,
      );
      // The delivery would be lost. The error rolls the transaction back.
      if (changes !== 1) throw damaged(segment, "it has no contents");
    },
    settle(_tx, { id, destination }, settlement) {
      const { state, attempts, firstAttemptAt, attemptedAt, stoodStill, finals } = settlement;
      const [dueAt, settledAt] = state === "waiting" ? [settlement.dueAt, null] : [null, attemptedAt];
      const [url, status] = state === "delivered" ? [settlement.url, settlement.status] : [null, null];
      const reason = state === "delivered" ? null : settlement.reason;
      const refusals = finals.length === 0 ? null : JSON.stringify(finals);
      const log = settlement.log ? JSON.stringify(withAttempts(logOf(id, destination), settlement.log)) : null;
      const progress = [attempts, firstAttemptAt, attemptedAt, stoodStill, settledAt];
      return update.run(state, dueAt, ...progress, url, status, reason, refusals, log, id, destination).changes > 0;
    },
    giveUp: ({ now }, { id, destination }, reason) => void giveUp.run(now, reason, id, destination),
    move: (_tx, { id, destination }, to) => void move.run(to, id, destination),
    rewrite: (_tx, { id, destination }, body) => void rewrite.run(body, body, id, destination),
    replay({ now }, { id, destination }, from) {
      const by = readBy.get(id, destination);
      const log = by ? JSON.stringify(logOfFirst(by)) : null;
      return replay.run(now, now, log, id, destination, from).changes > 0;
    },
    hurry: ({ now }, { id, destination }) => hurry.run(now, id, destination, now).changes > 0,
    has: ({ id, destination }) => find.get(id, destination) !== undefined,
  };

  function logOf(id: number, destination: string): AttemptLog {
    const log = readLog.get(id, destination);
    return log ? JSON.parse(log) : NO_ATTEMPTS;
  }
}

function prepare(db: Database) {
  db.function("checksum", { deterministic: true }, (about, body) => checksum(String(about), String(body)));
  const insert = db.prepare(
    `INSERT INTO tried (event, destination, state, due_at, attempts, stood_still, accepted_at, replayed_at, log, about, body, sum)
     SELECT ?, ?, 'waiting', ?, ?, ?, ?, ?, ?, told, body, checksum(told, body)
     FROM (SELECT about -> ('$[' || ? || ']') AS told, ? AS body FROM contents WHERE segment = ?)`,
  );
  const update = db.prepare(
    `UPDATE tried SET state = ?, due_at = ?, attempts = ?, first_attempt_at = ?, attempted_at = ?, stood_still = ?, settled_at = ?,
       url = ?, status = ?, reason = ?, finals = ?,
       log = coalesce(?, log) WHERE event = ? AND destination = ? AND state = 'waiting'`,
  );

  const giveUp = db.prepare<[At, string, number, string]>(
    `UPDATE tried SET state = 'failed', due_at = NULL, settled_at = ?, reason = ?
     WHERE event = ? AND destination = ? AND state = 'waiting'`,
  );
  const move = db.prepare<[string, number, string]>(
    `UPDATE tried SET destination = ?, due_at = accepted_at, attempts = 0, first_attempt_at = NULL, attempted_at = NULL,
       replayed_at = NULL, stood_still = 0, reason = NULL, finals = NULL, log = NULL WHERE event = ? AND destination = ? AND state = 'waiting'`,
  );
  const rewrite = db.prepare<[string, string, number, string]>(
    "UPDATE tried SET body = ?, sum = checksum(about, ?) WHERE event = ? AND destination = ?",
  );
  const replay = db.prepare<[At, At, string | null, number, string, SettledState]>(
    `UPDATE tried SET state = 'waiting', due_at = ?, replayed_at = ?, log = coalesce(log, ?), attempts = 0, first_attempt_at = NULL,
       attempted_at = NULL, stood_still = 0, settled_at = NULL, url = NULL, status = NULL, reason = NULL, finals = NULL
     WHERE event = ? AND destination = ? AND state = ?`,
  );
  const hurry = db.prepare<[At, number, string, At]>(
    "UPDATE tried SET due_at = ? WHERE event = ? AND destination = ? AND state = 'waiting' AND due_at > ?",
  );
  // A row that its first attempt delivered has no log either: url and status replace it.
  const readBy = db.prepare<[number, string], Delivered>(
    `SELECT settled_at AS at, url, status FROM tried
     WHERE event = ? AND destination = ? AND state = 'delivered' AND attempts = 1 AND log IS NULL`,
  );
  const readLog = db
    .prepare<[number, string], string | null>("SELECT log FROM tried WHERE event = ? AND destination = ?")
    .pluck();
  const find = db.prepare<[number, string]>("SELECT 1 FROM tried WHERE event = ? AND destination = ?");
  return { insert, update, giveUp, move, rewrite, replay, hurry, readBy, readLog, find };
}
