import { createHash } from "node:crypto";
import pg from "pg";
import pgpass from "pgpass";
import type { Postgres, PostgresTls } from "../../model/config.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import { PACE } from "./claims.ts";
import type { Connection, Pool } from "./database.ts";
import { ConnectionLost, isLost, isStale } from "./errors.ts";

export type Limits = {
  /** How long the server works at one statement; 0: as long as it takes, as in a migration. */
  readonly statement: Ms;
};

/** Also for a connection of the pool that becomes free. */
const CONNECT_TIMEOUT: Ms = 10 * SECOND;
const STATEMENT_TIMEOUT: Ms = 30 * SECOND;
const LOCK_TIMEOUT: Ms = 10 * SECOND;
/** What a daemon that is suspended within a transaction has locked is free before the others take its streams. */
const IDLE_IN_TRANSACTION: Ms = PACE.silence - SECOND;
const IDLE_CONNECTION: Ms = 60 * SECOND;
const KEEPALIVE_AFTER: Ms = 10 * SECOND;
/** An answer that is later than this does not come: nothing else tells of a network that swallows it. */
const ANSWER_GRACE: Ms = 5 * SECOND;

/** Connections to one database of PostgreSQL, at most `postgres.connections`. They are made when they are needed. */
export function openPool(postgres: Postgres, { statement }: Limits = { statement: STATEMENT_TIMEOUT }): Pool {
  const settings = settingsOf(postgres);
  const pool = new pg.Pool({
    ...settings,
    password: passwordOf(settings),
    max: postgres.connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    idleTimeoutMillis: IDLE_CONNECTION,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_AFTER,
    statement_timeout: statement,
    query_timeout: statement && statement + ANSWER_GRACE,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION,
    onConnect: async (client) => void (await client.query(NEVER_LOST)),
  });
  // Without listeners, a connection that breaks between two queries would end the process. The next query meets the error.
  pool.on("error", () => undefined);
  pool.on("connect", (client) => void client.on("error", () => undefined));
  const nameOf = createNames();
  let ending: Promise<void> | null = null;

  return {
    async connect() {
      const client = await pool.connect().catch((error) => {
        throw new ConnectionLost(cannotConnect(settings, error), { cause: error });
      });
      return createConnection(client, nameOf);
    },
    end() {
      ending ??= pool.end();
      return ending;
    },
  };
}

/** An acknowledged call is on the disk, whatever is set for the role. Transactions that may be lost say so themselves. */
const NEVER_LOST =
  "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

type Client = { query(config: pg.QueryConfig): Promise<pg.QueryResult>; release?: (broken: boolean) => void };

/** A client of `pg` as a connection. `nameOf`: the name of a statement that the server keeps prepared. */
export function createConnection(client: Client, nameOf: NameOf): Connection {
  let usable = true;

  return {
    async query<R>(text: string, values: readonly unknown[] = []) {
      const name = values.length > 0 ? nameOf(text) : undefined;
      try {
        const answer = await client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
        // Several statements have several answers, which the types of `pg` do not know.
        const last = [answer].flat().at(-1) as pg.QueryResult;
        return last.rows as readonly R[];
      } catch (error) {
        const known = error instanceof pg.DatabaseError ? error : new ConnectionLost(whyOf(error), { cause: error });
        if (isLost(known) || isStale(known)) usable = false;
        throw known;
      }
    },
    release: (broken = false) => client.release?.(broken || !usable),
  };
}

export type NameOf = (text: string) => string | undefined;

const MOST_NAMES = 256;
const NAME_LENGTH = 16;

/** Names for the statements that come first, which are those of the program: a text that is made for each call gets none. */
export function createNames(): NameOf {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MOST_NAMES) return known;
    const name = createHash("sha256").update(text).digest("hex").slice(0, NAME_LENGTH);
    names.set(text, name);
    return name;
  };
}

/**
 * A statement is planned when its tables may still be empty, and keeps that plan for a minute or more. Meanwhile thousands of
 * rows come in. All statements have an index; a plan without it would read the whole table for each settlement.
 */
const PLANS = "-c enable_seqscan=off -c jit=off";

