import { isFault } from "../../model/fault.ts";
import type { DaemonAbout } from "../../model/ports.ts";
import type { Announcement, SharedDaemon, SharedStream, Sharing } from "../../model/sharing.ts";
import type { Engine } from "./engine.ts";

/** What operators see of the daemons that share the outbox, and what the daemons tell each other. */
export function createSharing({ db, name, pace, streams, write, news, tell }: Engine): Sharing {
  for (const kind of ANNOUNCED) news.on(kind, (what) => tell(what as Announcement));
  return {
    async daemons() {
      const rows = await db.query<Row>(KNOWN, [pace.silence]);
      const all = rows.map((row) => describe(row, name));
      return all.sort((one, other) => one.startedAt - other.startedAt || (one.name < other.name ? -1 : 1));
    },
    leads: streams.leads,
    streams: () => streams.held().size,
    beatAt: streams.beatAt,
    alive: streams.alive,
    async announce(what) {
      const refused = await write(DOING[what.kind], (tx) => news.announce(tx, what.kind, what));
      return isFault(refused) ? refused : null;
    },
  };
}

const DOING = {
  retry: "tell the other daemons to try a destination",
  holds: "tell the other daemons about a Retry-After",
} as const satisfies Record<Announcement["kind"], string>;
const ANNOUNCED = ["retry", "holds"] as const;

type Row = {
  readonly name: string;
  /** JSON. */
  readonly about: string;
  readonly silentFor: number;
  readonly alive: boolean;
  readonly leads: boolean | null;
  readonly streams: readonly number[];
  readonly waiting: readonly number[];
};

const KNOWN = `
  SELECT d.id AS name, d.about, greatest(0, now.at - d.beat_at) AS "silentFor", d.beat_at >= now.at - $1 AS alive,
    (SELECT l.holder = d.id AND l.beat_at >= now.at - $1 FROM leases l WHERE l.name = 'work') AS leads, held.streams, held.waiting
  FROM (SELECT the_time() AS at) now, daemons d, LATERAL (
    SELECT coalesce(array_agg(s.id ORDER BY s.id), '{}') AS streams, coalesce(array_agg(w.count ORDER BY s.id), '{}') AS waiting
    FROM streams s, LATERAL (
      SELECT greatest(0, coalesce(sum(c.count), 0))::bigint AS count FROM counts c WHERE c.stream = s.id AND c.state = 'waiting'
    ) w WHERE s.holder = d.id
  ) held`;

function describe({ name, about, silentFor, alive, leads, streams, waiting }: Row, own: string): SharedDaemon {
  const { version = "", host = "", pid = 0, startedAt = 0 } = JSON.parse(about) as Partial<DaemonAbout>;
  const held = streams.map((id, nth): SharedStream => ({ id, waiting: waiting[nth] ?? 0 }));
  return {
    name,
    version,
    host,
    pid,
    startedAt,
    self: name === own,
    silentFor,
    alive,
    leads: leads === true,
    streams: held,
  };
}
