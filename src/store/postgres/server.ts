import type { Clock } from "../../model/ports.ts";
import { formatDuration, type Ms, SECOND } from "../../model/units.ts";
import type { Sql } from "./database.ts";

/** What is of interest of a server, and of the role and the database that the daemon uses. */
export type ServerFacts = {
  readonly version: string;
  /** As 16. */
  readonly major: number;
  readonly fsync: boolean;
  readonly fullPageWrites: boolean;
  /** As it is set for the role, without what the daemon sets for its own sessions. */
  readonly synchronousCommit: string;
  /** Standbys that commits do not wait for. */
  readonly asynchronousStandbys: number;
  /** How many connections the role may have to the database. */
  readonly room: number;
  /** How far its clock is ahead of this machine's. */
  readonly ahead: Ms;
  /** How long it takes to be asked and to answer. */
  readonly roundTrip: Ms;
};

/** What may cost data or hold up calls. `code`: stable, for programs. */
export type Doubt = { readonly code: string; readonly what: string; readonly remedy: string };

/** The columns of `pg_stat_replication` are null for roles that may not see them. Subscribers of changes are no standbys. */
const FACTS = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int / 10000 AS major,
    current_setting('fsync')::bool AS fsync, current_setting('full_page_writes')::bool AS "fullPageWrites",
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS "synchronousCommit",
    CASE WHEN current_setting('synchronous_standby_names') <> '' THEN 0 ELSE
      (SELECT count(*) FROM pg_stat_replication r WHERE state IS DISTINCT FROM 'backup' AND NOT EXISTS (
        SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'
      )) END AS "asynchronousStandbys",
    least(
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        - coalesce(current_setting('reserved_connections', true)::int, 0),
      (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
      (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())
    ) AS room`;

export async function readServer(sql: Sql, clock: Pick<Clock, "now" | "wall">): Promise<ServerFacts> {
  const [facts] = await sql.query<Omit<ServerFacts, "ahead" | "roundTrip">>(FACTS);
  if (!facts) throw new Error("the server does not report its settings");
  const readings: Reading[] = [];
  for (let n = 0; n < READINGS; n += 1) readings.push(await readClock(sql, clock));
  const fastest = readings.reduce((best, one) => (one.roundTrip < best.roundTrip ? one : best));
  return { ...facts, ...fastest };
}

type Reading = Pick<ServerFacts, "ahead" | "roundTrip">;

/** The first ones take longer: the server has nothing prepared yet. */
const READINGS = 5;

async function readClock(sql: Sql, clock: Pick<Clock, "now" | "wall">): Promise<Reading> {
  const startedAt = clock.now();
  const [time] = await sql.query<{ at: number }>("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS at");
  const roundTrip = clock.now() - startedAt;
  return { roundTrip, ahead: (time?.at ?? 0) + roundTrip / 2 - clock.wall() };
}

/** `connections`: how many a daemon has at most; `daemons`: how many there are. */
export type Users = { readonly connections: number; readonly daemons: number };

/** The newest version that Fairlead is tested with. */
const NEWEST = 18;
const LARGEST_DIFFERENCE: Ms = 5 * SECOND;
/** Each call waits for at least one round trip. */
const SLOW: Ms = 20;

export function judgeServer(facts: ServerFacts, users: Users): readonly Doubt[] {
  return [...judgeDurability(facts), ...judgeVersion(facts), ...judgeClock(facts), ...judgeRoom(facts, users)];
}

function judgeDurability(facts: ServerFacts): readonly Doubt[] {
  const found: Doubt[] = [];
  for (const [name, isOn] of Object.entries({ fsync: facts.fsync, full_page_writes: facts.fullPageWrites })) {
    if (isOn) continue;
    const what = `the server runs with ${name}=off: a power cut can lose or damage everything in it`;
    found.push({ code: `${name}_off`, what, remedy: `set ${name}=on in postgresql.conf` });
  }
  if (facts.synchronousCommit === "off") {
    const what =
      "synchronous_commit is off for the role; the daemon turns it on for its sessions, because acknowledged calls could be lost";
    found.push({
      code: "synchronous_commit_off",
      what,
      remedy: "set it to on for the role, its database or the server",
    });
  }
  if (facts.asynchronousStandbys > 0) {
    const what = "the server has a standby that commits do not wait for: a failover to it can lose acknowledged calls";
    const remedy =
      "name the standby in synchronous_standby_names; with two of them, 'ANY 1 (…)' tolerates the loss of one";
    found.push({ code: "standby_asynchronous", what, remedy });
  }
  return found;
}

function judgeVersion({ version, major }: ServerFacts): readonly Doubt[] {
  if (major <= NEWEST) return [];
  const what = `the server is PostgreSQL ${version}, and this Fairlead is tested with 14 to ${NEWEST}`;
  return [{ code: "server_untested", what, remedy: "look for a newer Fairlead" }];
}

function judgeClock({ ahead, roundTrip }: ServerFacts): readonly Doubt[] {
  const found: Doubt[] = [];
  if (Math.abs(ahead) > LARGEST_DIFFERENCE + roundTrip) {
    const what = `the server's clock is ${formatDuration(Math.abs(ahead))} ${ahead > 0 ? "ahead of" : "behind"} this machine's`;
    found.push({
      code: "server_clock_differs",
      what,
      remedy: "let a time service set both (systemd-timesyncd, chrony)",
    });
  }
  if (roundTrip > SLOW) {
    const what = `the server takes ${Math.round(roundTrip)} ms to answer, and each call waits for that at least once`;
    found.push({ code: "server_far", what, remedy: "run the daemon closer to it" });
  }
  return found;
}

/** For VACUUM. */
const MORE_CONNECTIONS = 1;

/** In a rolling restart there may be one daemon more. */
function judgeRoom({ room }: ServerFacts, { connections, daemons }: Users): readonly Doubt[] {
  const each = connections + MORE_CONNECTIONS;
  const wanted = each * (daemons + 1);
  if (wanted <= room) return [];
  const have = `${daemons} ${daemons === 1 ? "daemon has" : "daemons have"} up to ${each} connections each`;
  const what = `${have}, and with one more that is ${wanted}, where the role may have ${room}`;
  const remedy = "raise max_connections, or the limit of the role or the database; or lower outbox.connections";
  return [{ code: "connections_few", what, remedy }];
}
