import type { DeliveryKey } from "../../model/delivery.ts";
import type { StoreHealth } from "../../model/disk.ts";
import { isFault } from "../../model/fault.ts";
import type { Store, StoreChange, StoreOptions } from "../../model/ports.ts";
import type { Timeline } from "../../model/timeline.ts";
import { type Ms, SECOND } from "../../model/units.ts";
import type { Withdrawal } from "../../model/waiting-deliveries.ts";
import { createLookup } from "../lookup.ts";
import { createReplay } from "../replay.ts";
import { createRoom, type Room, UNWRITTEN } from "../room.ts";
import { createTimeline } from "../timeline.ts";
import { createUploads } from "../uploads.ts";
import { createIntake, type Intake } from "./append.ts";
import { createCareful } from "./append-careful.ts";
import { PACE, type Pace } from "./claims.ts";
import { openStoredClocks } from "./clocks.ts";
import { isUnfinishedCopy } from "./copying.ts";
import { createCounts } from "./counts.ts";
import { createSharing } from "./daemons.ts";
import { createDatabase, type Database, type Pool, type Tx } from "./database.ts";
import { createStoredDeletions } from "./deletions.ts";
import type { Engine } from "./engine.ts";
import { OutboxRefused } from "./errors.ts";
import { createGate } from "./gate.ts";
import { createReads } from "./lookup.ts";
import { createMarks } from "./marks.ts";
import { createForgetting, createMembers, openBatch } from "./members.ts";
import { prepareSchema } from "./migrate.ts";
import { openNews } from "./news.ts";
import { createNotices, type Notices } from "./notices.ts";
import { createNumbers } from "./numbers.ts";
import { createPrune } from "./prune.ts";
import { createBacklog, createReadQueue } from "./queues.ts";
import { createReplaySteps } from "./replay.ts";
import { createSettling } from "./settle.ts";
import { createSize, type Size } from "./size.ts";
import { openStreams } from "./streams.ts";
import { createSuperseding, readCallHash } from "./superseded.ts";
import { createIsForgotten, openSuppression, readUserHash } from "./suppressed.ts";
import { toStored } from "./text.ts";
import { createWaiting, createWithdraw, withdrawRows } from "./waiting.ts";
import { createWriter, type Writer } from "./writer.ts";

const AFTER_FAILURE: Ms = SECOND;

export type PostgresOptions = Pick<StoreOptions, "bounds" | "clock" | "report"> & {
  readonly pool: Pool;
  /** For statements that may take minutes; if left out, `pool`. */
  readonly maintenance?: Pool;
  /** The name of this daemon, different with each start. */
  readonly name: string;
  /** JSON of its version, machine and process, for operators, and of the tables that it knows. */
  readonly about: string;
  readonly pace?: Pace;
};

/** Opens an outbox on PostgreSQL, which other daemons may have open too. Rejects with a message for the operator. */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const { pool, clock, report, bounds } = options;
  const db = createDatabase(pool, clock);
  try {
    await prepareSchema(db);
    if (await isUnfinishedCopy(db)) throw new OutboxRefused("copy_unfinished", UNFINISHED);
    const timeline = await openTimeline(db, options);
    const listeners = createListeners();
    const room = createRoom({ ...NO_DISK, bounds, clock, report, crowded: () => listeners.tell({ kind: "crowded" }) });
    const writer = createWriter(db, report);
    const engine = await openEngine(db, { ...options, ...listeners, room, writer });
    return await startStore(engine, { ...listeners, room, writer, timeline, options });
  } catch (error) {
    await db.close();
    throw error;
  }
}

const UNFINISHED = "it is an unfinished copy: run fairlead copy-outbox again to continue it, or use an empty schema";

/** Only `maxSize` bounds it: the disk is the server's. */
const NO_DISK = {
  path: "the outbox on PostgreSQL",
  log: { path: "", most: 0 },
  disk: { space: async () => ({ free: Number.MAX_SAFE_INTEGER, total: Number.MAX_SAFE_INTEGER }), size: async () => 0 },
};

