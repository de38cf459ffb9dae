import type { DeliveryKey } from "../../model/delivery.ts";
import { isFault } from "../../model/fault.ts";
import { MB } from "../../model/units.ts";
import {
  destinationBusy,
  type Redirect,
  type Rewrite,
  type WaitingDeliveries,
  type Withdraw,
  type Withdrawal,
} from "../../model/waiting-deliveries.ts";
import { DISCARDED, hasAlready } from "../replay.ts";
import { type About, checksum } from "../segment.ts";
import { type Apart, MASK, masksOf, setApart, UNTRIED } from "./apart.ts";
import type { Change } from "./counts.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createKept, type Kept, type Waiting } from "./kept.ts";
import { toStored } from "./text.ts";

/** Bytes of bodies that one page writes, so that its transaction stays short. */
const MOST_BODY = 2 * MB;
/** Segments opened at once: each has up to 256 KB of bodies. */
const MOST_OPENED = 16;

type WaitingParts = Pick<Engine, "db" | "write" | "counts" | "news" | "tell" | "name" | "pace">;

/** Discards or moves, page by page, the waiting deliveries of a destination that is not served, in all streams. */
export function createWaiting(engine: WaitingParts): WaitingDeliveries {
  const { db, write, counts, news, tell, name, pace } = engine;
  return {
    async discard(destination, limit) {
      if (await isBusyElsewhere(db, { name, pace, destination })) return destinationBusy(destination);
      return write("discard what waits", async (tx) => {
        const kept = createKept(tx);
        const found = await kept.waitingFor(destination, limit);
        const done = await giveUp(tx, await withBodies(kept, found, MOST_BODY), DISCARDED);
        await counts.add(tx, done.flatMap(toFailed));
        if (done.length > 0) await news.announce(tx, "withdrawn", done.map(toKey));
        return { discarded: done.length, more: await isLeft(kept, destination) };
      });
    },
    async move(by, limit) {
      if (await isBusyElsewhere(db, { name, pace, destination: by.from })) return destinationBusy(by.from);
      const moved = await write("move what waits", async (tx) => {
        const kept = createKept(tx);
        const { moved, doubled } = await movePage(tx, { ...by, limit });
        await counts.add(tx, [...moved.flatMap((one) => toMoved(one, by.to)), ...doubled.flatMap(toFailed)]);
        const gone = [...moved, ...doubled].map(toKey);
        if (gone.length > 0) await news.announce(tx, "withdrawn", gone);
        if (moved.length > 0) await news.announce(tx, "moved");
        return { moved: moved.length, doubled: doubled.length, more: await isLeft(kept, by.from) };
      });
      if (!isFault(moved) && moved.moved > 0) tell({ kind: "moved", what: "all" });
      return moved;
    },
  };
}

type Looked = Pick<Engine, "name" | "pace"> & { readonly destination: string };

/**
 * Whether another daemon may still be sending something to this destination, which is no longer served. It is idle when it
 * has reported, after it learned about the change, that no attempt is running.
 */
async function isBusyElsewhere(sql: Sql, { name, pace, destination }: Looked): Promise<boolean> {
  const busy = await sql.query(
    `SELECT FROM daemons WHERE id <> $1 AND beat_at >= the_time() - $3 AND (
       seen_version < (SELECT coalesce(max(version), 0) FROM news WHERE kind = 'clocks')
       OR $2 IN (SELECT json_array_elements_text(sending))) LIMIT 1`,
    [name, destination, pace.silence],
  );
  return busy.length > 0;
}

async function isLeft(kept: Kept, destination: string): Promise<boolean> {
  return (await kept.waitingFor(destination, 1)).length > 0;
}

function toMoved({ stream, destination }: Waiting, to: string): readonly Change[] {
  return [
    { stream, destination, state: "waiting", by: -1 },
    { stream, destination: to, state: "waiting", by: 1 },
  ];
}

function toFailed({ stream, destination }: Waiting): readonly Change[] {
  return [
    { stream, destination, state: "waiting", by: -1 },
    { stream, destination, state: "failed", by: 1 },
  ];
}

function toKey({ id, destination }: DeliveryKey): DeliveryKey {
  return { id, destination };
}

