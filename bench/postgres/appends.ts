/** The statement that stores events by itself: what PostgreSQL can take, without a daemon around it. */
import { randomBytes } from "node:crypto";
import { ownEvent } from "../../src/model/event.ts";
import { addTo, newDraft } from "../../src/store/draft.ts";
import { KEY_BYTES } from "../../src/store/message-key.ts";
import { createDatabase } from "../../src/store/postgres/database.ts";
import { prepareSchema } from "../../src/store/postgres/migrate.ts";
import { type PackedDraft, pack, place } from "../../src/store/postgres/place.ts";
import { align } from "../table.ts";
import type { Postgres } from "./database.ts";
import type { PostgresOptions } from "./options.ts";

export type Appended = {
  /** How many random messageIds each segment has. */
  readonly keys: number;
  readonly connections: number;
  readonly eventsPerSecond: number;
  readonly serverMicros: number;
  readonly walBytes: number;
};

const EVENTS = 64;
const CONNECTIONS = 4;
const BODY_BYTES = 400;

export async function measureAppends(options: PostgresOptions, postgres: Postgres): Promise<readonly Appended[]> {
  const appended: Appended[] = [];
  for (const keys of [0, EVENTS])
    for (const connections of [1, CONNECTIONS]) {
      const one = await measureAppend({ keys, connections, seconds: options.seconds }, postgres);
      console.error(`append: ${writeAppended(one).join(", ")}`);
      appended.push(one);
    }
  return appended;
}

type Wanted = Pick<Appended, "keys" | "connections"> & { readonly seconds: number };

async function measureAppend({ keys, connections, seconds }: Wanted, postgres: Postgres): Promise<Appended> {
  const base = await postgres.createBase();
  const db = createDatabase(base.pool, { now: () => Date.now() });
  await prepareSchema(db);
  // As many streams as connections: each is a daemon's.
  await db.query("INSERT INTO streams SELECT n, 'bench', 1, 0, true FROM generate_series(1, $1::int) n", [connections]);
  const packed = packSegment();
  let segments = 0;
  const before = await base.used();
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: connections }, (_, nth) => append(nth + 1)));
  const elapsed = (performance.now() - startedAt) / 1_000;
  const after = await base.used();
  await base.drop();
  const events = segments * EVENTS;
  return {
    keys,
    connections,
    eventsPerSecond: events / elapsed,
    serverMicros: ((after.cpuSeconds - before.cpuSeconds) / events) * 1_000_000,
    walBytes: (after.walBytes - before.walBytes) / events,
  };

  async function append(stream: number): Promise<void> {
    while (performance.now() - startedAt < seconds * 1_000) {
      segments += 1;
      const draft = { ...packed, first: segments * EVENTS };
      const messageIds = Array.from({ length: keys }, () => randomBytes(KEY_BYTES).toString("latin1"));
      const now = Date.now();
      const result = await place(db, { held: { stream, epoch: 1 }, packed: [draft], keys: messageIds, now, since: 0 });
      if (result !== "placed") throw new Error(`a segment was ${result}`);
    }
  }
}

function packSegment(): PackedDraft {
  const draft = newDraft(0, Date.now());
  for (let nth = 0; nth < EVENTS; nth += 1) {
    const event = ownEvent({ type: "track", messageId: crypto.randomUUID(), userId: `user-${nth}`, at: Date.now() });
    const body = JSON.stringify({ ...event, properties: { note: "x".repeat(BODY_BYTES / 2) } });
    addTo(draft, { source: "bench", event, body, deliverTo: ["bench-0"], skipped: [] });
  }
  return pack(draft);
}

export function writeAppends(appended: readonly Appended[]): string {
  const head = [`the statement alone, segments of ${EVENTS}`, "events/s", "server", "log"];
  return align([head, ...appended.map(writeAppended)]);
}

function writeAppended({ keys, connections, eventsPerSecond, serverMicros, walBytes }: Appended): readonly string[] {
  return [
    `${keys} messageIds, ${connections} connection${connections === 1 ? "" : "s"}`,
    `${Math.round(eventsPerSecond).toLocaleString("en-US")} /s`,
    `${serverMicros.toFixed(1)} µs`,
    `${walBytes.toFixed(0)} B`,
  ];
}