/** Times of rows continue from the database's clock, which all daemons share. */
async function openTimeline(db: Database, { clock, report }: PostgresOptions) {
  const [row] = await db.query<{ at: number }>("SELECT the_time() AS at");
  const at = row?.at ?? clock.wall();
  const wall = clock.wall();
  return createTimeline({
    clock,
    report,
    memory: { at, shift: wall - at, trusted: { at, wall }, boot: null },
    newestAt: null,
  });
}

type Listeners = {
  readonly tell: (change: StoreChange) => void;
  readonly listen: (hear: (change: StoreChange) => void, sending: () => readonly string[]) => void;
  /** The destinations that have attempts under way. */
  readonly sending: () => readonly string[];
};

function createListeners(): Listeners {
  // Changes from before the daemon listens are not lost.
  const told: StoreChange[] = [];
  let hear = (change: StoreChange): void => void told.push(change);
  let sending = (): readonly string[] => [];
  return {
    tell: (change) => hear(change),
    sending: () => sending(),
    listen(nextHear, nextSending) {
      hear = nextHear;
      sending = nextSending;
      for (const change of told.splice(0)) hear(change);
    },
  };
}

type EngineParts = PostgresOptions & Listeners & { readonly room: Room; readonly writer: Writer };

async function openEngine(db: Database, parts: EngineParts): Promise<Engine> {
  const { name, about, clock, report, room, tell, sending, writer, pace = PACE } = parts;
  const counts = createCounts();
  const gate = createGate();
  const news = await openNews({ db, name, pace, clock, report });
  const daemon = () => ({ about, seenVersion: news.seen(), sending: sending() });
  const elected = () => tell({ kind: "work" });
  const streams = await openStreams({ db, name, pace, counts, gate, clock, daemon, tell, elected });
  const size = createSize(db, clock, room.measured);
  return {
    name,
    pace,
    db,
    write: writer.write,
    wrote: writer.wrote,
    streams,
    counts,
    gate,
    news,
    size,
    clock,
    report,
    tell,
  };
}

type StoreParts = Pick<Listeners, "listen"> & {
  readonly room: Room;
  readonly writer: Writer;
  readonly timeline: Timeline;
  readonly options: PostgresOptions;
};

async function startStore(engine: Engine, { room, writer, timeline, listen, options }: StoreParts): Promise<Store> {
  const { db, clock, streams, size, tell, report } = engine;
  const maintenance = options.maintenance ? createDatabase(options.maintenance, clock) : db;
  const users = await openUsers(engine);
  const settling = createSettling(engine);
  const { caughtUp } = settling;
  const notices = createNotices({ ...engine, caughtUp });
  const intake = createIntakes(engine, { ...users, notices, room, caughtUp });
  const lookup = createLookup({ reads: createReads(db), clock, timeline, caughtUp });
  const steps = createReplaySteps({ engine, ...users });
  const moved = (): void => tell({ kind: "moved", what: "retries" });
  const rounds = await startRounds(engine);

  return {
    changes: (hear, sending = () => []) => listen(hear, sending),
    append: intake.append,
    readQueue: createReadQueue(engine),
    settle: settling.settle,
    backlog: createBacklog(engine, caughtUp),
    prune: createPrune(engine),
    lookup,
    waiting: createWaiting(engine),
    replay: createReplay({ steps, clock, lookup, room, moved }),
    withdraw: createWithdraw(engine, caughtUp),
    members: createMembers(engine, users),
    deletions: createStoredDeletions({ engine, ...users, notices, room, maintenance }),
    clocks: await openStoredClocks(engine),
    marks: createMarks(engine),
    health: createHealth(engine, { room, writer, size, options }),
    timeline,
    sharing: createSharing(engine),
    // There is no file that could be gone.
    rescue: async () => UNWRITTEN,
    hurry: settling.hurry,
    close: once(async () => {
      settling.hurry();
      await intake.idle();
      await caughtUp();
      await rounds.stop();
      await streams.release().catch((error: unknown) => report.storeFailed("release the streams", error));
      await maintenance.close();
      await db.close();
    }),
  };
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  return () => {
    running ??= run();
    return running;
  };
}

