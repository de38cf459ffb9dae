import type { Clock } from "../../model/ports.ts";
import type { Report } from "../../model/report.ts";
import type { Announcement } from "../../model/sharing.ts";
import { HOUR, type Ms } from "../../model/units.ts";
import type { Pace } from "./claims.ts";
import type { Database, Tx } from "./database.ts";

/** How long news are kept. A daemon that was cut off for longer begins again from what the tables say. */
const KEPT: Ms = HOUR;

/** What daemons tell each other. */
export type Kind =
  /** Waiting deliveries have changed their queue or destination. */
  | "moved"
  /** These deliveries wait no more; what: their event and destination. */
  | "withdrawn"
  /** The users whose calls are refused are others. */
  | "suppressed"
  /** Users were deleted; what: the hashes under which lists that are being read leave them out. */
  | "forgotten"
  /** Clocks of destinations have changed, such as by a pause. */
  | "clocks"
  /** There is work that one daemon does for all. */
  | "work"
  /** What daemons announce through the port `Sharing`; what: all of it. */
  | Announcement["kind"];

export type News = {
  /** Tells the other daemons, with the commit of the transaction. */
  announce(tx: Tx, kind: Kind, what?: unknown): Promise<void>;
  /**
   * Calls `hear` with each piece of news of this kind that another daemon has announced; with `own`, also of this one: it may
   * have committed what it does not know to be committed. `missed` is called when news are gone that this daemon has not read.
   */
  on(kind: Kind, hear: Hear, options?: { readonly own?: boolean; readonly missed?: () => Promise<void> | void }): void;
  /** Reads what is new. Rejects when the database fails. */
  look(): Promise<void>;
  /** Up to which version it has read. */
  seen(): number;
  /** Looks again and again until the signal is aborted. */
  watch(signal: AbortSignal): Promise<void>;
};

type Hear = (what: unknown) => Promise<void> | void;
type Listener = { readonly hear: Hear; readonly own: boolean; readonly missed: () => Promise<void> | void };

type NewsParts = {
  readonly db: Database;
  /** The name of this daemon. */
  readonly name: string;
  readonly pace: Pick<Pace, "look">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly report: Pick<Report, "storeFailed">;
};

type Item = { readonly version: number; readonly kind: Kind; readonly what: string };

export async function openNews({ db, name, pace, clock, report }: NewsParts): Promise<News> {
  const [control] = await db.query<{ version: number }>("SELECT version FROM control");
  const hearing = new Map<Kind, Listener>();
  let seen = control?.version ?? 0;

  return {
    async announce(tx, kind, what = null) {
      await tx.query(
        `WITH next AS (UPDATE control SET version = version + 1 RETURNING version)
         INSERT INTO news SELECT version, the_time(), $1, $2, $3::json FROM next`,
        [name, kind, JSON.stringify(what)],
      );
      await tx.query("DELETE FROM news WHERE at < the_time() - $1", [KEPT]);
    },
    on: (kind, hear, { own = false, missed = () => {} } = {}) => void hearing.set(kind, { hear, own, missed }),
    look,
    seen: () => seen,
    async watch(signal) {
      while (!signal.aborted) {
        await clock.sleep(pace.look, signal);
        if (signal.aborted) return;
        await look().catch((error: unknown) => report.storeFailed("read the news of other daemons", error));
      }
    },
  };

  async function look(): Promise<void> {
    const items = await db.query<Item & { by: string }>(
      "SELECT version, by, kind, what FROM news WHERE version > $1 ORDER BY version LIMIT 1000",
      [seen],
    );
    // It was cut off for longer than news are kept.
    if ((items[0]?.version ?? seen) > seen + 1) for (const { missed } of hearing.values()) await missed();
    for (const { version, by, kind, what } of items) {
      const listener = hearing.get(kind);
      if (listener && (by !== name || listener.own)) await listener.hear(JSON.parse(what));
      seen = version;
    }
  }
}