/** What is left out is taken by `pg` from PGHOST and its like. */
function settingsOf({ host, port, user, password, database, options, tls }: Postgres): pg.ClientConfig {
  return {
    ...(host === null ? {} : { host }),
    ...(port === null ? {} : { port }),
    ...(user === null ? {} : { user }),
    ...(password === null ? {} : { password: password.reveal() }),
    ...(database === null ? {} : { database }),
    options: withPlans(options),
    ...(tls === null ? {} : { ssl: tls === "off" ? false : tlsOptions(tls) }),
    application_name: "fairlead",
    types: OUR_TYPES,
  };
}

function tlsOptions({ verify, ca, cert, key }: PostgresTls): Exclude<pg.ClientConfig["ssl"], boolean> {
  return {
    rejectUnauthorized: verify !== "none",
    ...(verify === "authority" ? { checkServerIdentity: () => undefined } : {}),
    ...(ca === null ? {} : { ca }),
    ...(cert === null || key === null ? {} : { cert, key: key.reveal() }),
  };
}

/** Ours come first, so that those of the operator, in the config or in PGOPTIONS, win. */
function withPlans(options: string | null): string {
  const client = new pg.Client(options === null ? {} : { options });
  const { connectionParameters: given } = client as unknown as { connectionParameters: { options?: string } };
  return given.options ? `${PLANS} ${given.options}` : PLANS;
}

type Password = Exclude<pg.ClientConfig["password"], undefined>;

/** As libpq: of the config, else of PGPASSWORD, else of the file, which is read for each connection. */
function passwordOf(settings: pg.ClientConfig): Password {
  const { password, host, port, user, database } = new pg.Client(settings);
  return (
    password ??
    (() => new Promise((resolve) => pgpass({ host, port, user, database }, (found) => resolve(found ?? ""))))
  );
}

function cannotConnect(settings: pg.ClientConfig, error: unknown): string {
  const { host, port, user, database } = new pg.Client(settings);
  const where = host.startsWith("/") ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
  const what = `cannot connect to PostgreSQL at ${where} as ${user || "nobody"}`;
  // Without a name, the database is that of the user.
  const which = database ? ` to database ${database}` : "";
  return `${what}${which}: ${whyOf(error)}${user ? "" : "; name a user in the URL, or in PGUSER"}`;
}

/** Some errors of a connection have only a code. */
function whyOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === BUSY) return `no connection became free within ${CONNECT_TIMEOUT / SECOND} s`;
  return error.message || ("code" in error ? String(error.code) : error.name);
}

const BUSY = "timeout exceeded when trying to connect";

/** How a value of the server becomes ours. What is not here stays the text that PostgreSQL makes of it, json as well. */
type Parse = (text: string) => unknown;

const { BOOL, BYTEA, FLOAT4, FLOAT8, INT2, INT4, INT8, NUMERIC, OID, TEXT, VARBIT } = pg.types.builtins;

const HEX_PREFIX = "\\x";

const SCALARS: ReadonlyMap<number, Parse> = new Map([
  [BOOL, (text) => text === "t"],
  [BYTEA, (text) => Buffer.from(text.slice(HEX_PREFIX.length), "hex")],
  // Whatever is counted here stays below 2^53. A sum of bigints is a numeric.
  ...[INT2, INT4, INT8, OID, FLOAT4, FLOAT8, NUMERIC].map((oid): [number, Parse] => [oid, Number]),
]);

const TEXTS: number = 1_009;

/** The types of arrays, and of their elements. */
const ARRAYS: ReadonlyMap<number, number> = new Map([
  [1_000, BOOL],
  [1_001, BYTEA],
  [1_005, INT2],
  [1_007, INT4],
  [TEXTS, TEXT],
  [1_016, INT8],
  [1_231, NUMERIC],
  [1_563, VARBIT],
]);

/** In place of the table of `pg`, which the whole process shares. */
export const OUR_TYPES = { getTypeParser: parserOf } as pg.CustomTypesConfig;

function parserOf(oid: number): Parse {
  const element = ARRAYS.get(oid);
  const parse = SCALARS.get(element ?? oid) ?? asText;
  if (element === undefined) return parse;
  const split: (text: string) => readonly (string | null)[] = pg.types.getTypeParser(TEXTS as number);
  return (text) => split(text).map((one) => (one === null ? null : parse(one)));
}

function asText(text: string): string {
  return text;
}
