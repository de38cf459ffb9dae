/** An outbox on PostgreSQL as one end of a copy from or to another engine. */
import { MINUTE } from "../../model/units.ts";
import type { End, Mark, Secrets, Source, Target } from "../copying/copy.ts";
import {
  type Batch,
  batchSize,
  type Cell,
  type Count,
  EVENTS,
  fingerprint,
  type Kind,
  type Part,
  type Route,
  type Row,
  type Seen,
  type SegmentRow,
  type Table,
  type Totals,
} from "../copying/rows.ts";
import { MOST_EVENTS } from "../segment.ts";
import { textOrPacked } from "./bits.ts";
import { PACE } from "./claims.ts";
import type { Database, Sql, Tx } from "./database.ts";
import { fromStored, toStored } from "./text.ts";

/** What a daemon says of itself, as JSON, if one is alive; null if none is. */
export async function liveDaemon(sql: Sql): Promise<string | null> {
  const [row] = await sql.query<{ about: string }>(
    "SELECT about FROM daemons WHERE beat_at >= the_time() - $1::bigint LIMIT 1",
    [PACE.silence],
  );
  return row?.about ?? null;
}

/** Whether this outbox is a copy that was not finished. */
export async function isUnfinishedCopy(sql: Sql): Promise<boolean> {
  return (await readMark(sql)) !== null;
}

export function createPostgresSource(db: Database, name: string): Source {
  return {
    name,
    isUnfinished: () => isUnfinishedCopy(db),
    identity: async () => fingerprint((await readSecrets(db)).salt),
    // Each daemon takes a stream when it starts.
    async state() {
      const streams = await db.query("SELECT id, epoch FROM streams ORDER BY id");
      const beats = await db.query("SELECT id, beat_at FROM daemons ORDER BY id");
      return fingerprint(JSON.stringify([streams, beats]));
    },
    secrets: () => readSecrets(db),
    count: (part) => numberFrom(db, `SELECT count(*) AS value FROM ${typeof part === "string" ? part : part.name}`),
    batches: (part, skip) => readPart(db, part, skip),
    totals: () => readTotals(db),
    // The next block is lost here, which costs nothing. The role of a daemon may not look at the sequence.
    nextEvent: async () =>
      Math.max(await numberFrom(db, "SELECT nextval('event_numbers') AS value"), await nextEvent(db)),
    now: () => numberFrom(db, "SELECT the_time() AS value"),
  };
}

async function readSecrets(sql: Sql): Promise<Secrets> {
  const [row] = await sql.query<Secrets>(`SELECT salt, call_key AS "callKey" FROM secrets`);
  return row ?? { salt: "", callKey: "" };
}

async function numberFrom(sql: Sql, query: string): Promise<number> {
  const [row] = await sql.query<{ value: number | null }>(query);
  return row?.value ?? 0;
}

/** The lowest number that no row names. */
async function nextEvent(sql: Sql): Promise<number> {
  let next = 1;
  const columns = EVENTS.map(([table, column]) => `SELECT max(${column}) + 1 AS value FROM ${table}`);
  for (const query of ["SELECT max(first + events) AS value FROM segments", ...columns]) {
    next = Math.max(next, await numberFrom(sql, query));
  }
  return next;
}

async function* readPart(db: Database, part: Part, skip: number): AsyncGenerator<Batch> {
  const size = batchSize(part);
  if (part === "segments") {
    for await (const rows of readSegments(db, skip, size)) yield { part, rows };
  } else if (part === "seen") {
    for await (const rows of readSeen(db, skip, size)) yield { part, rows };
  } else {
    for await (const rows of readTable(db, part, { skip, size })) yield { part, rows };
  }
}

type StoredSegment = Omit<SegmentRow, "routes" | "bodies"> & { readonly bodies: Buffer };
type StoredRoute = Pick<Route, "destination" | "takers" | "settledAt"> & {
  readonly segment: number;
  readonly routed: string;
  readonly waiting: string;
  readonly delivered: string;
};

