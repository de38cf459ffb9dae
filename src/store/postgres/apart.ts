import type { AttemptLog, DeliveryState, FinalAnswer } from "../../model/delivery.ts";
import { storedBodyFor } from "../../model/payload.ts";
import type { At, Ms } from "../../model/units.ts";
import { type About, checksum, damaged, parseAbout } from "../segment.ts";
import { bitsOf } from "./bits.ts";
import type { Tx } from "./database.ts";
import { type BitState, explain, withRemedy } from "./kept.ts";
import { toStored } from "./text.ts";

/** A delivery that leaves its bit for a row of its own in `tried`. `log`: null if it follows from the row. */
export type Apart = {
  readonly id: number;
  readonly destination: string;
  readonly stream: number;
  readonly segment: number;
  readonly acceptedAt: At;
  readonly body: string;
  readonly state: DeliveryState;
  readonly dueAt: At | null;
  readonly attempts: number;
  readonly firstAttemptAt: At | null;
  readonly attemptedAt: At | null;
  readonly stoodStill: Ms;
  readonly settledAt: At | null;
  readonly url: string | null;
  readonly status: number | null;
  readonly reason: string | null;
  readonly finals: readonly FinalAnswer[];
  readonly log: AttemptLog | null;
  readonly replayedAt: At | null;
};

/**
 * Clears the bits of these deliveries, and adds a row for each: two round trips, however many there are. Answers those whose
 * bit was set; the others have left it already. Rows are locked in the order of their key, as in all that changes several.
 */
export async function setApart<T extends Apart>(tx: Tx, from: BitState, rows: readonly T[]): Promise<readonly T[]> {
  if (rows.length === 0) return [];
  const places = [rows.map(({ id }) => id), rows.map(({ segment }) => segment), rows.map((one) => one.destination)];
  const found = await tx.query<Found>(FIND[from], places);
  const describe = createDescribe(found);
  const leaving = found.flatMap(({ nth }) => {
    const one = rows[nth - 1];
    return one ? [{ ...one, about: describe(one) }] : [];
  });
  if (leaving.length === 0) return [];
  const { segments, destinations, masks } = masksOf(leaving);
  const lastAt = Math.max(...leaving.map(({ attemptedAt, settledAt }) => attemptedAt ?? settledAt ?? tx.now));
  const written = JSON.stringify(leaving.map(toRow));
  await tx.query(WRITE[from], [segments, destinations, masks, ...(from === "waiting" ? [lastAt] : []), written]);
  return leaving;
}

/** `nth`: of the list that was asked for, from 1. `about`: of its segment, with the first of them only. */
type Found = { readonly nth: number; readonly segment: number; readonly about: string | null };

/**
 * What a row says of its event. PostgreSQL cannot take it out of the list of its segment: its operators refuse JSON with an
 * escaped NUL.
 */
function createDescribe(found: readonly Found[]) {
  const texts = new Map(found.flatMap(({ segment, about }) => (about === null ? [] : [[segment, about]])));
  const abouts = new Map<number, readonly About[]>();
  return function describe({ id, segment }: Apart): string {
    const about = abouts.get(segment) ?? explain(() => parseAbout(segment, texts.get(segment)));
    abouts.set(segment, about);
    const one = about[id - segment];
    if (one === undefined) throw withRemedy(damaged(segment, `it does not say what event ${id} is`));
    return JSON.stringify(one);
  };
}

const FIND = { waiting: find("waiting"), delivered: find("delivered") };

function find(bits: BitState): string {
  return `WITH asked AS (
      SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) WITH ORDINALITY AS a (event, segment, destination, nth)
    ), locked AS MATERIALIZED (
      SELECT segment, destination, ${bits} AS bits FROM progress
      WHERE (segment, destination) IN (SELECT segment, destination FROM asked) ORDER BY segment, destination FOR UPDATE
    )
    SELECT a.nth, a.segment, CASE row_number() OVER (PARTITION BY a.segment ORDER BY a.nth) WHEN 1 THEN s.about END AS about
    FROM asked a
    JOIN locked l ON l.segment = a.segment AND l.destination = a.destination
    LEFT JOIN segments s ON s.first = a.segment
    WHERE get_bit(l.bits, (a.event - a.segment)::int) = 1 ORDER BY a.nth`;
}

