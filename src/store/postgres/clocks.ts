import { neverStopped, type StoredClock, type StoredClocks, totalOf } from "../../model/destination-clock.ts";
import { isFault } from "../../model/fault.ts";
import { hasStoodStill, isSameClock, mergeClocks, raiseClock } from "../clock-merge.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createTurns } from "./turns.ts";

type Change = { readonly mine: StoredClock; readonly base: StoredClock };

/**
 * The clocks of destinations that have stood still, in the memory of each daemon and in their table. All daemons go by them:
 * each hears of what another one has saved when it reads the news, which must be open before.
 */
export async function openStoredClocks(engine: Engine): Promise<StoredClocks> {
  const { db, write, news, report, tell } = engine;
  const kept = new Map((await read(db, null)).map((clock) => [clock.destination, clock]));
  const inTurn = createTurns();
  news.on("clocks", (names) => readAgain(names as readonly string[], []));

  return {
    all: async () => [...kept.values()],
    async save(clocks) {
      const changes = clocks.map((mine) => ({ mine, base: baseOf(mine) }));
      const saved = await write("save clocks of destinations", (tx) => saveAll(tx, changes, engine));
      if (isFault(saved)) return saved;
      const names = clocks.map(({ destination }) => destination);
      await readAgain(names, clocks).catch((error: unknown) => {
        report.storeFailed("read clocks of destinations", error);
        saved.forEach(keep);
      });
      return null;
    },
  };

  /** Reads are made in turn, so that each finds what the one before has found, or something newer. `known`: to the daemon. */
  function readAgain(names: readonly string[], known: readonly StoredClock[]): Promise<void> {
    return inTurn(async () => {
      const rows = new Map((await read(db, names)).map((clock) => [clock.destination, clock]));
      const found = names.map((name) => rows.get(name) ?? neverStopped(name));
      found.forEach(keep);
      const heard = found.filter((one) => !known.some((other) => isSameClock(one, other)));
      if (heard.length > 0) tell({ kind: "clocks", clocks: heard });
    });
  }

  function baseOf({ destination }: StoredClock): StoredClock {
    return kept.get(destination) ?? neverStopped(destination);
  }

  function keep(clock: StoredClock): void {
    if (hasStoodStill(clock)) kept.set(clock.destination, clock);
    else kept.delete(clock.destination);
  }
}

/** The clocks of these destinations; null: all. */
function read(sql: Sql, names: readonly string[] | null): Promise<readonly StoredClock[]> {
  return sql.query(
    `SELECT destination, paused_at AS "pausedAt", unserved_at AS "unservedAt", offline_at AS "offlineAt",
       stopped_at AS "stoppedAt", stood_still AS "stoodStill"
     FROM clocks WHERE $1::text[] IS NULL OR destination = ANY ($1) ORDER BY destination`,
    [names],
  );
}

/** Answers the clocks as they are now, in the same order. */
async function saveAll(
  tx: Tx,
  changes: readonly Change[],
  { news, streams }: Pick<Engine, "news" | "streams">,
): Promise<readonly StoredClock[]> {
  const names = changes.map(({ mine }) => mine.destination);
  // It comes first: from then on the others wait who save clocks.
  await news.announce(tx, "clocks", names);
  const stored = new Map((await read(tx, names)).map((clock) => [clock.destination, clock]));
  const others = await tx.query("SELECT FROM streams WHERE holder IS NOT NULL AND id <> ALL ($1) LIMIT 1", [
    [...streams.held().keys()],
  ]);
  const merged = changes.map(({ mine, base }) => {
    // Deliveries of another daemon may need what is forgotten here.
    const kept = others.length === 0 ? mine : raiseClock(mine, totalOf(base, tx.now), tx.now);
    return mergeClocks(
      { base, mine: kept, theirs: stored.get(mine.destination) ?? neverStopped(mine.destination) },
      tx.now,
    );
  });
  await writeAll(tx, merged);
  return merged;
}

async function writeAll(tx: Tx, clocks: readonly StoredClock[]): Promise<void> {
  const [gone, rows] = [clocks.filter((one) => !hasStoodStill(one)), clocks.filter(hasStoodStill)];
  await tx.query("DELETE FROM clocks WHERE destination = ANY ($1)", [gone.map(({ destination }) => destination)]);
  await tx.query(
    `INSERT INTO clocks
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
     ON CONFLICT (destination) DO UPDATE SET paused_at = excluded.paused_at, unserved_at = excluded.unserved_at,
       offline_at = excluded.offline_at, stopped_at = excluded.stopped_at, stood_still = excluded.stood_still`,
    [
      ...[rows.map(({ destination }) => destination), rows.map(({ pausedAt }) => pausedAt)],
      ...[rows.map(({ unservedAt }) => unservedAt), rows.map(({ offlineAt }) => offlineAt)],
      ...[rows.map(({ stoppedAt }) => stoppedAt), rows.map(({ stoodStill }) => stoodStill)],
    ],
  );
}