async function* readSegments(db: Database, skip: number, size: number): AsyncGenerator<readonly SegmentRow[]> {
  const columns = `first, events, accepted_at AS "acceptedAt", about, bodies, sum`;
  const after = `SELECT ${columns} FROM segments WHERE first > $1 ORDER BY first LIMIT ${size}`;
  let rows = await db.query<StoredSegment>(`${after} OFFSET ${skip}`, [0]);
  while (rows.length > 0) {
    const firsts = rows.map(({ first }) => first);
    const routes = await db.query<StoredRoute>(
      `SELECT segment, destination, routed::text AS routed, waiting::text AS waiting, delivered::text AS delivered,
         settled_at AS "settledAt", takers FROM progress WHERE segment = ANY ($1::bigint[]) ORDER BY segment, destination`,
      [firsts],
    );
    const bySegment = Map.groupBy(routes, ({ segment }) => segment);
    yield rows.map(({ bodies, ...segment }) => ({
      ...segment,
      bodies: textOrPacked(bodies),
      routes: (bySegment.get(segment.first) ?? []).map(toRoute),
    }));
    rows = await db.query<StoredSegment>(after, [firsts.at(-1)]);
  }
}

function toRoute({ destination, takers, settledAt, routed, waiting, delivered }: StoredRoute): Route {
  const states = Array.from(routed, (bit, nth) => {
    if (bit === "0") return "-";
    if (waiting[nth] === "1") return "w";
    return delivered[nth] === "1" ? "d" : "t";
  });
  return { destination, takers, settledAt, states: states.join("") };
}

/** Their index finds those of a span of time. There is none for their order, so each span is sorted. */
const SPAN = MINUTE;

async function* readSeen(db: Database, skip: number, size: number): AsyncGenerator<readonly Seen[]> {
  const within = `SELECT key, at FROM seen WHERE (at, key) > ($1::bigint, $2::bytea) AND at >= $1 AND at < $3 ORDER BY at, key
    LIMIT ${size}`;
  const since = "SELECT min(at) AS at FROM seen WHERE (at, key) > ($1::bigint, $2::bytea) AND at >= $1";
  const skipped = `SELECT key, at FROM seen ORDER BY at, key LIMIT 1 OFFSET ${Math.max(0, skip - 1)}`;
  let [last] = skip > 0 ? await db.query<Seen>(skipped) : [{ key: Buffer.alloc(0), at: -1 }];
  while (last) {
    const [next] = await db.query<{ at: number | null }>(since, [last.at, last.key]);
    if (!next || next.at === null) return;
    const end = next.at + SPAN;
    for (;;) {
      const rows: readonly Seen[] = await db.query<Seen>(within, [last.at, last.key, end]);
      if (rows.length > 0) yield rows;
      last = rows.at(-1) ?? last;
      if (rows.length < size) break;
    }
  }
}

type Pages = { readonly skip: number; readonly size: number };

async function* readTable(db: Database, table: Table, { skip, size }: Pages): AsyncGenerator<readonly Row[]> {
  const { name, key, columns } = table;
  const names = Object.keys(columns).map(quoted).join(", ");
  const order = key.map(quoted).join(", ");
  const rest = `ORDER BY ${order} LIMIT ${size}`;
  const after = `SELECT ${names} FROM ${name} WHERE (${order}) > (${key.map((_, nth) => `$${nth + 1}`).join(", ")}) ${rest}`;
  let rows = await db.query<Row>(`SELECT ${names} FROM ${name} ${rest} OFFSET ${skip}`);
  for (;;) {
    const last = rows.at(-1);
    if (!last) return;
    yield rows.map((row) => mapCells(row, columns, fromCell));
    const place = key.map((column) => last[column]);
    rows = await db.query<Row>(after, place);
  }
}

function quoted(column: string): string {
  return `"${column}"`;
}

function mapCells(row: Row, columns: Table["columns"], convert: (cell: Cell, kind: Kind) => Cell): Row {
  return Object.fromEntries(Object.entries(columns).map(([name, kind]) => [name, convert(row[name] ?? null, kind)]));
}

function fromCell(cell: Cell, kind: Kind): Cell {
  return typeof cell === "string" && (kind === "odd" || kind === "id") ? fromStored(cell) : cell;
}

function toCell(cell: Cell, kind: Kind): Cell {
  return typeof cell === "string" && (kind === "odd" || kind === "id") ? toStored(cell) : cell;
}

