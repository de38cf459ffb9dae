import assert from "node:assert/strict";
import type { Sql } from "../../src/store/postgres/database.ts";
import { openPool } from "../../src/store/postgres/pool.ts";
import { type Hook, type Receiver, startReceiver } from "../binary/receiver.ts";
import { acceptingCalls, type Daemon, makeConfig, makeWorld, postCall, type World } from "../binary/world.ts";
import type { RealServer } from "../store/postgres/server.ts";

/** What a daemon's death, or that of its connections, may hold up an event. */
export const LONGEST_STOP = 10_000;
/** `delivery.concurrency` of the config, and how many settlements wait at most to be written together. */
export const CONCURRENCY = 32;
export const MOST_IN_FLIGHT = CONCURRENCY + 256;

/** One of the daemons that share an outbox: its place in the list, which its webhooks name, and the process that runs there. */
export type Member = {
  readonly nth: number;
  /** Null while none runs. */
  daemon: Daemon | null;
  /** When its processes were killed. */
  readonly killedAt: number[];
};

export type Cluster = AsyncDisposable & {
  readonly members: readonly Member[];
  readonly receiver: Receiver;
  start(member: Member): Promise<void>;
  kill(member: Member): Promise<void>;
  /** Ends it by SIGTERM. */
  stop(member: Member): Promise<void>;
  ask<R>(text: string, values?: readonly unknown[]): Promise<readonly R[]>;
  /** Runs this in a transaction, which sees the rows of its beginning until the end. */
  beside(run: (sql: Sql) => Promise<void>): Promise<void>;
};

export type ClusterOptions = {
  readonly server: RealServer;
  /** Has tables of its own. */
  readonly schema: string;
  /** The folder of the socket, if that is not the server's own. */
  readonly host?: string;
  readonly answer?: Parameters<typeof startReceiver>[0];
};

const DAEMONS = 3;
const HEADER = "X-Daemon";