/** `body`: null if nothing has to be written of it. */
type Opened = Waiting & { readonly body: string | null; readonly acceptedAt: number };

/** Reads the bodies of bits that `mustWrite`. Leaves out the last ones, if all have more than so many bytes. */
export async function withBodies(
  kept: Kept,
  found: readonly Waiting[],
  most: number,
  mustWrite: (one: Waiting) => boolean = () => true,
): Promise<readonly Opened[]> {
  const opened: Opened[] = [];
  let size = 0;
  for (let next = 0; next < found.length && size < most; ) {
    const step = firstOf(found.slice(next));
    const isOpened = (one: Waiting): boolean => one.kind === "bit" && mustWrite(one);
    const contents = await kept.contents([...new Set(step.filter(isOpened).map(({ segment }) => segment))]);
    for (const one of step) {
      if (size >= most) return opened;
      const segment = isOpened(one) ? contents.get(one.segment) : undefined;
      const body = segment?.bodies[one.id - one.segment] ?? null;
      opened.push({ ...one, body, acceptedAt: segment?.acceptedAt ?? 0 });
      size += body?.length ?? one.size;
    }
    next += step.length;
  }
  return opened;
}

/** As many from the first on as are in a few segments. */
function firstOf(found: readonly Waiting[]): readonly Waiting[] {
  const segments = new Set<number>();
  const end = found.findIndex(({ kind, segment }) => {
    if (kind === "bit") segments.add(segment);
    return segments.size > MOST_OPENED;
  });
  return end < 0 ? found : found.slice(0, end);
}

export type Withdrawn = DeliveryKey;

/** Ends the waiting of events that must no longer be sent. `caughtUp` writes the settlements that wait: those have ended. */
export function createWithdraw(engine: Engine, caughtUp: () => Promise<void>): Withdraw {
  return async function withdraw(withdrawal) {
    await caughtUp();
    const withdrawn = await engine.write("withdraw", (tx) => withdrawRows(tx, engine, withdrawal));
    if (isFault(withdrawn)) return withdrawn;
    if (withdrawn.length > 0) engine.tell({ kind: "withdrawn", deliveries: withdrawn });
    return withdrawn.length;
  };
}

/**
 * Fails the waiting deliveries of these events, for any destination and in any stream. Answers which they were; after the
 * commit this daemon must learn about them, as the others do.
 */
export async function withdrawRows(
  tx: Tx,
  { counts, news }: Pick<Engine, "counts" | "news">,
  { events, reason }: Withdrawal,
): Promise<readonly Withdrawn[]> {
  const kept = createKept(tx);
  const done: Waiting[] = [];
  // Until none waits: an attempt that ends meanwhile moves a delivery from its bit to a row.
  for (;;) {
    const found = await kept.waitingOf(events);
    if (found.length === 0) break;
    done.push(...(await giveUp(tx, await withBodies(kept, found, Number.MAX_SAFE_INTEGER), reason)));
  }
  if (done.length === 0) return [];
  const withdrawn = done.map(toKey);
  await counts.add(tx, done.flatMap(toFailed));
  await news.announce(tx, "withdrawn", withdrawn);
  return withdrawn;
}

/** Fails these deliveries without another attempt. Answers those that still waited. */
async function giveUp(tx: Tx, found: readonly Opened[], reason: string): Promise<readonly Waiting[]> {
  const bits = found.filter(({ kind }) => kind === "bit");
  const rows = found.filter(({ kind }) => kind === "row");
  const done: Waiting[] = [];
  const none = { attempts: 0, firstAttemptAt: null, attemptedAt: null, stoodStill: 0, url: null, status: null };
  const failed = { ...none, state: "failed", dueAt: null, finals: [], log: null, replayedAt: null } as const;
  const apart = bits.map((one) => ({ ...one, ...failed, body: one.body ?? "{}", settledAt: tx.now, reason }));
  for (const one of await setApart(tx, "waiting", apart)) done.push({ ...one, kind: "bit", size: one.body.length });
  if (rows.length > 0) {
    const names = await tx.query<DeliveryKey>(GIVE_UP, [...keysOf(rows), tx.now, toStored(reason)]);
    const failedRows = new Set(names.map(({ id, destination }) => `${id} ${destination}`));
    done.push(...rows.filter(({ id, destination }) => failedRows.has(`${id} ${destination}`)));
  }
  return done;
}