async function readTotals(sql: Sql): Promise<Totals> {
  const deliveries = await sql.query<Count>(
    `SELECT destination, state, sum(count)::bigint AS count FROM (
       SELECT destination, 'waiting' AS state, sum(bit_count(waiting)) AS count FROM progress GROUP BY 1
       UNION ALL SELECT destination, 'delivered', sum(bit_count(delivered)) FROM progress GROUP BY 1
       UNION ALL SELECT destination, state, count(*) FROM tried GROUP BY 1, 2
     ) AS kept GROUP BY destination, state`,
  );
  return { events: await numberFrom(sql, "SELECT sum(events) AS value FROM segments"), deliveries };
}

/** `db`: with the tables of an outbox, which no daemon has open. */
export function createPostgresTarget(db: Database, name: string): Target {
  return {
    name,
    mark: () => readMark(db),
    isEmpty: () => isEmpty(db),
    isInUse: async () => (await liveDaemon(db)) !== null,
    begin: (mark, secrets) =>
      db.transaction(async (tx) => {
        await saveMark(tx, mark);
        await tx.query("UPDATE secrets SET salt = $1, call_key = $2", [secrets.salt, secrets.callKey]);
        // Nobody holds the stream that all of it goes into: the first daemon takes it.
        await tx.query("INSERT INTO streams VALUES ($1, NULL, 1, 0, false) ON CONFLICT DO NOTHING", [STREAM]);
        await tx.query("UPDATE streams SET holder = NULL, epoch = epoch + 1");
      }),
    write: (batch, mark) =>
      db.transaction(async (tx) => {
        await writeBatch(tx, batch);
        await saveMark(tx, mark);
      }),
    totals: () => readTotals(db),
    async finish(end) {
      await db.transaction((tx) => finish(tx, end));
      // The planner knows nothing of so many new rows.
      await db.query("ANALYZE segments, progress, tried, seen, members");
    },
  };
}

const STREAM = 1;

/** Tables that have rows in every outbox that has taken a call. */
async function isEmpty(sql: Sql): Promise<boolean> {
  const tables = ["segments", "tried", "seen", "deletions", "suppressed", "computations", "clocks"];
  const [row] = await sql.query<{ used: boolean }>(
    `SELECT ${tables.map((table) => `EXISTS (SELECT FROM ${table})`).join(" OR ")} AS used`,
  );
  return row?.used === false;
}

const MARK = ["copy_source", "copy_state", "copy_part", "copy_rows"];

async function readMark(sql: Sql): Promise<Mark | null> {
  const rows = await sql.query<{ name: string; value: number }>("SELECT name, value FROM meta WHERE name = ANY ($1)", [
    MARK,
  ]);
  const values = new Map(rows.map((row) => [row.name, row.value]));
  const [source, state = 0, part = 0, done = 0] = MARK.map((name) => values.get(name));
  return source === undefined ? null : { source, state, part, rows: done };
}

