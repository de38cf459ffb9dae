import { type AttemptLog, type Delivery, NO_ATTEMPTS, type Settlement, withAttempts } from "../../model/delivery.ts";
import type { Fault } from "../../model/fault.ts";
import type { Cancel, Store } from "../../model/ports.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { UNWRITTEN } from "../room.ts";
import { checksum } from "../segment.ts";
import { bitsOf } from "./bits.ts";
import type { Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { isLost } from "./errors.ts";
import { placeOf } from "./streams.ts";

/** How long settlements wait for others to share a transaction, and how many do not wait. */
const LONGEST_WAIT: Ms = 0.025 * SECOND;
const MOST_WAITING = 256;
/** Settlements of one transaction. */
const MOST_IN_BATCH = 1_024;

export type Settling = Pick<Store, "settle"> & {
  /** No settlement waits any more, from now on. */
  hurry(): void;
  /** Resolves when all settlements so far are written or have failed. */
  caughtUp(): Promise<void>;
};

type Result = "written" | "gone" | Fault;
type Item = { readonly delivery: Delivery; readonly settlement: Settlement };
type Pending = Item & { resolve(result: Result): void };

/**
 * Writes settlements, many in one transaction. Its commit does not wait for the disk: what the server forgets in a crash is
 * sent again, which costs no more than a repeat. All of it counts only while this daemon holds the stream.
 */
export function createSettling(engine: Engine): Settling {
  const { clock } = engine;
  let waiting: Pending[] = [];
  let running: Promise<void> | null = null;
  let cancel: Cancel | null = null;
  let isHurried = false;

  return {
    settle(delivery, settlement) {
      const { promise, resolve } = Promise.withResolvers<Result>();
      waiting.push({ delivery, settlement, resolve });
      schedule();
      return promise;
    },
    hurry() {
      isHurried = true;
      begin();
    },
    async caughtUp() {
      begin();
      while (running) await running;
    },
  };

  function schedule(): void {
    if (isHurried || waiting.length >= MOST_WAITING) begin();
    else cancel ??= clock.after(LONGEST_WAIT, begin);
  }

  function begin(): void {
    cancel?.();
    cancel = null;
    if (running === null && waiting.length > 0) running = run();
  }

  async function run(): Promise<void> {
    await clock.nextTurn();
    const batch = waiting.slice(0, MOST_IN_BATCH);
    waiting = waiting.slice(MOST_IN_BATCH);
    await writeOrEach(batch, engine);
    running = null;
    if (waiting.length > 0) schedule();
  }
}

/** One settlement may have failed the others: each is tried alone. */
async function writeOrEach(batch: readonly Pending[], engine: Engine): Promise<void> {
  const { db, report, counts, wrote } = engine;
  try {
    const written = await db.transaction((tx) => writeBatch(tx, batch, engine), { mayBeLost: true });
    wrote(true);
    batch.forEach(({ delivery, settlement, resolve }, nth) => {
      if (written[nth] && settlement.state !== "waiting") {
        const { stream } = placeOf(delivery.ref);
        counts.note(stream, delivery.destination, "waiting", -1);
        counts.note(stream, delivery.destination, settlement.state, 1);
      }
      resolve(written[nth] ? "written" : "gone");
    });
  } catch (error) {
    wrote(false);
    report.storeFailed("commit", error);
    if (batch.length > 1 && !isLost(error)) for (const one of batch) await writeOrEach([one], engine);
    else for (const { resolve } of batch) resolve(UNWRITTEN);
  }
}

/** Answers for each whether it was waiting, in a stream of ours. */
async function writeBatch(tx: Tx, batch: readonly Item[], { streams }: Engine): Promise<readonly boolean[]> {
  const ours = await fence(tx, streams.held());
  const held = batch.filter(({ delivery }) => ours.has(placeOf(delivery.ref).stream));
  const first = held.filter(({ delivery }) => placeOf(delivery.ref).segment > 0 && delivery.attemptedAt === null);
  const hit = await takeBits(tx, first);
  await addRows(
    tx,
    first.filter((one) => hit.has(one) && !isFirstSuccess(one)),
  );
  const bits = new Set(first);
  const updated = await updateRows(
    tx,
    held.filter((one) => !bits.has(one)),
  );
  return batch.map((one) => hit.has(one) || updated.has(one));
}

/** The streams that are still held. None of them can be taken until the transaction ends. */
async function fence(tx: Tx, held: ReadonlyMap<number, number>): Promise<ReadonlySet<number>> {
  const rows = await tx.query<{ id: number }>(
    `SELECT id FROM streams JOIN unnest($1::smallint[], $2::bigint[]) h (id, epoch) USING (id, epoch)
     ORDER BY id FOR KEY SHARE OF streams`,
    [[...held.keys()], [...held.values()]],
  );
  return new Set(rows.map(({ id }) => id));
}

/** If another attempt of the same round failed, that has to be in a log, which only a row has. */
function isFirstSuccess({ settlement }: Item): boolean {
  return settlement.state === "delivered" && settlement.attempts === 1 && !settlement.log;
}

/** Clears the bits of first attempts. Answers which of them were set. */
async function takeBits(tx: Tx, items: readonly Item[]): Promise<ReadonlySet<Item>> {
  if (items.length === 0) return new Set();
  const groups = [...Map.groupBy(items, keyOf).values()].map(groupOf);
  const rows = await tx.query<{ segment: number; destination: string; bits: string }>(TAKE_BITS, [
    ...[groups.map(({ segment }) => segment), groups.map(({ destination }) => destination)],
    ...[groups.map(({ all }) => all), groups.map(({ successes }) => successes)],
    ...[groups.map(({ at }) => at), groups.map(({ takers }) => takers)],
  ]);
  const taken = new Map(rows.map(({ segment, destination, bits }) => [`${segment} ${destination}`, bits]));
  return new Set(items.filter((one) => taken.get(keyOf(one))?.[indexOf(one)] === "1"));
}

/** The masks are as long as their highest bit needs: the rest is filled up here. */
const TAKE_BITS = `
  WITH hit AS (
    SELECT p.segment, p.destination, m.at, m.takers,
      p.waiting & rpad(m.all_bits, length(p.waiting), '0')::varbit AS bits, rpad(m.successes, length(p.waiting), '0')::varbit AS successes
    FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[])
      m (segment, destination, all_bits, successes, at, takers)
    JOIN progress p ON p.segment = m.segment AND p.destination = m.destination
    ORDER BY p.segment, p.destination FOR UPDATE OF p
  )
  UPDATE progress p SET waiting = p.waiting & ~hit.bits, delivered = p.delivered | (hit.bits & hit.successes),
    settled_at = greatest(p.settled_at, hit.at), takers = p.takers || hit.takers,
    done = (p.waiting & ~hit.bits) = (p.waiting & ~p.waiting)
  FROM hit WHERE p.segment = hit.segment AND p.destination = hit.destination
  RETURNING p.segment, p.destination, hit.bits::text AS bits`;

function keyOf({ delivery }: Item): string {
  return `${placeOf(delivery.ref).segment} ${delivery.destination}`;
}

function indexOf({ delivery }: Item): number {
  return delivery.id - placeOf(delivery.ref).segment;
}

type Group = {
  readonly segment: number;
  readonly destination: string;
  readonly all: string;
  readonly successes: string;
  readonly at: At;
  readonly takers: string;
};

function groupOf(items: readonly Item[]): Group {
  const [one] = items;
  if (!one) throw new Error("a group of no settlements");
  const length = Math.max(...items.map(indexOf)) + 1;
  const successes = items.filter(isFirstSuccess);
  return {
    segment: placeOf(one.delivery.ref).segment,
    destination: one.delivery.destination,
    all: bitsOf(items.map(indexOf), length),
    successes: bitsOf(successes.map(indexOf), length),
    at: Math.max(...items.map(({ settlement }) => settlement.attemptedAt)),
    takers: takersOf(successes),
  };
}

/** As on SQLite: a line for each webhook, status and time, with the events that it took. */
function takersOf(successes: readonly Item[]): string {
  const by = Map.groupBy(successes, ({ settlement }) => {
    const { attemptedAt: at } = settlement;
    return settlement.state === "delivered"
      ? JSON.stringify({ at, url: settlement.url, status: settlement.status })
      : "";
  });
  const lines = [...by].map(
    ([taker, items]) => `${taker.slice(0, -1)},"events":[${items.map(({ delivery }) => delivery.id)}]}\n`,
  );
  return lines.join("");
}

/** Deliveries leave their bits for rows, with what their first attempt has led to. */
async function addRows(tx: Tx, items: readonly Item[]): Promise<void> {
  if (items.length === 0) return;
  const rows = items.map((item) => ({ ...rowOf(item, NO_ATTEMPTS), ...bodyOf(item) }));
  await tx.query(
    `INSERT INTO tried (event, destination, stream, ${COLUMNS}, accepted_at, about, body, sum)
     SELECT r.event, r.destination, s.stream, ${COLUMNS.replaceAll(/\w+/g, "r.$&")}, s.accepted_at,
       s.about -> (r.event - s.first)::int, r.body, r.sum
     FROM json_to_recordset($1) AS r (${TYPES}, segment bigint, body text, sum bigint) JOIN segments s ON s.first = r.segment`,
    [JSON.stringify(rows)],
  );
}

function bodyOf({ delivery }: Item) {
  const { body, ref } = delivery;
  return { segment: placeOf(ref).segment, body, sum: checksum("", body) };
}

const COLUMNS =
  "state, due_at, attempts, first_attempt_at, attempted_at, stood_still, settled_at, url, status, reason, finals, log";
const TYPES = `event bigint, destination text, state text, due_at bigint, attempts int, first_attempt_at bigint, attempted_at bigint,
  stood_still bigint, settled_at bigint, url text, status int, reason text, finals json, log json`;

function rowOf({ delivery, settlement }: Item, log: AttemptLog) {
  const { state, attempts, firstAttemptAt, attemptedAt, stoodStill, finals, log: made } = settlement;
  const isDelivered = state === "delivered";
  return {
    event: delivery.id,
    destination: delivery.destination,
    state,
    due_at: state === "waiting" ? settlement.dueAt : null,
    attempts,
    first_attempt_at: firstAttemptAt,
    attempted_at: attemptedAt,
    stood_still: stoodStill,
    settled_at: state === "waiting" ? null : attemptedAt,
    url: isDelivered ? settlement.url : null,
    status: isDelivered ? settlement.status : null,
    reason: isDelivered ? null : settlement.reason,
    finals: finals.length === 0 ? null : finals,
    log: made ? withAttempts(log, made) : null,
  };
}

/** Answers those that were waiting. */
async function updateRows(tx: Tx, items: readonly Item[]): Promise<ReadonlySet<Item>> {
  if (items.length === 0) return new Set();
  const kept = await tx.query<{ event: number; destination: string; log: string | null }>(
    `SELECT event, destination, log FROM tried JOIN unnest($1::bigint[], $2::text[]) i (event, destination) USING (event, destination)
     WHERE state = 'waiting' ORDER BY event, destination FOR UPDATE OF tried`,
    [items.map(({ delivery }) => delivery.id), items.map(({ delivery }) => delivery.destination)],
  );
  const logs = new Map(kept.map(({ event, destination, log }) => [`${event} ${destination}`, log]));
  const found = items.filter((one) => logs.has(rowKey(one)));
  const rows = found.map((one) => rowOf(one, JSON.parse(logs.get(rowKey(one)) ?? "null") ?? NO_ATTEMPTS));
  await tx.query(
    `UPDATE tried t SET ${COLUMNS.replaceAll(/\w+/g, (name) => `${name} = ${name === "log" ? "coalesce(r.log, t.log)" : `r.${name}`}`)}
     FROM json_to_recordset($1) AS r (${TYPES}) WHERE t.event = r.event AND t.destination = r.destination`,
    [JSON.stringify(rows)],
  );
  return new Set(found);
}

function rowKey({ delivery }: Item): string {
  return `${delivery.id} ${delivery.destination}`;
}