function keysOf(rows: readonly DeliveryKey[]): readonly [events: readonly number[], destinations: readonly string[]] {
  return [rows.map(({ id }) => id), rows.map(({ destination }) => destination)];
}

/** Waiting rows of `tried`, locked in the order of their key. */
const LOCKED = `locked AS MATERIALIZED (
  SELECT event, destination FROM tried
  WHERE (event, destination) IN (SELECT * FROM unnest($1::bigint[], $2::text[])) AND state = 'waiting'
  ORDER BY event, destination FOR UPDATE)`;
const IS_LOCKED = "t.event = l.event AND t.destination = l.destination AND t.state = 'waiting'";

const GIVE_UP = `WITH ${LOCKED}
  UPDATE tried t SET state = 'failed', due_at = NULL, settled_at = $3, reason = $4 FROM locked l WHERE ${IS_LOCKED}
  RETURNING t.event AS id, t.destination`;

type Page = Redirect & { readonly limit: number };
type PageDone = { readonly moved: readonly Waiting[]; readonly doubled: readonly Waiting[] };

async function movePage(tx: Tx, { from, to, rewrite, limit }: Page): Promise<PageDone> {
  const kept = createKept(tx);
  await tx.query(ONE_AT_A_TIME);
  const events = (await kept.waitingFor(from, limit)).map(({ id }) => id);
  if (events.length === 0) return { moved: [], doubled: [] };
  // From here on nothing enters or leaves the bits of these events. The waiting ones are read again, oldest first.
  await tx.query(LOCK_PROGRESS, [events, [from, to]]);
  const waiting = new Map(
    (await kept.waitingOf(events)).filter((one) => one.destination === from).map((one) => [one.id, one]),
  );
  const found = events.flatMap((id) => waiting.get(id) ?? []);
  const there = new Set((await tx.query<{ id: number }>(THERE, [events, to])).map(({ id }) => id));
  const opened = await withBodies(kept, found, MOST_BODY, ({ id }) => rewrite !== undefined || there.has(id));
  const { free = [], taken = [] } = Object.groupBy(opened, ({ id }) => (there.has(id) ? "taken" : "free"));
  const doubled = await giveUp(tx, taken, hasAlready(to));
  const moved = await moveTo(tx, free, to);
  if (rewrite) await rewriteMoved(tx, moved, { to, rewrite });
  return { moved, doubled };
}

/**
 * Makes these wait for another destination, as ones that were never tried. Answers those that still waited: an attempt for a
 * delivery with a row of its own may have ended.
 */
async function moveTo<T extends Waiting>(tx: Tx, free: readonly T[], to: string): Promise<readonly T[]> {
  const { bit = [], row = [] } = Object.groupBy(free, ({ kind }) => kind);
  const names = row.length === 0 ? [] : await tx.query<{ id: number }>(MOVE_ROWS, [...keysOf(row), to]);
  const ids = new Set(names.map(({ id }) => id));
  const rows = row.filter(({ id }) => ids.has(id));
  for (const [kind, those] of [
    ["bit", bit],
    ["row", rows],
  ] as const) {
    // A delivery with a row of its own may have outlived its segment.
    const { segments, destinations, masks } = masksOf(those.filter(({ segment }) => segment > 0));
    if (segments.length > 0) await tx.query(MOVE_BITS[kind], [segments, destinations, masks, to]);
  }
  return [...bit, ...rows];
}

type Rewriting = { readonly to: string; readonly rewrite: Rewrite };
type RowOfBody = { readonly id: number; readonly about: string; readonly body: string };