/** Three daemons of the real binary on one database, and a receiver that can tell who delivers. */
export async function startCluster({ server, schema, host, answer }: ClusterOptions): Promise<Cluster> {
  await using all = new AsyncDisposableStack();
  const receiver = all.use(startReceiver(answer));
  const world = all.use(await makeWorld());
  const pool = openPool({ ...server.postgres, connections: 2, options: `-c search_path=${schema}` });
  all.defer(() => pool.end());
  const members = Array.from({ length: DAEMONS }, (_, nth): Member => ({ nth, daemon: null, killedAt: [] }));

  async function ask<R>(text: string, values?: readonly unknown[]): Promise<readonly R[]> {
    const connection = await pool.connect();
    return connection.query<R>(text, values).finally(() => connection.release());
  }

  async function start(member: Member): Promise<void> {
    member.daemon = await acceptingCalls(world.run(["serve", "--config", fileOf(member)]));
  }

  await ask(`CREATE SCHEMA ${schema}`);
  const url = `postgres://${server.postgres.user}@/postgres?${new URLSearchParams([
    ["host", host ?? server.postgres.host ?? ""],
    ["options", `-c search_path=${schema}`],
  ])}`;
  for (const member of members) await writeConfig(member, { world, receiver, url: url.replaceAll("+", "%20") });
  await Promise.all(members.map(start));
  const kept = all.move();
  return {
    ...{ members, receiver, start, ask },
    async kill(member) {
      const { process } = member.daemon ?? assert.fail();
      member.killedAt.push(Date.now());
      member.daemon = null;
      process.kill("SIGKILL");
      assert.deepEqual(await process.exit, { code: null, signal: "SIGKILL" });
    },
    async beside(run) {
      const connection = await pool.connect();
      await connection.query("SET idle_in_transaction_session_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ");
      await run(connection);
      await connection.query("COMMIT");
      connection.release();
    },
    async stop(member) {
      const { process } = member.daemon ?? assert.fail();
      process.kill("SIGTERM");
      assert.deepEqual(await process.exit, { code: 0, signal: null });
      member.daemon = null;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function fileOf({ nth }: Member): string {
  return `daemon-${nth}.yaml`;
}

type Place = { readonly world: World; readonly receiver: Receiver; readonly url: string };

function writeConfig(member: Member, { world, receiver, url }: Place): Promise<void> {
  const config = JSON.parse(makeConfig({ url: receiver.url, level: "warn" }));
  config.destinations.crm.webhooks[0].headers[HEADER] = String(member.nth);
  return world.write(
    fileOf(member),
    JSON.stringify({ ...config, outbox: { url }, delivery: { concurrency: CONCURRENCY } }),
  );
}

/** The daemon that has sent this webhook. */
export function senderOf({ headers }: Hook): number {
  return Number(headers.get(HEADER));
}

export type Acknowledged = { readonly by: number; readonly at: number };

export type Load = {
  /** By messageId. */
  readonly acknowledged: ReadonlyMap<string, Acknowledged>;
  /** The answers other than 200. */
  readonly refusals: readonly { readonly status: number; readonly retryAfter: string | null }[];
  /** Makes no new calls. Resolves when each that was begun is acknowledged. */
  stop(): Promise<void>;
};

const CLIENTS = 10;
/** Between two calls of a client: a hundred calls a second in all. */
const PAUSE = 100;
const BEFORE_NEXT_ROUND = 50;

export type LoadOptions = {
  /** How long a client waits for an answer before it turns to the next daemon. In milliseconds. */
  readonly patience?: number;
};

let loads = 0;

/** Calls with a messageId each to all daemons in turn. A client repeats each, from daemon to daemon, until one says 200. */
export function startLoad({ members }: Cluster, { patience = 8_000 }: LoadOptions = {}): Load {
  loads += 1;
  const prefix = `load-${loads}`;
  const acknowledged = new Map<string, Acknowledged>();
  const refusals: Load["refusals"][number][] = [];
  let [calls, isOver] = [0, false];
  const clients = Array.from({ length: CLIENTS }, send);
  return {
    ...{ acknowledged, refusals },
    async stop() {
      isOver = true;
      await Promise.all(clients);
    },
  };

  async function send(): Promise<void> {
    while (!isOver) {
      calls += 1;
      await sendUntilTaken(`${prefix}-${calls}`, calls);
      await pause(PAUSE);
    }
  }

  async function sendUntilTaken(messageId: string, first: number): Promise<void> {
    for (let tries = 0; ; tries += 1) {
      const member = members[(first + tries) % members.length];
      if (member?.daemon && (await isTaken(member.daemon.ingest, messageId))) {
        acknowledged.set(messageId, { by: member.nth, at: Date.now() });
        return;
      }
      if (tries % members.length === members.length - 1) await pause(BEFORE_NEXT_ROUND);
    }
  }

  async function isTaken(address: string, messageId: string): Promise<boolean> {
    try {
      const call = { userId: "u1", event: "Load", messageId };
      const response = await postCall(`${address}/v1/track`, call, { signal: AbortSignal.timeout(patience) });
      await response.text();
      if (response.status !== 200)
        refusals.push({ status: response.status, retryAfter: response.headers.get("retry-after") });
      return response.status === 200;
    } catch {
      return false;
    }
  }
}

/** For what is to happen for a while, or at a certain moment. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until it is so, for as long as a daemon's death may hold up anything. Rejects after that. */
export async function soon(isSo: () => Promise<boolean>, what: () => string): Promise<void> {
  const until = Date.now() + LONGEST_STOP;
  while (!(await isSo())) {
    assert.ok(Date.now() < until, `after ${LONGEST_STOP} ms ${what()}`);
    await pause(BEFORE_NEXT_ROUND);
  }
}

/** By messageId, the webhooks that the receiver has taken. */
export function hooksOf({ receiver }: Cluster): ReadonlyMap<string, readonly Hook[]> {
  return Map.groupBy(receiver.hooks, ({ messageId }) => messageId);
}

/** Webhooks of events that were sent again later. */
export function repeated(cluster: Cluster): readonly Hook[] {
  return [...hooksOf(cluster).values()].flatMap((hooks) => hooks.slice(0, -1));
}

/** What the tables say of so many events: each delivery is in one state, and was settled once. */
export async function checkTables({ ask }: Cluster, size: number): Promise<void> {
  const [sums] = await ask<{ events: number; routed: number; open: number; delivered: number; apart: number }>(
    `SELECT (SELECT sum(events) FROM segments) AS events, sum(bit_count(routed)) AS routed, sum(bit_count(waiting)) AS open,
       sum(bit_count(delivered)) AS delivered, (SELECT count(*) FROM tried WHERE state = 'delivered') AS apart FROM progress`,
  );
  const { apart, ...bits } = sums ?? assert.fail();
  assert.deepEqual(bits, { events: size, routed: size, open: 0, delivered: size - apart });
  const taken = await takenEvents(ask);
  assert.equal(new Set(taken).size, taken.length, "an event was settled twice");
  assert.equal(taken.length, size - apart);
  assert.equal(await countedIn(ask), `delivered ${size}`);
}

/** What the daemons have counted. */
export async function countedIn(ask: Cluster["ask"]): Promise<string> {
  const rows = await ask<{ state: string; count: number }>(
    "SELECT state, sum(count) AS count FROM counts GROUP BY state HAVING sum(count) <> 0 ORDER BY state",
  );
  return rows.map(({ state, count }) => `${state} ${count}`).join(", ");
}

async function takenEvents(ask: Cluster["ask"]): Promise<readonly number[]> {
  const rows = await ask<{ takers: string }>("SELECT takers FROM progress");
  const lines = rows.flatMap(({ takers }) => takers.split("\n").filter((line) => line !== ""));
  return lines.flatMap((line): readonly number[] => JSON.parse(line).events);
}