/** What is known of users: by hashes, as their ids are not to be read in logs and tables. */
async function openUsers(engine: Engine) {
  const { db, news } = engine;
  const callHash = await readCallHash(db);
  const uploads = createUploads({ toStored, hashOf: callHash.of });
  const hash = await readUserHash(db);
  return {
    hash,
    callHash,
    uploads,
    forgetting: createForgetting({ news, uploads, callHash }),
    suppression: await openSuppression({ ...engine, hash }),
    isForgotten: createIsForgotten(hash),
    superseding: createSuperseding(callHash),
  };
}

type IntakeParts = Pick<Awaited<ReturnType<typeof openUsers>>, "suppression"> & {
  readonly notices: Notices;
  readonly room: Room;
  readonly caughtUp: () => Promise<void>;
};

function createIntakes(engine: Engine, { suppression, notices, room, caughtUp }: IntakeParts): Intake {
  const parts = { engine, numbers: createNumbers(engine.clock), refuses: suppression.refuses };
  const withdraw = (tx: Tx, withdrawal: Withdrawal) => withdrawRows(tx, engine, withdrawal);
  return createIntake({
    ...parts,
    room,
    careful: createCareful({ ...parts, caughtUp, openBatch, withdrawRows: withdraw, notices }),
  });
}

/** Beats and reads the news until it is stopped. The first beat takes the streams without a holder. */
async function startRounds({
  clock,
  news,
  streams,
  size,
  tell,
  report,
  pace,
}: Engine): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController();
  const moved = (): void => tell({ kind: "moved", what: "all" });
  news.on("moved", (what) => tell({ kind: "moved", what: what === "retries" ? what : "all" }), { missed: moved });
  news.on("work", () => tell({ kind: "work" }));
  news.on("withdrawn", (deliveries) =>
    tell({ kind: "withdrawn", deliveries: deliveries as readonly DeliveryKey[], elsewhere: true }),
  );
  await streams.beat();
  await tend();
  const rounds = [
    watch("the daemons", again(streams.beat, "tell the other daemons that this one is alive")),
    watch("the streams", again(tend, "maintain the streams")),
    watch("the news", news.watch),
  ];
  return {
    async stop() {
      stopping.abort();
      await Promise.all(rounds);
    },
  };

  async function tend(): Promise<void> {
    await streams.tend();
    await size.look(streams.leads());
  }

  function again(run: () => Promise<void>, doing: string): (signal: AbortSignal) => Promise<void> {
    return async (signal) => {
      let wait = pace.beat;
      while (!signal.aborted) {
        await clock.sleep(wait, signal);
        if (signal.aborted) return;
        wait = await run().then(() => pace.beat, failed);
      }
    };

    function failed(error: unknown): Ms {
      report.storeFailed(doing, error);
      return AFTER_FAILURE;
    }
  }

  function watch(what: string, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    return run(stopping.signal).catch((error: unknown) => report.unexpected(`watch ${what}`, error));
  }
}

type HealthParts = {
  readonly room: Room;
  readonly writer: Writer;
  readonly size: Size;
  readonly options: PostgresOptions;
};

function createHealth({ db, write, streams }: Engine, { room, writer, size, options }: HealthParts): StoreHealth {
  return {
    async state() {
      return {
        writable: writer.succeeded(),
        refusal: room.refusal(),
        gone: null,
        full: room.full(),
        crowding: room.crowding(),
        size: { used: size.used(), max: options.bounds().maxSize, free: null },
      };
    },
    async probe() {
      const tried = await write("try a write", (tx) =>
        tx.query("UPDATE streams SET dirty = dirty WHERE id = $1", [streams.home().stream]),
      );
      return !isFault(tried);
    },
    // A restart would not help where the database is away.
    responds: () => db.query("SELECT 1").then(yes, yes),
  };
}

function yes(): boolean {
  return true;
}