/** By row of `progress`, a text with a 1 for each of these events; it may be shorter than the bit strings. */
export type Masks = {
  readonly segments: readonly number[];
  readonly destinations: readonly string[];
  readonly masks: readonly string[];
};

type Bit = { readonly id: number; readonly segment: number; readonly destination: string };

export function masksOf(bits: readonly Bit[]): Masks {
  const groups = [...Map.groupBy(bits, ({ segment, destination }) => `${segment} ${destination}`).values()];
  return {
    segments: groups.map(([one]) => one?.segment ?? 0),
    destinations: groups.map(([one]) => one?.destination ?? ""),
    masks: groups.map(maskOf),
  };
}

function maskOf(bits: readonly Bit[]): string {
  const indexes = bits.map(({ id, segment }) => id - segment);
  return bitsOf(indexes, Math.max(...indexes) + 1);
}

/** The bits of a mask `m`, for the row `p`. */
export const MASK = "rpad(m.mask, length(p.routed), '0')::varbit";

/** Masks as `m`. */
const FROM_MASKS = `FROM unnest($1::bigint[], $2::text[], $3::text[]) AS m (segment, destination, mask)
  WHERE p.segment = m.segment AND p.destination = m.destination`;

/** The types of the columns of `tried`. */
export const COLUMNS = {
  event: "bigint",
  destination: "text",
  stream: "smallint",
  state: "text",
  due_at: "bigint",
  attempts: "int",
  first_attempt_at: "bigint",
  attempted_at: "bigint",
  stood_still: "bigint",
  settled_at: "bigint",
  url: "text",
  status: "int",
  reason: "text",
  finals: "json",
  accepted_at: "bigint",
  about: "json",
  body: "text",
  log: "json",
  replayed_at: "bigint",
  sum: "bigint",
} as const;

type Row = Readonly<Record<keyof typeof COLUMNS, string | number | null>>;

export function toRow(one: Apart & { readonly about: string }): Row {
  const body = storedBodyFor(one.body, one.destination);
  return {
    event: one.id,
    destination: one.destination,
    stream: one.stream,
    state: one.state,
    due_at: one.dueAt,
    attempts: one.attempts,
    first_attempt_at: one.firstAttemptAt,
    attempted_at: one.attemptedAt,
    stood_still: one.stoodStill,
    settled_at: one.settledAt,
    url: one.url,
    status: one.status,
    reason: one.reason === null ? null : toStored(one.reason),
    finals: one.finals.length === 0 ? null : JSON.stringify(one.finals),
    accepted_at: one.acceptedAt,
    about: one.about,
    body,
    log: one.log === null ? null : JSON.stringify(one.log),
    replayed_at: one.replayedAt,
    sum: checksum(one.about, body),
  };
}

/** The columns for `json_to_recordset`. Those of JSON come as texts, so that what they escape stays escaped. */
export const AS_TEXT = Object.entries(COLUMNS)
  .map(([name, type]) => `${name} ${type === "json" ? "text" : type}`)
  .join(", ");

const WRITE = {
  waiting: `WITH cleared AS (
      UPDATE progress p SET waiting = p.waiting & ~${MASK}, settled_at = greatest(p.settled_at, $4),
        done = bit_count(p.waiting & ~${MASK}) = 0 ${FROM_MASKS}
    ) ${insert("$5")}`,
  delivered: `WITH cleared AS (UPDATE progress p SET delivered = p.delivered & ~${MASK} ${FROM_MASKS}) ${insert("$4")}`,
};

function insert(rows: string): string {
  const cast = Object.entries(COLUMNS).map(([name, type]) => `${name}::${type}`);
  return `INSERT INTO tried (${Object.keys(COLUMNS).join(", ")})
    SELECT ${cast.join(", ")} FROM json_to_recordset(${rows}::json) AS r (${AS_TEXT})`;
}

/** What is known of a delivery that was never tried. */
export const UNTRIED: Omit<Apart, "id" | "destination" | "stream" | "segment" | "acceptedAt" | "body" | "dueAt"> = {
  state: "waiting",
  attempts: 0,
  firstAttemptAt: null,
  attemptedAt: null,
  stoodStill: 0,
  settledAt: null,
  url: null,
  status: null,
  reason: null,
  finals: [],
  log: null,
  replayedAt: null,
};
