import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { PACE } from "../../src/store/postgres/claims.ts";
import { PATIENCE } from "../binary/waiting.ts";
import { makeWorld, postCall } from "../binary/world.ts";
import { createChance } from "../simulate/random.ts";
import { NO_SERVER, startServer, stopServer } from "../store/postgres/server.ts";
import { startProxy } from "./postgres-proxy.ts";
import {
  type Cluster,
  checkTables,
  countedIn,
  hooksOf,
  LONGEST_STOP,
  type Load,
  type Member,
  MOST_IN_FLIGHT,
  pause,
  repeated,
  senderOf,
  soon,
  startCluster,
  startLoad,
} from "./postgres-world.ts";

const SEED = Number(process.env.SEED || Date.now() % 1_000_000);
const LIMIT = { timeout: 3 * PATIENCE };

const PHASES = 3;
const KILLS_IN_PHASE = 10;
/** Between two kills, in milliseconds. */
const KILL_AFTER = { least: 200, most: 800 };
/** A webhook that is sent again was under way at a kill, or its settlement was: it came at most so long before. */
const UNDER_WAY = 2_000;
/** Connections are ended so often, and so long after each other. */
const CUTS = 25;
const CUT_EVERY = 200;
/** Longer than calls wait for the database. */
const SERVER_AWAY = 7_000;
const A_WHILE = 6_000;

