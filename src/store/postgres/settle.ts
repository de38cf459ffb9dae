import {
  type AttemptLog,
  type Delivery,
  formatId,
  NO_ATTEMPTS,
  type Settlement,
  withAttempts,
} from "../../model/delivery.ts";
import type { Fault } from "../../model/fault.ts";
import { storedBodyFor } from "../../model/payload.ts";
import type { Cancel, Store } from "../../model/ports.ts";
import { type At, type Ms, SECOND } from "../../model/units.ts";
import { UNWRITTEN } from "../room.ts";
import { type Apart, AS_TEXT, COLUMNS, MASK, setApart, toRow } from "./apart.ts";
import { bitsOf } from "./bits.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { CommitLost, isLost } from "./errors.ts";
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
      while (running || waiting.length > 0) {
        begin();
        await running;
      }
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
    const batch = takeBatch(waiting);
    waiting = waiting.filter((one) => !batch.has(one));
    await engine.gate.together(() => writeOrEach([...batch], engine));
    running = null;
    if (waiting.length > 0) schedule();
  }
}

/** The next ones, of which none is about the same delivery as another. */
function takeBatch(waiting: readonly Pending[]): ReadonlySet<Pending> {
  const batch = new Map<string, Pending>();
  for (const one of waiting) {
    const id = formatId(one.delivery);
    if (!batch.has(id)) batch.set(id, one);
    if (batch.size === MOST_IN_BATCH) break;
  }
  return new Set(batch.values());
}

/**
 * One settlement may have failed the others: each is tried alone. `directly`: by one statement, without a transaction around it;
 * what it does not find is looked for again in a transaction.
 */
async function writeOrEach(
  batch: readonly Pending[],
  engine: Engine,
  directly: boolean = batch.every(isDirect),
): Promise<void> {
  const { db, report, counts, streams, size, wrote } = engine;
  const held = new Map(streams.held());
  try {
    const { ours, done } = directly
      ? { ours: held, done: await deliver(db, batch, held) }
      : await db.transaction((tx) => writeBatch(tx, batch, held), { mayBeLost: true });
    wrote(true);
    for (const one of batch) if (done.has(one)) noteSettled(one, held, engine);
    for (const [stream, epoch] of held) if (!ours.has(stream)) await streams.refused({ stream, epoch });
    const again: Pending[] = [];
    for (const one of batch) {
      const { stream } = placeOf(one.delivery.ref);
      // Otherwise its epoch was raised meanwhile, but the stream is still ours.
      const isOpen = directly ? !done.has(one) : !ours.has(stream) && streams.held().has(stream);
      if (isOpen) again.push(one);
      else one.resolve(done.has(one) ? "written" : "gone");
    }
    if (again.length > 0) await writeOrEach(again, engine, false);
    // The janitor can now remove what has ended, if it is crowded.
    size.add(0);
  } catch (error) {
    wrote(false);
    report.storeFailed("commit", error);
    if (directly ? isLost(error) : error instanceof CommitLost) counts.doubt([...held.keys()]);
    if (batch.length > 1 && !isLost(error)) for (const one of batch) await writeOrEach([one], engine, directly);
    else for (const { resolve } of batch) resolve(UNWRITTEN);
  }
}

/** Bytes of a row of its own, beside the body. */
const ROW = 300;

/** `held`: the epochs in which it was written. Where the stream was lost since, its new holder has counted it. */
function noteSettled(one: Item, held: ReadonlyMap<number, number>, { counts, size, streams }: Engine): void {
  const { delivery, settlement } = one;
  const { stream, segment } = placeOf(delivery.ref);
  if (!streams.hasKept({ stream, epoch: held.get(stream) ?? 0 })) return;
  if (segment > 0 && !isFirstSuccess(one))
    size.add(Buffer.byteLength(storedBodyFor(delivery.body, delivery.destination)) + ROW);
  if (settlement.state === "waiting") return;
  counts.note(stream, delivery.destination, "waiting", -1);
  counts.note(stream, delivery.destination, settlement.state, 1);
}

