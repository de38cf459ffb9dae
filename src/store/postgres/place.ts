import type { At } from "../../model/units.ts";
import type { Draft } from "../draft.ts";
import { KEY_BYTES, type Key } from "../message-key.ts";
import { checksum, packBodies } from "../segment.ts";
import { bitsOf } from "./bits.ts";
import type { Held } from "./claims.ts";
import type { Sql } from "./database.ts";
import { codeOf } from "./errors.ts";

/** What one commit adds to a stream. */
export type Placed = {
  readonly held: Held;
  readonly packed: readonly PackedDraft[];
  /** Of the messageIds that clients chose. */
  readonly keys: readonly Key[];
  readonly now: At;
  /** A messageId that was seen before this is new again. */
  readonly since: At;
};

/**
 * Writes new events in one statement, and so in one round trip: it checks that the stream is still held, notes the messageIds
 * and adds the segments. `refused`: the stream is somebody else's now. `repeated`: one of the messageIds is known. In
 * both cases nothing was written.
 */
export async function place(sql: Sql, placed: Placed): Promise<"placed" | "refused" | "repeated"> {
  try {
    const [row] = await sql.query<{ held: number }>(PLACE, valuesOf(placed));
    return row?.held === 1 ? "placed" : "refused";
  } catch (error) {
    if (codeOf(error) === DIVISION_BY_ZERO) return "repeated";
    throw error;
  }
}

/** A draft in the form in which it is stored. */
export type PackedDraft = Pick<Draft, "first" | "routed"> & {
  readonly events: number;
  readonly about: string;
  readonly bodies: Buffer;
};

export function pack({ first, routed, about, bodies }: Draft): PackedDraft {
  return {
    first,
    routed,
    events: bodies.length,
    about: JSON.stringify(about),
    bodies: Buffer.from(packBodies(bodies)),
  };
}

const DIVISION_BY_ZERO = "22012";

/**
 * The lock of the fence is shared with other appends, and waits for a daemon that takes the stream. The keys are inserted in
 * their order, so that two daemons with the same ones do not wait for each other. Where a key is known, the division fails,
 * and with it the whole statement.
 */
const PLACE = `
  WITH fence AS (SELECT id FROM streams WHERE id = $1 AND epoch = $2 FOR KEY SHARE),
  keys AS (
    INSERT INTO seen SELECT substring($3::bytea FROM n * ${KEY_BYTES} + 1 FOR ${KEY_BYTES}), $5
    FROM fence, generate_series(0, $4::int - 1) n
    ON CONFLICT (key) DO UPDATE SET at = excluded.at WHERE seen.at < $6 RETURNING 1
  ),
  stored AS (
    INSERT INTO segments
    SELECT first, id, events, $5, convert_from(substring($7::bytea FROM start + 1 FOR about), 'UTF8')::json,
      substring($7 FROM start + about + 1 FOR size), sum, about + size
    FROM fence, unnest($8::bigint[], $9::int[], $10::int[], $11::int[], $12::int[], $13::bigint[])
      s (first, events, start, about, size, sum)
  ),
  routed AS (
    INSERT INTO progress (segment, destination, stream, routed, waiting, delivered, done)
    SELECT segment, destination, id, bits::varbit, bits::varbit, bits::varbit & ~(bits::varbit), false
    FROM fence, unnest($14::bigint[], $15::text[], $16::text[]) p (segment, destination, bits)
  )
  SELECT held, 1 / CASE WHEN held = 0 OR noted = $4 THEN 1 ELSE 0 END AS unrepeated
  FROM (SELECT (SELECT count(*) FROM fence) AS held, (SELECT count(*) FROM keys) AS noted) result`;

/** Texts travel as bytes: in an array, `pg` would search them for quotes, and PostgreSQL read them letter by letter. */
function valuesOf({ held, packed, keys, now, since }: Placed): readonly unknown[] {
  const abouts = packed.map(({ about }) => Buffer.from(about));
  const parts = packed.flatMap(({ bodies }, nth) => [abouts[nth] ?? EMPTY, bodies]);
  let end = 0;
  const starts = packed.map(({ bodies }, nth) => {
    const start = end;
    end += (abouts[nth]?.length ?? 0) + bodies.length;
    return start;
  });
  const routes = packed.flatMap(({ first, events, routed }) =>
    [...routed].map(([destination, ones]) => ({ first, destination, bits: bitsOf(ones, events) })),
  );
  return [
    ...[held.stream, held.epoch, Buffer.from(keys.toSorted().join(""), "latin1"), keys.length, now, since],
    ...[Buffer.concat(parts), packed.map(({ first }) => first), packed.map(({ events }) => events)],
    ...[starts, abouts.map(({ length }) => length)],
    ...[packed.map(({ bodies }) => bodies.length), packed.map(({ about, bodies }) => checksum(about, bodies))],
    ...[routes.map(({ first }) => first), routes.map(({ destination }) => destination), routes.map(({ bits }) => bits)],
  ];
}

const EMPTY = Buffer.alloc(0);

/** Which of these are known since then. */
export async function findSeen(sql: Sql, keys: readonly Key[], since: At): Promise<ReadonlySet<Key>> {
  const rows = await sql.query<{ key: Buffer }>(
    `SELECT key FROM seen WHERE key IN (
       SELECT substring($1::bytea FROM n * ${KEY_BYTES} + 1 FOR ${KEY_BYTES}) FROM generate_series(0, $2::int - 1) n
     ) AND at >= $3`,
    [Buffer.from(keys.join(""), "latin1"), keys.length, since],
  );
  return new Set(rows.map(({ key }) => key.toString("latin1")));
}

/** Whether a segment that begins with this number was written. */
export async function isPlaced(sql: Sql, first: number): Promise<boolean> {
  return (await sql.query("SELECT FROM segments WHERE first = $1", [first])).length > 0;
}
