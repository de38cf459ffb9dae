import { neverStopped, type StoredClock, type StoredClocks, totalOf } from "../../model/destination-clock.ts";
import { type Fault, isFault } from "../../model/fault.ts";
import { hasStoodStill, isSameClock, mergeClocks, raiseClock } from "../clock-merge.ts";
import { UNWRITTEN } from "../room.ts";
import type { Sql, Tx } from "./database.ts";
import type { Engine } from "./engine.ts";
import { createTurns } from "./turns.ts";

type Change = { readonly mine: StoredClock; readonly base: StoredClock };

/**
 * The clocks of destinations that have stood still, in the memory of each daemon and in their table. All daemons use them: each
 * learns what another one has saved when it reads the news, which must be open before.
 */
export async function openStoredClocks(engine: Engine): Promise<StoredClocks> {
  const { db, write, news, report, tell } = engine;
  const kept = new Map((await read(db, null)).map((clock) => [clock.destination, clock]));
  const inTurn = createTurns();
  news.on("clocks", (names) => readAgain(names as readonly string[], baseOf), { own: true, missed });

  return {
    all: async () => [...kept.values()],
    refresh,
    async save(clocks) {
      const changes = clocks.map((mine) => ({ mine, base: baseOf(mine.destination) }));
      const refused = await write("save clocks of destinations", (tx) => saveAll(tx, changes, engine));
      if (isFault(refused)) return refused;
      const mine = new Map(clocks.map((clock) => [clock.destination, clock]));
      // If it fails, the news say the same in a second.
      await readAgain([...mine.keys()], (name) => mine.get(name) ?? baseOf(name)).catch((error: unknown) =>
        report.storeFailed("read clocks of destinations", error),
      );
      return null;
    },
  };

  async function refresh(destination: string): Promise<Fault | null> {
    try {
      await readAgain([destination], baseOf);
      return null;
    } catch (error) {
      report.storeFailed("read clocks of destinations", error);
      return UNWRITTEN;
    }
  }

  /**
   * Reads run one after the other, so that each finds what the previous one found, or something newer. The daemon is
   * called with those that differ from what it knows.
   */
  function readAgain(names: readonly string[], known: (name: string) => StoredClock): Promise<void> {
    return inTurn(async () => {
      const rows = new Map((await read(db, names)).map((clock) => [clock.destination, clock]));
      const found = names.map((name) => rows.get(name) ?? neverStopped(name));
      const heard = found.filter((one) => !isSameClock(one, known(one.destination)));
      found.forEach(keep);
      if (heard.length > 0) tell({ kind: "clocks", clocks: heard });
    });
  }

  async function missed(): Promise<void> {
    const stored = await read(db, null);
    await readAgain([...new Set([...kept.keys(), ...stored.map(({ destination }) => destination)])], baseOf);
  }

  function baseOf(name: string): StoredClock {
    return kept.get(name) ?? neverStopped(name);
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

async function saveAll(
  tx: Tx,
  changes: readonly Change[],
  { news, streams }: Pick<Engine, "news" | "streams">,
): Promise<void> {
  const names = changes.map(({ mine }) => mine.destination);
  // It comes first: from then on the others wait who save clocks.
  await news.announce(tx, "clocks", names);
  const stored = new Map((await read(tx, names)).map((clock) => [clock.destination, clock]));
  const others = await tx.query("SELECT FROM streams WHERE holder IS NOT NULL AND id <> ALL ($1) LIMIT 1", [
    [...streams.held().keys()],
  ]);
  const merged = changes.map(({ mine, base }) => {
    // Deliveries of another daemon may need what is forgotten here.
    const kept = others.length > 0 && isLess(mine, base) ? raiseClock(mine, totalOf(base, tx.now), tx.now) : mine;
    const theirs = stored.get(mine.destination) ?? neverStopped(mine.destination);
    return mergeClocks({ base, mine: kept, theirs }, tx.now);
  });
  await writeAll(tx, merged);
}

/** A clock that goes on counts more than before, and nothing else takes away what it has counted. */
function isLess(mine: StoredClock, base: StoredClock): boolean {
  const goesOn = mine.stoppedAt !== null && base.stoppedAt !== null && mine.stoppedAt <= base.stoppedAt;
  return (
    mine.stoodStill < base.stoodStill || (mine.stoodStill === base.stoodStill && base.stoppedAt !== null && !goesOn)
  );
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
