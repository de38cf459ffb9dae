import type { DeliveryDetail, FoundEvent, ListedDelivery } from "../../model/lookup.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import { DETAIL, type DetailRow, detailOf, detailOfRow, LISTED, type TriedRow } from "../listed.ts";
import type { Hit, Position } from "../listing.ts";
import { type Ended, type Reads, toEvent } from "../lookup.ts";
import { keyOf } from "../message-key.ts";
import type { About } from "../segment.ts";
import type { IdSearch, IdStep } from "../trail.ts";
import type { Sql } from "./database.ts";
import { createKept, explain, fromTried, type Kept } from "./kept.ts";
import { fromStored } from "./text.ts";

/**
 * Daemons take numbers in blocks, and use one for a second at most; and their clocks agree to within some seconds. So times
 * grow with numbers only so far.
 */
const DISORDER: Ms = 10 * SECOND;

/** What lookups (store/lookup.ts) read. */
export function createReads(sql: Sql): Reads {
  const kept = createKept(sql);
  return {
    segmentsDown: kept.segmentsDown,
    listedIn: (segments, { states, ...only }) => kept.listedIn(segments, states, only),
    rowsDown: kept.rowsDown,
    endedDown: (...ask) => endedDown(sql, ...ask),
    detail: (place) => readDetail(sql, kept, place),
    event: (id) => readEvent(sql, id),
    async seen(messageId, sources) {
      const keys = new Map(sources.map((source) => [keyOf(source, messageId), source]));
      const rows = await sql.query<{ key: Buffer; at: number }>(
        "SELECT key, at FROM seen WHERE key = ANY ($1::bytea[])",
        [[...keys.keys()].map((key) => Buffer.from(key, "latin1"))],
      );
      return rows.map(({ key, at }) => ({ source: keys.get(key.toString("latin1")) ?? "", at }));
    },
    places: [createIdSearch(sql, "segments"), createIdSearch(sql, "tried")],
    disorder: DISORDER,
  };
}

/** The state is part of the statement, so that its index can be used. */
function endedIn(state: Ended["state"]): string {
  return `SELECT ${LISTED} FROM tried
    WHERE state = '${state}' AND settled_at >= $1 AND (settled_at, event, destination) < ($2, $3, $4)
    ORDER BY settled_at DESC, event DESC, destination DESC LIMIT $5`;
}

const ENDED = { failed: endedIn("failed"), expired: endedIn("expired") };

async function endedDown(
  sql: Sql,
  { state, since }: Ended,
  [at, place]: Position,
  limit: number,
): Promise<readonly Hit[]> {
  const [, event = "0", destination = ""] = /^(\d{1,15}) (.*)$/.exec(String(place)) ?? [];
  const rows = await sql.query<TriedRow>(ENDED[state], [since, at, Number(event), destination, limit]);
  return rows.map((row) => ({
    delivery: fromTried(row),
    position: [row.settledAt ?? 0, `${row.event} ${row.destination}`],
  }));
}

type Place = Pick<ListedDelivery, "id" | "destination">;

/** Looks at the bit first: it can become a row meanwhile, but no row becomes a bit. */
async function readDetail(sql: Sql, kept: Kept, { id, destination }: Place): Promise<DeliveryDetail | null> {
  const segment = await kept.segmentOf(id);
  const [found] = segment ? await kept.listed(segment, ["waiting", "delivered"], { id, destination }) : [];
  if (found) return detailOf(found, await kept.body(found));
  const [row] = await sql.query<DetailRow>(`SELECT ${DETAIL} FROM tried WHERE event = $1 AND destination = $2`, [
    id,
    destination,
  ]);
  return row ? detailOfRow({ ...row, reason: row.reason && fromStored(row.reason) }) : null;
}

/** Reads an event from its segment, and from the rows that may have outlived it. */
export async function readEvent(sql: Sql, id: number): Promise<FoundEvent | null> {
  const kept = createKept(sql);
  const found = await kept.segmentOf(id);
  if (found === null) return toEvent({ id, rows: await kept.rowsOf(id), segment: null });
  const { first, acceptedAt } = found;
  const about = await kept.about(first);
  const listed = await kept.listed(found, ["waiting", "delivered"], { id });
  const apart = await sql.query<{ destination: string }>(APART, [first, id - first]);
  const segment = { first, acceptedAt, about, listed, apart: apart.map(({ destination }) => destination) };
  const rows = await kept.rowsOf(id);
  return explain(() => toEvent({ id, rows, segment }));
}

const APART = `SELECT destination FROM progress
  WHERE segment = $1 AND get_bit(routed & ~waiting & ~delivered, $2) = 1 ORDER BY destination`;

/** Texts in one step of a search: one of a segment has up to 256 events. The server looks through them. */
const SEARCH_STEP = 1_000;

/** `about`: only if it may name the messageId; of one event in `tried`, of all its events in a segment. */
type Text = { readonly number: number; readonly about: string | null };

function createIdSearch(sql: Sql, table: "segments" | "tried"): IdSearch {
  const key = table === "segments" ? "first" : "event";
  const text = `${key} AS number, CASE WHEN strpos(about::text, $1) > 0 THEN about END AS about`;
  const up = `SELECT ${text} FROM (SELECT * FROM ${table} WHERE ${key} >= $2 ORDER BY ${key} LIMIT $3) t
    WHERE accepted_at < $4 ORDER BY ${key}`;
  const down = `SELECT ${text} FROM ${table} WHERE ${key} < $2 ORDER BY ${key} DESC LIMIT $3`;
  // Times grow with numbers, so halving finds it.
  const since = `WITH RECURSIVE halves (low, high) AS (
      SELECT 0::bigint, coalesce(max(${key}), 0) + 1 FROM ${table}
      UNION ALL
      SELECT CASE WHEN is_late THEN low ELSE (low + high) / 2 + 1 END, CASE WHEN is_late THEN (low + high) / 2 ELSE high END
      FROM halves CROSS JOIN LATERAL (
        SELECT coalesce((SELECT accepted_at FROM ${table} WHERE ${key} <= (low + high) / 2 ORDER BY ${key} DESC LIMIT 1)
          >= $1, false) AS is_late) m
      WHERE low < high
    )
    SELECT low FROM halves WHERE low = high`;

  return {
    async firstSince(at) {
      const [found] = await sql.query<{ low: number }>(since, [at - DISORDER]);
      return found?.low ?? 0;
    },
    async findUp(messageId, from, until) {
      const texts = await sql.query<Text>(up, [JSON.stringify(messageId), from, SEARCH_STEP, until + DISORDER]);
      // All rows of one event have the same text, so a step may end between them.
      return find(texts, messageId, 1);
    },
    async findDown(messageId, below) {
      return find(await sql.query<Text>(down, [JSON.stringify(messageId), below, SEARCH_STEP]), messageId, 0);
    },
  };

  function find(texts: readonly Text[], messageId: string, behindLast: number): IdStep {
    const last = texts.length === SEARCH_STEP ? texts.at(-1) : undefined;
    const numbers = texts.flatMap((one) => numbersIn(one, messageId));
    return { numbers, next: last ? last.number + behindLast : null };
  }

  function numbersIn({ number, about }: Text, messageId: string): readonly number[] {
    if (about === null) return [];
    const parsed = JSON.parse(about);
    const events: readonly About[] = table === "segments" ? parsed : [parsed];
    return events.flatMap(([, , id], nth) => (id === messageId ? [number + nth] : []));
  }
}