/** Gives deliveries that have moved the bodies of their new destination. Those that are bits get rows of their own. */
async function rewriteMoved(tx: Tx, moved: readonly Opened[], { to, rewrite }: Rewriting): Promise<void> {
  const kept = createKept(tx);
  const abouts = new Map<number, readonly About[]>();
  const apart: Apart[] = [];
  for (const { id, segment, stream, acceptedAt, body } of moved.filter(({ kind }) => kind === "bit")) {
    const about = abouts.get(segment) ?? (await kept.about(segment));
    abouts.set(segment, about);
    const [source, type, messageId] = about[id - segment] ?? [];
    if (body === null || source === undefined || type === undefined || messageId === undefined) continue;
    const own = rewrite(body, { source, type, messageId });
    const place = { id, destination: to, stream, segment, acceptedAt, dueAt: acceptedAt };
    if (own !== body) apart.push({ ...place, ...UNTRIED, body: own });
  }
  await setApart(tx, "waiting", apart);
  const ids = moved.flatMap(({ id, kind }) => (kind === "row" ? [id] : []));
  if (ids.length === 0) return;
  const changed = (await tx.query<RowOfBody>(BODIES, [ids, to])).flatMap(({ id, about, body }) => {
    const [source, type, messageId]: About = JSON.parse(about);
    const own = rewrite(body, { source, type, messageId });
    return own === body ? [] : [{ id, body: own, sum: checksum(about, own) }];
  });
  const columns = [changed.map(({ id }) => id), changed.map(({ body }) => body), changed.map(({ sum }) => sum)];
  if (changed.length > 0) await tx.query(REWRITE, [...columns, to]);
}

const BODIES = "SELECT event AS id, about, body FROM tried WHERE event = ANY ($1::bigint[]) AND destination = $2";

const REWRITE = `UPDATE tried t SET body = r.body, sum = r.sum
  FROM unnest($1::bigint[], $2::text[], $3::bigint[]) AS r (event, body, sum)
  WHERE t.event = r.event AND t.destination = $4`;

/** Two moves to the same destination could give it an event twice: what it has not been given yet cannot be locked. */
const ONE_AT_A_TIME = "SELECT FROM meta WHERE name = 'schema' FOR NO KEY UPDATE";

const LOCK_PROGRESS = `SELECT FROM progress WHERE destination = ANY ($2::text[]) AND segment IN (
    SELECT s.first FROM unnest($1::bigint[]) AS e (id) CROSS JOIN LATERAL
      (SELECT first FROM segments WHERE first <= e.id ORDER BY first DESC LIMIT 1) s)
  ORDER BY segment, destination FOR UPDATE`;

/** Those of the events that the destination has. */
const THERE = `SELECT e.id FROM unnest($1::bigint[]) AS e (id)
  CROSS JOIN LATERAL (SELECT first, events FROM segments WHERE first <= e.id ORDER BY first DESC LIMIT 1) s
  JOIN progress p ON p.segment = s.first AND p.destination = $2
  WHERE CASE WHEN e.id < s.first + s.events THEN get_bit(p.routed, (e.id - s.first)::int) = 1 ELSE false END
  UNION SELECT event FROM tried WHERE event = ANY ($1::bigint[]) AND destination = $2`;

const MOVE_ROWS = `WITH ${LOCKED}
  UPDATE tried t SET destination = $3, due_at = accepted_at, attempts = 0, first_attempt_at = NULL, attempted_at = NULL,
    replayed_at = NULL, stood_still = 0, reason = NULL, finals = NULL, log = NULL FROM locked l WHERE ${IS_LOCKED}
  RETURNING t.event AS id`;

const MOVE_BITS = { bit: moveBits("bit"), row: moveBits("row") };

/** The event is as one that was never for the old destination. */
function moveBits(kind: Waiting["kind"]): string {
  const none = "(p.routed & ~p.routed)";
  const waiting = kind === "bit" ? MASK : none;
  return `WITH m AS (SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[]) AS m (segment, destination, mask)),
    made AS (
      INSERT INTO progress (segment, destination, stream, routed, waiting, delivered, done)
      SELECT p.segment, $4, p.stream, ${MASK}, ${waiting}, ${none}, ${kind === "row"} FROM m
      JOIN progress p ON p.segment = m.segment AND p.destination = m.destination
      ON CONFLICT (segment, destination) DO UPDATE SET routed = progress.routed | excluded.routed,
        waiting = progress.waiting | excluded.waiting, done = progress.done AND excluded.done
    )
    UPDATE progress p SET routed = p.routed & ~${MASK}, waiting = p.waiting & ~${MASK},
      done = bit_count(p.waiting & ~${MASK}) = 0 FROM m WHERE p.segment = m.segment AND p.destination = m.destination`;
}
