/** An outbox on SQLite as one end of a copy from or to another engine. */
import { crc32 } from "node:zlib";
import type { Report } from "../../model/report.ts";
import type { Ms } from "../../model/units.ts";
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
  type Row,
  type Seen,
  type SegmentRow,
  shiftLog,
  shiftTakers,
  type Table,
  type Totals,
} from "../copying/rows.ts";
import { KEY_BYTES } from "../message-key.ts";
import { checksum, countLetter, damaged, parseAbout } from "../segment.ts";
import type { Tx } from "./commits.ts";
import { createCounts } from "./counts.ts";
import type { Database } from "./driver.ts";
import { readMemory } from "./meta.ts";
import { createRepeats } from "./repeats.ts";
import { fromStoredId, toStoredId } from "./suppressed.ts";
import { createTail } from "./tail.ts";

/** `db`: of an outbox that nobody else has open. Throws if its newest events are damaged. */
export function createSqliteSource(db: Database, name: string): Source {
  foldTail(db);
  // Rows have times of the store's own line, other engines those of the clock.
  const shift = readMemory(db)?.shift ?? 0;
  return {
    name,
    isUnfinished: async () => readMark(db) !== null,
    identity: async () => fingerprint(readSecrets(db).salt),
    // The first transaction of each daemon writes there.
    state: async () => fingerprint(JSON.stringify(db.prepare("SELECT name, value FROM meta ORDER BY name").all())),
    secrets: async () => readSecrets(db),
    count: async (part) => numberFrom(db, countOf(part)),
    batches: (part, skip) => readPart(db, part, { skip, shift }),
    totals: async () => readTotals(db),
    nextEvent: async () => Math.max(...NEXT_EVENTS.map((query) => numberFrom(db, query))),
    now: async () => (readMemory(db)?.at ?? 0) + shift,
  };
}

/** The newest segments get the rows that the others have. Damage in them is not copied in silence. */
function foldTail(db: Database): void {
  const report: Pick<Report, "storeFailed"> = {
    storeFailed(_doing, error) {
      throw error;
    },
  };
  const counts = createCounts(db);
  const tail = createTail(db, { counts, repeats: createRepeats(db), report });
  if (tail.isEmpty()) return;
  db.transaction(() => {
    const tx = { now: 0 } as Tx;
    tail.fold(tx);
    counts.write(tx);
  })();
}

function readSecrets(db: Database): Secrets {
  const read = (table: string): string => String(db.prepare(`SELECT value FROM ${table}`).pluck().get());
  return { salt: read("salt"), callKey: read("call_key") };
}

function numberFrom(db: Database, query: string): number {
  return Number(db.prepare<[], number | null>(query).pluck().get() ?? 0);
}

const NEXT_EVENTS: readonly string[] = [
  "SELECT 1",
  "SELECT max(first + events) FROM segments",
  "SELECT value FROM meta WHERE name = 'next_event'",
  ...EVENTS.map(([table, column]) => `SELECT max(${column}) + 1 FROM ${table}`),
];

function countOf(part: Part): string {
  if (part === "seen") return `SELECT sum(length(keys)) / ${KEY_BYTES} FROM seen`;
  return `SELECT count(*) FROM ${part === "segments" ? part : part.name}`;
}

type From = { readonly skip: number; readonly shift: Ms };

async function* readPart(db: Database, part: Part, from: From): AsyncGenerator<Batch> {
  if (part === "segments") {
    for (const rows of inBatches(readSegments(db, from), batchSize(part))) yield { part, rows };
  } else if (part === "seen") {
    for (const rows of inBatches(readSeen(db, from), batchSize(part))) yield { part, rows };
  } else {
    for (const rows of inBatches(readTable(db, part, from), batchSize(part))) yield { part, rows };
  }
}