async function saveMark(tx: Tx, { source, state, part, rows }: Mark): Promise<void> {
  await tx.query(
    `INSERT INTO meta SELECT * FROM unnest($1::text[], $2::bigint[]) m (name, value)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [MARK, [source, state, part, rows]],
  );
}

function writeBatch(tx: Tx, batch: Batch): Promise<void> {
  if (batch.part === "segments") return writeSegments(tx, batch.rows);
  if (batch.part === "seen") return writeSeen(tx, batch.rows);
  return writeRows(tx, batch.part, batch.rows);
}

async function writeSegments(tx: Tx, segments: readonly SegmentRow[]): Promise<void> {
  const bodies = segments.map((one) => Buffer.from(one.bodies));
  await tx.query(
    `INSERT INTO segments (first, stream, events, accepted_at, about, bodies, sum, bytes)
     SELECT first, ${STREAM}, events, at, about::json, bodies, sum, octet_length(bodies) + octet_length(about)
     FROM unnest($1::bigint[], $2::int[], $3::bigint[], $4::text[], $5::bytea[], $6::bigint[]) s (first, events, at, about, bodies, sum)`,
    [
      ...[segments.map(({ first }) => first), segments.map(({ events }) => events)],
      ...[segments.map(({ acceptedAt }) => acceptedAt), segments.map(({ about }) => about)],
      ...[bodies, segments.map(({ sum }) => sum)],
    ],
  );
  const routes = segments.flatMap(({ first, routes: ofOne }) => ofOne.map((route) => ({ ...route, first })));
  await tx.query(
    `INSERT INTO progress (segment, destination, stream, routed, waiting, delivered, settled_at, takers, done)
     SELECT segment, destination, ${STREAM}, routed::varbit, waiting::varbit, delivered::varbit, at, takers, waiting !~ '1'
     FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[])
       p (segment, destination, routed, waiting, delivered, at, takers)`,
    [
      ...[routes.map(({ first }) => first), routes.map(({ destination }) => destination)],
      ...["wdt", "w", "d"].map((letters) => routes.map(({ states }) => bitsWith(states, letters))),
      ...[routes.map(({ settledAt }) => settledAt), routes.map(({ takers }) => takers)],
    ],
  );
}

/** A bit for each letter: whether it is one of these. */
function bitsWith(states: string, letters: string): string {
  return Array.from(states, (letter) => (letters.includes(letter) ? "1" : "0")).join("");
}

/** A messageId that came again after 24 hours is there twice: the last one counts. */
async function writeSeen(tx: Tx, seen: readonly Seen[]): Promise<void> {
  await tx.query(
    `INSERT INTO seen SELECT key, max(at) FROM unnest($1::bytea[], $2::bigint[]) s (key, at) GROUP BY key
     ON CONFLICT (key) DO UPDATE SET at = greatest(seen.at, excluded.at)`,
    [seen.map(({ key }) => key), seen.map(({ at }) => at)],
  );
}

/** Columns that only this engine has. */
const OWN: Readonly<Record<string, readonly [column: string, value: string]>> = {
  tried: ["stream", String(STREAM)],
  // Of a daemon that is dead: what it prepares is abandoned.
  syncs: ["daemon", "''"],
};

async function writeRows(tx: Tx, { name, columns }: Table, rows: readonly Row[]): Promise<void> {
  const kinds = Object.entries(columns);
  const cells = rows.map((row) => mapCells(row, columns, toCell));
  const [ownColumn, ownValue] = OWN[name] ?? [null, null];
  const names = kinds.map(([column]) => quoted(column));
  const into = ownColumn === null ? names : [...names, quoted(ownColumn)];
  const values = kinds.map(([column, kind]) => `${quoted(column)}${isJson(kind) ? "::json" : ""}`);
  await tx.query(
    `INSERT INTO ${name} (${into.join(", ")}) ${OVERRIDING[name] ?? ""}
     SELECT ${[...values, ...(ownValue === null ? [] : [ownValue])].join(", ")}
     FROM unnest(${kinds.map(([, kind], nth) => `$${nth + 1}::${typeOf(kind)}[]`).join(", ")}) r (${names.join(", ")})`,
    kinds.map(([column]) => cells.map((row) => row[column] ?? null)),
  );
}

/** Their numbers are kept. */
const NUMBERED = ["computations", "syncs"];
const OVERRIDING = Object.fromEntries(NUMBERED.map((name) => [name, "OVERRIDING SYSTEM VALUE"]));

function isJson(kind: Kind): boolean {
  return kind === "json" || kind === "log";
}

function typeOf(kind: Kind): string {
  if (kind === "number" || kind === "time") return "bigint";
  return kind === "flag" ? "boolean" : "text";
}

async function finish(tx: Tx, { totals, nextEvent: next }: End): Promise<void> {
  const some = totals.deliveries.filter(({ count }) => count > 0);
  await tx.query(`INSERT INTO counts SELECT ${STREAM}, * FROM unnest($1::text[], $2::text[], $3::bigint[])`, [
    some.map(({ destination }) => destination),
    some.map(({ state }) => state),
    some.map(({ count }) => count),
  ]);
  // Blocks begin at 1, 257 and so on. The next one is the first that lies behind all numbers.
  const free = 1 + Math.ceil((next - 1) / MOST_EVENTS) * MOST_EVENTS;
  await tx.query(
    `SELECT setval('event_numbers', $1::bigint, false) FROM event_numbers
     WHERE last_value + CASE WHEN is_called THEN ${MOST_EVENTS} ELSE 0 END < $1::bigint`,
    [free],
  );
  for (const name of NUMBERED) {
    await tx.query(
      `SELECT setval(pg_get_serial_sequence('${name}', 'number'), max(number)) FROM ${name} HAVING max(number) IS NOT NULL`,
    );
  }
  await tx.query("DELETE FROM meta WHERE name = ANY ($1)", [MARK]);
}
