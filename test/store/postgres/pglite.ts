import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import type { Connection } from "../../../src/store/postgres/database.ts";
import { ConnectionLost } from "../../../src/store/postgres/errors.ts";
import { createConnection, createNames, OUR_TYPES } from "../../../src/store/postgres/pool.ts";
import type { TestPool, TestServer } from "./bed.ts";

let started: Promise<TestServer> | null = null;

/** PostgreSQL in this process. It takes a second to start, so that there is one for each process. */
export function startPglite(): Promise<TestServer> {
  started ??= createServer();
  return started;
}

async function createServer(): Promise<TestServer> {
  const session = await createSession();

  async function run(text: string): Promise<void> {
    const own = { schema: "public" };
    await session.use(own, (connection) => connection.query(text));
  }

  return {
    async connect(schema) {
      await run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      return createPool(session, schema);
    },
    drop: (schema) => run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`),
  };
}

/** The one session that PGlite has. */
type Session = {
  /** Waits for the owner's turn, and runs this in the owner's schema. The turn lasts as long as a transaction is open. */
  use<T>(owner: Owner, run: (connection: Connection) => Promise<T>): Promise<T>;
  /** Rolls back what the owner has open, if anything. */
  abandon(owner: Owner): Promise<void>;
};

type Owner = { readonly schema: string };

async function createSession(): Promise<Session> {
  const stream = createStream(await openPglite());
  const client = new pg.Client({ stream: () => stream.duplex, host: "pglite", user: "postgres", types: OUR_TYPES });
  await client.connect();
  const connection = createConnection(client, createNames());
  const waiting: { readonly by: Owner; resume(): void }[] = [];
  let owner: Owner | null = null;
  let schema = "public";

  async function take(by: Owner): Promise<void> {
    if (owner === null) owner = by;
    if (owner !== by) await new Promise<void>((resume) => waiting.push({ by, resume }));
    if (schema === by.schema) return;
    await connection.query(`SET search_path TO ${by.schema}`);
    schema = by.schema;
  }

  function leave(): void {
    if (stream.inTransaction()) return;
    const next = waiting.shift();
    owner = next?.by ?? null;
    next?.resume();
  }

  return {
    async use(by, run) {
      await take(by);
      return run(connection).finally(leave);
    },
    async abandon(by) {
      if (owner === by) await connection.query("ROLLBACK").finally(leave);
    },
  };
}

/** A new database takes PGlite several seconds, and the copy of one less than a second: `make clean` removes the copy. */
async function openPglite(): Promise<PGlite> {
  const copy = await readFile(COPY).catch(() => null);
  if (copy !== null) return PGlite.create({ loadDataDir: new Blob([copy]) });
  const made = await PGlite.create();
  const dump = await made.dumpDataDir("none");
  // Other test files may be doing the same.
  const own = `${COPY}.${randomUUID()}`;
  await mkdir(dirname(COPY), { recursive: true });
  await writeFile(own, new Uint8Array(await dump.arrayBuffer()));
  await rename(own, COPY);
  return made;
}

const ROOT = new URL("../../../", import.meta.url);
const { devDependencies } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8"));
const COPY = fileURLToPath(new URL(`dist/pglite-${devDependencies["@electric-sql/pglite"]}.tar`, ROOT));

function createPool(session: Session, schema: string): TestPool {
  const open = new Set<Owner & { running: Promise<unknown> }>();
  let ended: "killed" | "closed" | null = null;

  function checkAlive(): void {
    if (ended !== null) throw new ConnectionLost(ended);
  }

  async function connect(): Promise<Connection> {
    checkAlive();
    const owner = { schema, running: Promise.resolve<unknown>(null) };
    open.add(owner);
    return {
      async query<R>(text: string, values?: readonly unknown[]) {
        checkAlive();
        const answer = session.use(owner, (connection) => connection.query<R>(text, values));
        owner.running = answer.catch(() => null);
        const rows = await answer;
        checkAlive();
        return rows;
      },
      release(broken = false) {
        open.delete(owner);
        if (broken) void session.abandon(owner);
      },
    };
  }

  return {
    connect,
    async end() {
      ended ??= "closed";
    },
    async kill() {
      ended = "killed";
      for (const owner of open) {
        await owner.running;
        await session.abandon(owner);
      }
    },
  };
}

const AUTHENTICATED = [0x52, 0, 0, 0, 8, 0, 0, 0, 0];
const READY = [0x5a, 0, 0, 0, 5, 0x49];
const TERMINATE = 0x58;
const IDLE = "I".charCodeAt(0);

/** PGlite as what `pg` takes for a socket. The answer to each message, or group of messages, comes at once. */
function createStream(database: PGlite): { readonly duplex: Duplex; inTransaction(): boolean } {
  let greeted = false;
  let status = IDLE;

  function answer(messages: Buffer): Uint8Array {
    if (!greeted) {
      greeted = true;
      return Uint8Array.of(...AUTHENTICATED, ...READY);
    }
    if (messages[0] === TERMINATE) return new Uint8Array();
    const answers = database.execProtocolRawSync(messages);
    // The last message is that the server is ready, which ends with the state of the transaction.
    status = answers.at(-1) ?? status;
    return answers;
  }

  const duplex = new Duplex({
    read: () => undefined,
    writev(chunks, done) {
      duplex.push(Buffer.from(answer(Buffer.concat(chunks.map(({ chunk }) => chunk)))));
      done();
    },
  });
  const connect = () => process.nextTick(() => duplex.emit("connect"));
  const nothing = () => duplex;
  Object.assign(duplex, { connect, setNoDelay: nothing, setKeepAlive: nothing, ref: nothing, unref: nothing });
  return { duplex, inTransaction: () => status !== IDLE };
}