function* inBatches<T>(rows: Iterable<T>, size: number): Generator<readonly T[]> {
  let batch: T[] = [];
  for (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

type StoredSegment = Omit<SegmentRow, "routes" | "about" | "bodies" | "sum"> & {
  readonly settledAt: number | null;
  readonly about: string | null;
  readonly bodies: string | Buffer;
  readonly sum: number | null;
};
type StoredRoute = { readonly destination: string; readonly states: string; readonly takers: string };

function* readSegments(db: Database, { skip, shift }: From): Generator<SegmentRow> {
  const segments = db.prepare<[number], StoredSegment>(
    `SELECT first, events, accepted_at AS acceptedAt, settled_at AS settledAt, about, bodies, sum
     FROM segments LEFT JOIN contents ON segment = first ORDER BY first LIMIT -1 OFFSET ?`,
  );
  const routes = db.prepare<[number], StoredRoute>(
    "SELECT destination, states, settled AS takers FROM progress WHERE segment = ? ORDER BY destination",
  );
  for (const { settledAt, about, bodies, sum, ...segment } of segments.iterate(skip)) {
    if (about === null) throw damaged(segment.first, "it has no contents");
    // Damage goes along, and is found there as here. Only what is no JSON cannot be stored everywhere.
    if (sum !== null && sum !== checksum(about, bodies)) parseAbout(segment.first, about);
    yield {
      ...segment,
      about,
      bodies,
      sum: sum ?? checksum(about, bodies),
      acceptedAt: segment.acceptedAt + shift,
      routes: routes.all(segment.first).map(({ destination, states, takers }) => ({
        destination,
        states,
        takers: shiftTakers(takers, shift),
        settledAt: settledAt !== null && /[dt]/.test(states) ? settledAt + shift : null,
      })),
    };
  }
}

type StoredKeys = { readonly at: number; readonly keys: Buffer };

function* readSeen(db: Database, { skip, shift }: From): Generator<Seen> {
  let left = skip;
  const rows = db.prepare<[], StoredKeys>("SELECT seen_at AS at, keys FROM seen ORDER BY first");
  for (const { at, keys } of rows.iterate()) {
    for (let start = 0; start < keys.length; start += KEY_BYTES) {
      left -= 1;
      if (left < 0) yield { key: keys.subarray(start, start + KEY_BYTES), at: at + shift };
    }
  }
}

function* readTable(db: Database, { name, key, columns }: Table, { skip, shift }: From): Generator<Row> {
  const names = Object.keys(columns).map(quoted);
  const rows = db.prepare<[number], Row>(
    `SELECT ${names.join(", ")} FROM ${name} ORDER BY ${key.map(quoted).join(", ")} LIMIT -1 OFFSET ?`,
  );
  for (const row of rows.iterate(skip)) {
    const cells = Object.entries(columns).map(([column, kind]) => [column, fromCell(row[column] ?? null, kind, shift)]);
    const read: Row = Object.fromEntries(cells);
    yield name === "tried" && read.sum === null ? { ...read, sum: sumOf(read) } : read;
  }
}

/** Rows of development versions have none. */
function sumOf({ about, body }: Row): number {
  return checksum(String(about), String(body));
}

function quoted(column: string): string {
  return `"${column}"`;
}

function fromCell(cell: Cell, kind: Kind, shift: Ms): Cell {
  if (cell === null) return null;
  if (kind === "time") return Number(cell) + shift;
  if (kind === "log") return shiftLog(String(cell), shift);
  if (kind === "id") return fromStoredId(String(cell));
  return kind === "flag" ? cell !== 0 : cell;
}

function toCell(cell: Cell, kind: Kind): Cell {
  if (cell === null) return null;
  if (kind === "id") return toStoredId(String(cell));
  return kind === "flag" ? Number(cell) : cell;
}

function readTotals(db: Database): Totals {
  const deliveries = db.prepare<[], Count>(
    `SELECT destination, 'waiting' AS state, sum(waiting) AS count FROM progress GROUP BY 1
     UNION ALL SELECT destination, 'delivered', sum(length(states) - length(replace(states, 'd', ''))) FROM progress GROUP BY 1
     UNION ALL SELECT destination, state, count(*) FROM tried GROUP BY 1, 2`,
  );
  const sums = new Map<string, Count>();
  for (const one of deliveries.all()) {
    const name = JSON.stringify([one.destination, one.state]);
    sums.set(name, { ...one, count: one.count + (sums.get(name)?.count ?? 0) });
  }
  return { events: numberFrom(db, "SELECT sum(events) FROM segments"), deliveries: [...sums.values()] };
}

/** `db`: of a new outbox that has another name until the copy is finished, so that no daemon opens it. */
export function createSqliteTarget(db: Database, name: string): Target {
  const insertSegment = createInsertSegment(db);
  const save = db.prepare<[string, number]>(
    "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
  );

  function saveAll(values: Readonly<Record<string, number>>): void {
    for (const [key, value] of Object.entries(values)) save.run(key, value);
  }

  return {
    name,
    mark: async () => readMark(db),
    isEmpty: async () => ["segments", "contents", "tried"].every((table) => numberFrom(db, countRows(table)) === 0),
    // Its lock keeps all others away.
    isInUse: async () => false,
    begin: async (mark, { salt, callKey }) =>
      inTransaction(db, () => {
        db.prepare("UPDATE salt SET value = ?").run(salt);
        db.prepare("UPDATE call_key SET value = ?").run(callKey);
        saveAll(toMeta(mark));
      }),
    write: async ({ part, rows }, mark) =>
      inTransaction(db, () => {
        if (part === "segments") rows.forEach(insertSegment);
        else if (part === "seen") insertSeen(db, rows);
        else insertRows(db, part, rows);
        saveAll(toMeta(mark));
      }),
    totals: async () => readTotals(db),
    finish: async ({ totals, nextEvent, now }) =>
      inTransaction(db, () => {
        insertCounts(db, totals);
        // The line of this store begins as that of the clock.
        saveAll({ next_event: nextEvent, last_at: now, wall_ahead: 0, trusted_at: now, trusted_wall: now });
        saveAll({ boot: 0, uptime: 0 });
        db.exec("DELETE FROM meta WHERE name LIKE 'copy\\_%' ESCAPE '\\'");
      }),
  };
}

function inTransaction(db: Database, run: () => void): void {
  db.transaction(run).immediate();
}

function countRows(table: string): string {
  return `SELECT count(*) FROM ${table}`;
}

function toMeta({ source, state, part, rows }: Mark): Readonly<Record<string, number>> {
  return { copy_source: source, copy_state: state, copy_part: part, copy_rows: rows };
}

function readMark(db: Database): Mark | null {
  const rows = db.prepare<[], { name: string; value: number }>("SELECT name, value FROM meta").all();
  const {
    copy_source: source,
    copy_state: state = 0,
    copy_part: part = 0,
    copy_rows: done = 0,
  } = Object.fromEntries(rows.map(({ name, value }): [string, number | undefined] => [name, value]));
  return source === undefined ? null : { source, state, part, rows: done };
}

function createInsertSegment(db: Database): (segment: SegmentRow) => void {
  const insertSegment = db.prepare<[number, number, number, number, number | null]>(
    "INSERT INTO segments (first, events, accepted_at, open, settled_at) VALUES (?, ?, ?, ?, ?)",
  );
  const insertContents = db.prepare<[number, string, string | Buffer, number, string, number]>(
    "INSERT INTO contents (segment, about, bodies, sum, tail, tail_sum) VALUES (?, ?, ?, ?, ?, ?)",
  );
  const insertProgress = db.prepare<[number, string, number, string, string]>(
    "INSERT INTO progress (segment, destination, waiting, states, settled) VALUES (?, ?, ?, ?, ?)",
  );
  return function insert({ first, events, acceptedAt, about, bodies, sum, routes }) {
    const waiting = routes.map(({ states }) => countLetter(states, "w"));
    const open = waiting.reduce((all, one) => all + one, 0);
    const settledAt = Math.max(0, ...routes.map((one) => one.settledAt ?? 0)) || null;
    // What nobody is to get is settled at once.
    insertSegment.run(first, events, acceptedAt, open, settledAt ?? (open === 0 ? acceptedAt : null));
    insertContents.run(first, about, bodies, sum, FOLDED, crc32(FOLDED));
    routes.forEach(({ destination, states, takers }, nth) => {
      insertProgress.run(first, destination, waiting[nth] ?? 0, states, takers);
    });
  };
}

/** The column `tail` of a segment that has rows. */
const FOLDED = "{}";

/** Keys in a row, as in repeats.ts. */
const ROW_KEYS = 250;

/** The keys come by time. Those of one moment share rows. */
function insertSeen(db: Database, seen: readonly Seen[]): void {
  let first = numberFrom(db, `SELECT first + length(keys) / ${KEY_BYTES} FROM seen ORDER BY first DESC LIMIT 1`) || 1;
  const insert = db.prepare<[number, number, Buffer]>("INSERT INTO seen (first, seen_at, keys) VALUES (?, ?, ?)");
  for (let start = 0; start < seen.length; ) {
    const at = seen[start]?.at ?? 0;
    let end = start + 1;
    while (end < start + ROW_KEYS && seen[end]?.at === at) end += 1;
    insert.run(first, at, Buffer.concat(seen.slice(start, end).map(({ key }) => key)));
    first += end - start;
    start = end;
  }
}

function insertRows(db: Database, { name, key, columns }: Table, rows: readonly Row[]): void {
  const names = Object.keys(columns);
  // SQLite has one character for all lone surrogates, so two users may become one.
  const verb = key.some((column) => columns[column] === "odd") ? "INSERT OR REPLACE" : "INSERT";
  const insert = db.prepare(
    `${verb} INTO ${name} (${names.map(quoted).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
  );
  for (const row of rows) {
    insert.run(...Object.entries(columns).map(([column, kind]) => toCell(row[column] ?? null, kind)));
  }
}

function insertCounts(db: Database, { deliveries }: End["totals"]): void {
  const insert = db.prepare<[string, string, number]>(
    "INSERT INTO counts (destination, state, count) VALUES (?, ?, ?)",
  );
  for (const { destination, state, count } of deliveries) if (count > 0) insert.run(destination, state, count);
}