describe(`three daemons on one PostgreSQL (SEED=${SEED})`, { skip: NO_SERVER }, () => {
  const chance = createChance(SEED);
  after(stopServer);

  it(`lose nothing in ${PHASES * KILLS_IN_PHASE} kills, and repeat only what was under way`, LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "kills", answer: slowly });
    const load = startLoad(cluster);
    // In each phase one daemon survives: it takes a while until a daemon that has just started believes that another is dead.
    for (let phase = 0; phase < PHASES; phase += 1) {
      const victims = cluster.members.filter(({ nth }) => nth !== phase);
      for (let kills = 0; kills < KILLS_IN_PHASE; kills += 1) {
        await pause(KILL_AFTER.least + chance.below(KILL_AFTER.most - KILL_AFTER.least));
        // Each of them often enough that none survives for long.
        const victim = victims[(kills + chance.below(2)) % 2] ?? assert.fail();
        await cluster.kill(victim);
        await cluster.start(victim);
      }
      await allDelivered(cluster, load);
    }
    await finish(cluster, load);
    checkDelays(cluster, load, ({ by, at }) => cluster.members[by]?.killedAt.find((killedAt) => killedAt >= at) ?? at);
    checkRepeated(cluster, ({ nth }) => cluster.members[nth]?.killedAt ?? []);
    assert.ok(repeated(cluster).length <= PHASES * KILLS_IN_PHASE * MOST_IN_FLIGHT);
  });

  it("take over what a frozen one holds, which then goes on with another stream", LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "frozen", answer: slowly });
    const load = startLoad(cluster, { patience: 1_500 });
    const frozen = chance.pick(cluster.members);
    const { process, ingest } = frozen.daemon ?? assert.fail();
    await pause(2_000 + chance.below(1_000));
    const before = await heldBy(cluster, process.pid);
    assert.notEqual(before.length, 0);
    const frozenAt = Date.now();
    process.kill("SIGSTOP");
    await soon(
      async () => (await epochsOf(cluster)).isDisjointFrom(new Set(before)),
      () => "the others take its streams",
    );
    await allDelivered(cluster, load);
    process.kill("SIGCONT");
    await soon(
      async () => (await heldBy(cluster, process.pid)).some((one) => !before.includes(one)),
      () => "it has another stream",
    );
    const answer = await postCall(`${ingest}/v1/track`, { userId: "u1", event: "Awake", messageId: "awake" });
    assert.equal(answer.status, 200);
    await soon(
      async () => cluster.receiver.hooks.some((hook) => hook.messageId === "awake" && senderOf(hook) === frozen.nth),
      () => "it delivers",
    );
    await finish(cluster, load, 1);
    checkDelays(cluster, load, ({ by, at }) => (by === frozen.nth && at <= frozenAt ? frozenAt : at));
    // Only what it had sent, and could not say so.
    checkRepeated(cluster, ({ nth }) => (nth === frozen.nth ? [frozenAt] : []));
    assert.ok(repeated(cluster).length <= MOST_IN_FLIGHT);
  });

  it("lose and repeat nothing when the server ends all connections, again and again", LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "cuts", answer: slowly });
    const load = startLoad(cluster);
    let ended = 0;
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      await pause(CUT_EVERY + chance.below(CUT_EVERY));
      const rows = await cluster.ask(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'fairlead' AND pid <> pg_backend_pid()`,
      );
      ended += rows.length;
    }
    assert.ok(ended >= 2 * CUTS, `${ended} connections were ended`);
    await finish(cluster, load);
    checkDelays(cluster, load, ({ at }) => at);
    assert.deepEqual(repeated(cluster), []);
  });

  it("lose and repeat nothing when commits are made and not answered", LIMIT, async () => {
    await using world = await makeWorld();
    const server = await startServer();
    let strikes = false;
    const place = { folder: world.folder, server: server.postgres.host ?? "" };
    await using proxy = await startProxy(place, () =>
      strikes && chance.happens(0.15) ? chance.pick(["late", "early"]) : null,
    );
    await using cluster = await startCluster({ server, schema: "lossy", host: proxy.folder, answer: slowly });
    const load = startLoad(cluster);
    strikes = true;
    await pause(A_WHILE);
    const kinds = ["late append", "early append", "late commit", "early commit"];
    await soon(
      async () => kinds.every((kind) => (proxy.strikes.get(kind) ?? 0) >= 3),
      () => `each kind of them happens: ${JSON.stringify([...proxy.strikes])}`,
    );
    strikes = false;
    await finish(cluster, load);
    checkDelays(cluster, load, ({ at }) => at);
    assert.deepEqual(repeated(cluster), []);
  });

  for (const mode of ["fast", "immediate"] as const) {
    it(`refuse calls while the server is away, and go on when it is back (${mode})`, LIMIT, async () => {
      const server = await startServer();
      let gate = Promise.withResolvers<void>();
      const answer = () => gate.promise.then(slowly);
      await using cluster = await startCluster({ server, schema: `away_${mode}`, answer });
      gate.resolve();
      const load = startLoad(cluster);
      await pause(1_000);
      const holders = await holdersOf(cluster);
      gate = Promise.withResolvers();
      // More than what a webhook gets at once.
      await pause(1_500);
      let downAt = 0;
      await server.restart(mode, async () => {
        downAt = Date.now();
        gate.resolve();
        await soon(
          async () => cluster.receiver.hooks.some(({ at }) => at > downAt),
          () => "what is in memory is delivered",
        );
        await pause(SERVER_AWAY);
        assert.notEqual(load.refusals.length, 0);
      });
      const backAt = Date.now();
      await soon(
        async () => [...load.acknowledged.values()].some(({ at }) => at > backAt),
        () => "calls are accepted again",
      );
      await pause(A_WHILE);
      assert.deepEqual(await holdersOf(cluster), holders);
      await finish(cluster, load);
      for (const { status, retryAfter } of load.refusals)
        assert.deepEqual([status, Number(retryAfter) > 0], [503, true]);
      checkDelays(cluster, load, ({ at }) => Math.max(at, backAt));
      // A crash forgets settlements of the last moments.
      checkRepeated(cluster, () => (mode === "fast" ? [] : [downAt]));
    });
  }

  it("go on beside a transaction that stays open", LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "beside", answer: slowly });
    const load = startLoad(cluster);
    await cluster.beside(async (sql) => {
      for (const table of ["segments", "progress", "streams", "daemons", "counts"])
        await sql.query(`SELECT count(*) FROM ${table}`);
      await pause(A_WHILE);
    });
    await finish(cluster, load);
    checkDelays(cluster, load, ({ at }) => at);
    assert.deepEqual([load.refusals, repeated(cluster)], [[], []]);
  });

  it("say that they are alive while somebody has locked what they want to take and to count", LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "locked", answer: slowly });
    const load = startLoad(cluster);
    await pause(1_000);
    const victim = chance.pick(cluster.members);
    let longest = 0;
    await cluster.beside(async (sql) => {
      await sql.query("COMMIT; BEGIN");
      const { pid } = (victim.daemon ?? assert.fail()).process;
      const [stream = assert.fail()] = await heldBy(cluster, pid);
      await cluster.kill(victim);
      await sql.query("SELECT FROM streams WHERE id = $1 FOR UPDATE", [Number.parseInt(stream, 10)]);
      await sql.query("SELECT FROM counts FOR UPDATE");
      const until = Date.now() + 2 * LONGEST_STOP;
      while (Date.now() < until) {
        const [row] = await cluster.ask<{ silent: number }>(
          "SELECT max(the_time() - beat_at) AS silent FROM daemons WHERE (about ->> 'pid')::int <> $1",
          [pid],
        );
        longest = Math.max(longest, row?.silent ?? 0);
        await pause(200);
      }
    });
    assert.ok(longest < PACE.silence, `a daemon was silent for ${longest} ms`);
    await cluster.start(victim);
    await finish(cluster, load);
  });

  it("are restarted one after the other, and no client and no receiver sees it", LIMIT, async () => {
    await using cluster = await startCluster({ server: await startServer(), schema: "rolling", answer: slowly });
    const load = startLoad(cluster);
    for (const member of [...cluster.members, ...cluster.members]) {
      await pause(500 + chance.below(500));
      await cluster.stop(member);
      await cluster.start(member);
    }
    await finish(cluster, load);
    checkDelays(cluster, load, ({ at }) => at);
    assert.deepEqual(repeated(cluster), []);
  });
});

function slowly(): Promise<Response> {
  return pause(50).then(() => new Response(""));
}

/** Waits until the receiver has all that was acknowledged so far. */
async function allDelivered(cluster: Cluster, { acknowledged }: Load): Promise<void> {
  const ids = [...acknowledged.keys()];
  const missing = () => {
    const hooks = hooksOf(cluster);
    return ids.filter((id) => !hooks.has(id));
  };
  await soon(
    async () => missing().length === 0,
    () => `the receiver has no ${missing()}`,
  );
}

/** Ends the load and the daemons, and looks at what they leave. `others`: calls beside the load. */
async function finish(cluster: Cluster, load: Load, others = 0): Promise<void> {
  await load.stop();
  assert.ok(load.acknowledged.size > 100, `${load.acknowledged.size} calls`);
  await allDelivered(cluster, load);
  await soon(
    async () => (await cluster.ask("SELECT FROM progress WHERE NOT done")).length === 0,
    () => "nothing waits",
  );
  await soon(
    async () => (await countedIn(cluster.ask)) === `delivered ${load.acknowledged.size + others}`,
    () => "all is counted",
  );
  await Promise.all(cluster.members.map(cluster.stop));
  assert.equal(cluster.receiver.forged, 0);
  await checkTables(cluster, load.acknowledged.size + others);
}

type Since = (acknowledged: { readonly by: number; readonly at: number }) => number;

/** `since`: from when on an event may be held up. */
function checkDelays(cluster: Cluster, { acknowledged }: Load, since: Since): void {
  const hooks = hooksOf(cluster);
  const delays = [...acknowledged].map(
    ([id, one]) => (hooks.get(id)?.[0]?.at ?? Number.POSITIVE_INFINITY) - since(one),
  );
  const longest = Math.max(...delays);
  assert.ok(longest <= LONGEST_STOP, `an event came after ${longest} ms`);
}

/** `interrupted`: when the daemon that has sent such a webhook was interrupted. */
function checkRepeated(cluster: Cluster, interrupted: (sender: Pick<Member, "nth">) => readonly number[]): void {
  const odd = repeated(cluster).filter((hook) => {
    const times = interrupted({ nth: senderOf(hook) });
    return !times.some((at) => Math.abs(hook.at - at) <= UNDER_WAY);
  });
  assert.deepEqual(odd, [], "a webhook was sent again that was not under way");
}

type Row = { readonly id: number; readonly epoch: number; readonly holder: string };

/** The streams that the process holds, with their epochs. */
async function heldBy({ ask }: Cluster, pid: number): Promise<readonly string[]> {
  const rows = await ask<Row>(
    "SELECT s.id, s.epoch FROM streams s JOIN daemons d ON d.id = s.holder WHERE (d.about ->> 'pid')::int = $1",
    [pid],
  );
  return rows.map(({ id, epoch }) => `${id} ${epoch}`);
}

async function epochsOf({ ask }: Cluster): Promise<ReadonlySet<string>> {
  const rows = await ask<Row>("SELECT id, epoch FROM streams");
  return new Set(rows.map(({ id, epoch }) => `${id} ${epoch}`));
}

function holdersOf({ ask }: Cluster): Promise<readonly Row[]> {
  return ask<Row>("SELECT id, holder FROM streams ORDER BY id");
}