type WrittenBatch = {
  /** The streams that are still held. */
  readonly ours: ReadonlySet<number>;
  /** Those that were waiting in one of them. */
  readonly done: ReadonlySet<Item>;
};

async function writeBatch(tx: Tx, batch: readonly Item[], held: ReadonlyMap<number, number>): Promise<WrittenBatch> {
  const ours = await fence(tx, held);
  const items = batch.filter(({ delivery }) => ours.has(placeOf(delivery.ref).stream));
  const first = items.filter(isFirst);
  await lockProgress(tx, first);
  const delivered = await deliver(tx, first.filter(isFirstSuccess), held);
  const leaving = first.filter((one) => !isFirstSuccess(one)).map((one) => toApart(one, null));
  const apart = (await setApart(tx, "waiting", leaving)).map(({ item }) => item);
  const done = new Set([...delivered, ...apart]);
  const updated = await updateRows(
    tx,
    items.filter((one) => !done.has(one)),
  );
  return { ours, done: done.union(updated) };
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

/** In the order of their key, as in all that changes several, so that two transactions do not wait for each other. */
async function lockProgress(tx: Tx, items: readonly Item[]): Promise<void> {
  // Otherwise the one statement that follows locks them so.
  if (!items.some(isFirstSuccess) || items.every(isFirstSuccess)) return;
  await tx.query(
    `SELECT FROM progress WHERE (segment, destination) IN (SELECT * FROM unnest($1::bigint[], $2::text[]))
     ORDER BY segment, destination FOR UPDATE`,
    [items.map(({ delivery }) => placeOf(delivery.ref).segment), items.map(({ delivery }) => delivery.destination)],
  );
}

function isFirst({ delivery }: Item): boolean {
  return placeOf(delivery.ref).segment > 0 && delivery.attemptedAt === null;
}

/** Nearly all are: one statement settles them. */
function isDirect(item: Item): boolean {
  return isFirst(item) && isFirstSuccess(item);
}

/** If another attempt of the same round failed, that has to be in a log, which only a row has. */
function isFirstSuccess({ settlement }: Item): boolean {
  return settlement.state === "delivered" && settlement.attempts === 1 && !settlement.log;
}

/** Marks first attempts as delivered. Answers those that were waiting, in a stream that is still held. */
async function deliver(
  sql: Sql,
  items: readonly Item[],
  held: ReadonlyMap<number, number>,
): Promise<ReadonlySet<Item>> {
  if (items.length === 0) return new Set();
  const groups = [...Map.groupBy(items, keyOf).values()].map(groupOf);
  const rows = await sql.query<{ segment: number; destination: string; bits: string }>(DELIVER, [
    ...[[...held.keys()], [...held.values()]],
    ...[groups.map(({ segment }) => segment), groups.map(({ destination }) => destination)],
    ...[groups.map(({ mask }) => mask), groups.map(({ at }) => at), groups.map(({ takers }) => takers)],
  ]);
  const taken = new Map(rows.map(({ segment, destination, bits }) => [`${segment} ${destination}`, bits]));
  return new Set(items.filter((one) => taken.get(keyOf(one))?.[indexOf(one)] === "1"));
}

/** Its commit does not wait for the disk, also where it is a transaction by itself. */
const DELIVER = `
  WITH fence AS (
    SELECT id, set_config('synchronous_commit', 'off', true) AS commits
    FROM streams JOIN unnest($1::smallint[], $2::bigint[]) h (id, epoch) USING (id, epoch) ORDER BY id FOR KEY SHARE OF streams
  ),
  hit AS (
    SELECT p.segment, p.destination, m.at, m.takers, p.waiting & ${MASK} AS bits
    FROM unnest($3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::text[]) m (segment, destination, mask, at, takers)
    JOIN progress p ON p.segment = m.segment AND p.destination = m.destination
    WHERE p.stream IN (SELECT id FROM fence WHERE commits = 'off')
    ORDER BY p.segment, p.destination FOR UPDATE OF p
  )
  UPDATE progress p SET waiting = p.waiting & ~hit.bits, delivered = p.delivered | hit.bits,
    settled_at = greatest(p.settled_at, hit.at), takers = p.takers || hit.takers, done = bit_count(p.waiting & ~hit.bits) = 0
  FROM hit WHERE p.segment = hit.segment AND p.destination = hit.destination AND bit_count(hit.bits) > 0
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
  readonly mask: string;
  readonly at: At;
  readonly takers: string;
};

/** `items`: of one segment and destination. */
function groupOf(items: readonly Item[]): Group {
  const [one] = items;
  const at = Math.max(...items.map(({ settlement }) => settlement.attemptedAt));
  const mask = bitsOf(items.map(indexOf), Math.max(...items.map(indexOf)) + 1);
  const segment = one ? placeOf(one.delivery.ref).segment : 0;
  return { segment, destination: one?.delivery.destination ?? "", mask, at, takers: takersOf(items) };
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

type Settled = Apart & { readonly item: Item };

/** The row of a delivery after its settlement. `before`: its log. */
function toApart(item: Item, before: AttemptLog | null): Settled {
  const { delivery, settlement } = item;
  const { id, destination, ref, acceptedAt, replayedAt, body } = delivery;
  const { state, attempts, firstAttemptAt, attemptedAt, stoodStill, finals, log } = settlement;
  const isOver = state !== "waiting";
  const taker = state === "delivered" ? settlement : { url: null, status: null };
  return {
    item,
    id,
    destination,
    ...placeOf(ref),
    acceptedAt,
    replayedAt,
    body,
    state,
    attempts,
    firstAttemptAt,
    attemptedAt,
    stoodStill,
    finals,
    url: taker.url,
    status: taker.status,
    dueAt: isOver ? null : settlement.dueAt,
    settledAt: isOver ? attemptedAt : null,
    reason: state === "delivered" ? null : settlement.reason,
    log: log ? withAttempts(before ?? NO_ATTEMPTS, log) : before,
  };
}

/** Columns that a settlement changes. */
const CHANGED = [
  ...["state", "due_at", "attempts", "first_attempt_at", "attempted_at", "stood_still", "settled_at", "url", "status"],
  ...["reason", "finals", "log"],
] as (keyof typeof COLUMNS)[];

const UPDATE = `UPDATE tried t SET ${CHANGED.map((name) => `${name} = r.${name}::${COLUMNS[name]}`).join(", ")}
  FROM json_to_recordset($1::json) AS r (${AS_TEXT}) WHERE t.event = r.event AND t.destination = r.destination`;

/** Settles deliveries that have rows. Answers those that were waiting. */
async function updateRows(tx: Tx, items: readonly Item[]): Promise<ReadonlySet<Item>> {
  if (items.length === 0) return new Set();
  const kept = await tx.query<{ event: number; destination: string; log: string | null }>(
    `SELECT event, destination, log FROM tried JOIN unnest($1::bigint[], $2::text[]) i (event, destination) USING (event, destination)
     WHERE state = 'waiting' ORDER BY event, destination FOR UPDATE OF tried`,
    [items.map(({ delivery }) => delivery.id), items.map(({ delivery }) => delivery.destination)],
  );
  const logs = new Map(kept.map(({ event, destination, log }) => [formatId({ id: event, destination }), log]));
  const found = items.flatMap((item) => {
    const log = logs.get(formatId(item.delivery));
    return log === undefined ? [] : [toApart(item, log === null ? null : JSON.parse(log))];
  });
  await tx.query(UPDATE, [JSON.stringify(found.map((one) => toRow({ ...one, about: "" })))]);
  return new Set(found.map(({ item }) => item));
}
